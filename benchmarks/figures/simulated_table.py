# SPDX-License-Identifier: BSD-3-Clause
"""Every published row beside what is simulated: as CSV, and as docs/published-vs-simulated.md."""

import csv
import io
import pathlib

import simulated_rows as rows

HEAD = """# Published and simulated

Made by `make figures` with `benchmarks/figures/simulated.py` from [figures/published.csv](figures/published.csv) and `machines/`; not to
be edited. [figures/simulated.csv](figures/simulated.csv) has the same with more columns. What is simulated, and how a row's quantity comes
of it, is in `benchmarks/figures/simulated_rows.py`; how the simulation works, what it leaves out and what is fitted, in
[simulate.md](simulate.md).

*fitted*: a figure of a machine file was fitted on this row, so that it shows nothing; *predicted*: nothing was. GLEAN is
`glean-staged-by-group` here: all data of a pset go to one staging node. PnetCDF and MPI collective are both `collective`.
"""


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def compared(row, simulated):
    """The ratio to what is published, and whether what is published only as a bound or a range holds."""
    if row["id"] in rows.RANGES:
        low, high = rows.RANGES[row["id"]]
        nearest = min(max(simulated, low), high)
        return simulated / nearest, None
    published = float(row["value"])
    if row["id"] in rows.BOUNDS:
        return None, simulated > published if rows.BOUNDS[row["id"]] == ">" else simulated < published
    return simulated / published, None


def table(simulator, published):
    result = []
    for row in published.values():
        role = "fitted" if row["id"] in rows.FITTED_ROWS else "predicted" if row["id"] in rows.PREDICTED_ROWS else "left out"
        line = {**row, "role": role, "simulated": "", "ratio": "", "holds": "", "why": ""}
        if role == "left out":
            line["why"] = rows.LEFT_OUT[row["id"]]
        else:
            simulated = {**rows.FITTED_ROWS, **rows.PREDICTED_ROWS}[row["id"]](simulator)
            ratio, holds = compared(row, simulated)
            line["simulated"] = number(simulated)
            line["ratio"] = "" if ratio is None else f"{ratio:.2f}"
            line["holds"] = "" if holds is None else "yes" if holds else "no"
        result.append(line)
    return result


def to_csv(lines):
    text = io.StringIO()
    columns = ["id", "seed", "machine", "workload", "ranks", "other", "strategy", "quantity", "unit", "where", "value", "simulated",
               "ratio", "holds", "role", "why"]
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def orders(lines):
    """Those that are right, and all that are wrong, in words."""
    known = {line["id"]: line for line in lines}
    right, wrong = 0, []
    for one, other in rows.ORDERS:
        pair = known[one], known[other]
        published, simulated = ([float(line[key]) for line in pair] for key in ("value", "simulated"))
        if (published[0] > published[1]) == (simulated[0] > simulated[1]):
            right += 1
        else:
            wrong.append(f"{one} and {other}: {pair[0]['strategy']} and {pair[1]['strategy']} ({pair[0]['machine']}, {pair[0]['other']}, "
                         f"{pair[0]['ranks']} ranks) have {pair[0]['value']} and {pair[1]['value']} {pair[0]['unit']}, simulated "
                         f"{pair[0]['simulated']} and {pair[1]['simulated']}")
    for line in lines:
        if line["role"] != "predicted" or "over" not in line["strategy"]:
            continue
        is_share = line["unit"] == "%"
        if float(line["simulated"]) > (0 if is_share else 1):
            right += 1
        else:
            wrong.append(f"{line['id']}: {line['strategy']} ({line['machine']}, {line['workload']}) {line['value']} {line['unit']}, "
                         f"simulated {line['simulated']}")
    return right, wrong


def counts(lines):
    ratios = [float(line["ratio"]) for line in lines if line["role"] == "predicted" and line["ratio"]]
    near = {width: sum(1 / (1 + width) <= ratio <= 1 + width for ratio in ratios) for width in (0.2, 0.5, 1)}
    bounds = [line["holds"] == "yes" for line in lines if line["holds"]]
    right, wrong = orders(lines)
    roles = {role: sum(line["role"] == role for line in lines) for role in ("fitted", "predicted", "left out")}
    return f"""
| | rows |
|---|---|
| published | {len(lines)} |
| fitted | {roles["fitted"]} |
| left out | {roles["left out"]} |
| predicted | {roles["predicted"]} |
| of these with a ratio | {len(ratios)} |
| within 20 % | {near[0.2]} |
| within 50 % | {near[0.5]} |
| within a factor of 2 | {near[1]} |
| bounds ("more than", "less than") that hold | {sum(bounds)} of {len(bounds)} |
| orders of two strategies, and "so many times faster than": the same one is the faster | {right} of {right + len(wrong)} |
""" + ("\nOrders that are wrong:\n\n" + "".join(f"- {each}\n" for each in wrong) if wrong else "")


def to_markdown(lines):
    text = HEAD + counts(lines)
    text += "\n| row | machine | what | ranks | strategy | quantity | published | simulated | ratio | |\n"
    text += "|---|---|---|---|---|---|---|---|---|---|\n"
    for line in lines:
        if line["role"] == "left out":
            continue
        ratio = line["ratio"] or {"yes": "holds", "no": "does not hold"}[line["holds"]]
        text += (f"| {line['id']} | {line['machine']} | {line['workload']}, {line['other']} | {line['ranks']} | {line['strategy']} | "
                 f"{line['quantity']} | {line['value']} {line['unit']} | {line['simulated']} | {ratio} | {line['role']} |\n")
    text += "\n" + (pathlib.Path(__file__).parent / "tried.md").read_text(encoding="utf-8")
    text += "\n## Left out\n\n| row | what | strategy | quantity | why |\n|---|---|---|---|---|\n"
    for line in lines:
        if line["role"] == "left out":
            text += f"| {line['id']} | {line['workload']}, {line['other']} | {line['strategy']} | {line['quantity']} | {line['why']} |\n"
    return text
