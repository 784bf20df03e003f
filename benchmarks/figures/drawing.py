# SPDX-License-Identifier: BSD-3-Clause
"""Lines of simulated values and published points beside them, as SVG that is complete in itself."""

import html
import math

WIDTH, HEIGHT = 860, 430
LEFT, RIGHT, TOP, BOTTOM = 78, 262, 44, 56
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b", "#7f7f7f", "#bcbd22")


def number(value):
    """As a label of an axis says it."""
    for size, letter in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= size and value % size == 0:
            return f"{value // size:.0f}{letter}"
    return f"{value:.0f}" if value >= 10 else f"{value:g}"


class Axis:
    def __init__(self, values, begin, end, logarithmic, marks=None):
        self.begin, self.end, self.logarithmic = begin, end, logarithmic
        if logarithmic:
            self.least, self.most = min(values), max(values)
            if marks is None:
                self.least, self.most = 10 ** math.floor(math.log10(self.least)), 10 ** math.ceil(math.log10(self.most) - 1e-9)
                marks = [10.0 ** power for power in range(round(math.log10(self.least)), round(math.log10(self.most)) + 1)]
        else:
            self.least, self.most = 0, max(values) * 1.06
            step = 10 ** math.floor(math.log10(self.most / 4))
            step *= next(factor for factor in (1, 2, 5, 10) if self.most / (step * factor) <= 6)
            marks = marks or [step * i for i in range(int(self.most / step) + 1)]
        if self.least == self.most:
            self.most = self.least * 2 or 1
        self.marks = marks

    def at(self, value):
        if self.logarithmic:
            share = math.log(value / self.least) / math.log(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>\n'


def axes(x, y, panel):
    svg = text(LEFT, 24, panel.title, 'font-size="15" font-weight="bold"')
    for mark in y.marks:
        at = y.at(mark)
        svg += f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>\n'
        svg += text(LEFT - 8, at + 4, f"{mark:g}", 'text-anchor="end"')
    free_from = 0
    for mark in x.marks:
        at = x.at(mark)
        if at < free_from:
            continue
        free_from = at + 34   # where a label has room
        svg += f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}" stroke="#555"/>\n'
        svg += text(at, HEIGHT - BOTTOM + 19, number(mark), 'text-anchor="middle"')
    svg += f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#555"/>\n'
    svg += text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, panel.x_label, 'text-anchor="middle"')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return svg + text(18, middle, panel.y_label, f'text-anchor="middle" transform="rotate(-90 18 {middle:.1f})"')


def picture(panel, lines):
    """`lines`: by name the (x, y) that were simulated. A published point has the colour of its line."""
    points = panel.points
    xs = sorted({x for line in lines.values() for x, _ in line} | {x for _, x, _, _ in points})
    ys = [y for line in lines.values() for _, y in line if y > 0] + [y for _, _, y, _ in points]
    x_axis = Axis(xs, LEFT + 12, WIDTH - RIGHT - 12, panel.log_x, xs)
    y_axis = Axis(ys, HEIGHT - BOTTOM, TOP, panel.log_y)
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, sans-serif" '
           f'font-size="12" fill="#222">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n') + axes(x_axis, y_axis, panel)
    at_legend = TOP + 8
    colours = {}

    def legend(mark, words):
        nonlocal svg, at_legend
        svg += mark.format(x=WIDTH - RIGHT + 26, y=at_legend - 4) + text(WIDTH - RIGHT + 44, at_legend, words)
        at_legend += 18

    for name, line in lines.items():
        stroke = 'stroke-width="2"' + (' stroke-dasharray="6 3"' if len(colours) >= len(COLOURS) else "")
        colour = colours[name] = COLOURS[len(colours) % len(COLOURS)]
        way = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in line if y > 0 or not panel.log_y)
        svg += f'<polyline points="{way}" fill="none" stroke="{colour}" {stroke}/>\n'
        ends = f'x1="{WIDTH - RIGHT + 18}" x2="{WIDTH - RIGHT + 34}"'
        legend(f'<line {ends} y1="{{y}}" y2="{{y}}" stroke="{colour}" {stroke}/>\n', name)
    if points:
        at_legend += 8
    told = set()
    for name, x, y, bound in points:
        colour = colours.get(name, "#222")
        at_x, at_y = x_axis.at(x), y_axis.at(y)
        svg += f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5" fill="#fff" stroke="{colour}" stroke-width="2"/>\n'
        if bound:   # more than, less than: which way it may be
            svg += f'<path d="M{at_x:.1f} {at_y:.1f}v{-16 if bound == ">" else 16}" stroke="{colour}" stroke-width="2"/>\n'
        if name not in told:
            told.add(name)
            legend(f'<circle cx="{{x}}" cy="{{y}}" r="5" fill="#fff" stroke="{colour}" stroke-width="2"/>\n', f"published: {name}")
    return svg + "</svg>\n"
