// SPDX-License-Identifier: BSD-3-Clause
#include "foresight/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "foresight/words.hpp"
#include "plot/svg.hpp"

namespace glean::foresight {
namespace {

using plot::escaped;

constexpr const char* style = R"(
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #222; max-width: 900px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.15em; margin: 1.8em 0 .5em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: .6em 0; font-size: .93em; } th { text-align: left; color: #555; font-weight: normal; }
th, td { padding: .22em .9em .22em 0; vertical-align: top; } tr + tr td, tr + tr th { border-top: 1px solid #eee; }
.share { height: 16px; position: relative; margin: .8em 0 1.6em;
  background: linear-gradient(to right, #c9e6dc 0 10%, #f3ebc4 10% 30%, #f7d8bb 30% 60%, #f0bfb7 60%); }
.share i { position: absolute; top: -4px; width: 3px; height: 24px; background: #222; }
.share span { position: absolute; top: 18px; font-size: .8em; color: #555; }
.note { color: #555; font-size: .93em; } svg { max-width: 100%; height: auto; margin: .4em 0; }
@media print { body { margin: 0; } h2 { break-after: avoid; } svg { break-inside: avoid; } }
)";

std::string html_table(const std::vector<Row>& rows) {
  std::string text = "<table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += "<tr>";
    for (const std::string& cell : rows[i]) text += i == 0 ? "<th>" + escaped(cell) + "</th>" : "<td>" + escaped(cell) + "</td>";
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string heading(const char* text) { return fmt::format("<h2>{}</h2>\n", text); }
std::string note(const std::string& text) { return fmt::format("<p class=\"note\">{}</p>\n", escaped(text)); }

// Half of the run and more is at the right end.
std::string share_bar(double share) {
  const auto mark = [](double at, const char* text) {
    return fmt::format("<span style=\"left: {:.1f}%\">{}</span>", 200 * at, text);
  };
  return fmt::format("<div class=\"share\"><i style=\"left: {:.2f}%\"></i>", 200 * std::min(share, 0.498)) +
         mark(0, "0") + mark(0.05, "5 %") + mark(0.15, "15 %") + mark(0.3, "30 %") + "</div>\n";
}

double begin_of_step(const RecordedRun& run, std::size_t i) { return i == 0 ? run.setup_seconds : run.steps[i - 1].end; }

// Seconds of it in which the drain worked, from the end of a step to that of the next one; the last lasts until the run ends.
std::vector<double> drained_after_steps(const RecordedRun& run) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const double begin = begin_of_step(run, i), end = i + 1 < run.steps.size() ? run.steps[i].end : run.run_seconds;
    double sum = 0;
    for (const RecordedRun::Interval& each : run.drained) sum += std::max(0.0, std::min(end, each.end) - std::max(begin, each.begin));
    seconds.push_back(sum);
  }
  return seconds;
}

std::string steps_plot(const RecordedRun& run) {
  plot::BarPlot bars{.title = "Seconds of each step", .x_label = "step", .y_label = "seconds",
                     .kinds = {{"blocked, slowest rank"}, {"drain at work"}}};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    bars.places.push_back(fmt::format("{}", i));
    bars.kinds[0].values.push_back(run.steps[i].blocked);
  }
  bars.kinds[1].values = drained_after_steps(run);
  return plot::to_svg(bars);
}

std::string name_of_path(const std::string& path) {
  constexpr std::size_t most = 20;
  std::string name = path.substr(path.rfind('/') + 1);
  return name.size() <= most ? name : "…" + name.substr(name.size() - most + 1);
}

std::string timeline_plot(const RecordedRun& run) {
  constexpr std::size_t outputs_shown = 24;
  plot::TimelinePlot timeline{.title = "The run in time", .x_label = "seconds since the session began"};
  plot::TimelinePlot::Row blocked{.name = "blocked, in sum"}, drain{.name = "drain"};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const RecordedRun::Step& step = run.steps[i];
    const std::string note = fmt::format("step {}: {}", i, readable_time(step.blocked));
    blocked.spans.push_back({std::max(0.0, step.end - step.blocked), step.end, 0, note});
  }
  if (run.closing_seconds > 0) {
    blocked.spans.push_back({run.run_seconds - run.closing_seconds, run.run_seconds, 5, "closing: " + readable_time(run.closing_seconds)});
  }
  for (const RecordedRun::Interval& each : run.drained) {
    drain.spans.push_back({each.begin, each.end, 1, readable_time(each.end - each.begin)});
  }
  timeline.rows = {blocked, drain};
  std::size_t shown = 0, known = 0;
  for (const RecordedRun::Output& each : run.outputs) {
    if (each.begin < 0) continue;
    ++known;
    if (shown == outputs_shown) continue;
    ++shown;
    const double last = std::max(each.begin, each.last), end = each.durable < 0 ? run.run_seconds : each.durable;
    timeline.rows.push_back({name_of_path(each.path),
                             {{each.begin, last, 4, "put: " + readable_time(last - each.begin)},
                              {last, end, 2, each.state + " after " + readable_time(end - last) + ", " + readable_size(each.bytes)}}});
  }
  if (shown < known) timeline.title += fmt::format(" (the first {} of {} outputs)", shown, known);
  return plot::to_svg(timeline);
}

std::string plot_of(const std::vector<Trial>& trials, const char* title, const char* what) {
  plot::LinePlot lines{.title = title, .x_label = what, .y_label = "seconds of a step",
                       .x_scale = plot::Scale::logarithmic, .y_scale = plot::Scale::logarithmic, .lines = {{"blocked"}, {"durable"}}};
  for (const Trial& each : trials) {
    lines.lines[0].points.emplace_back(static_cast<double>(each.value), each.outcome.blocked_seconds);
    lines.lines[1].points.emplace_back(static_cast<double>(each.value), each.outcome.durable_seconds);
  }
  return plot::to_svg(lines);
}

std::string run_part(const RecordedRun& run) {
  std::string html = heading("The run") + "<table>\n";
  for (const auto& [name, value] : summary_of(run)) html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  html += "</table>\n" + heading("Share of the run that waits for output");
  html += share_bar(run.blocked_share());
  html += note(fmt::format("{:.1f} % of the run: {}. To 5 % there is nothing to tune, from 15 % on it is worth a look, above 30 % it has "
                           "to change.", 100 * run.blocked_share(), verdict_of(run.blocked_share())));
  if (!run.steps.empty()) html += heading("Steps") + steps_plot(run);
  html += heading("Time line") + timeline_plot(run);
  html += note("Of each output: when it was put, and from the last put until it was durable. What ranks were blocked for is drawn in sum, "
               "before the end of each step.");
  return html;
}

}  // namespace

std::string to_html(const RecordedRun& run, const Forecast& forecast, const std::vector<Advice>& advice) {
  std::string html = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                                 "content=\"width=device-width\">\n<title>GLEAN: {} ranks, {}</title>\n<style>{}</style>\n</head>\n"
                                 "<body>\n",
                                 run.ranks, escaped(run.mode), style);
  html += fmt::format("<h1>GLEAN report</h1>\n<p class=\"note\">{} ranks, {}, {} written</p>\n", run.ranks, readable_time(run.run_seconds),
                      readable_size(run.step_bytes() * static_cast<double>(run.step_count())));
  html += run_part(run);
  html += heading("What would be better");
  const std::vector<Row> rows = advice_table(advice);
  if (rows.size() > 1) html += html_table(rows);
  else html += "<p>Nothing that was tried.</p>\n";
  if (const std::string rest = rest_of(advice); !rest.empty()) html += note("Makes no difference on this machine: " + rest + ".");
  html += note(fmt::format("Each line is the ratio of two simulations of this run on {} that differ in this one thing. What the machine "
                           "file does not say takes no time: glean calibrate measures a machine.", forecast.scenario.machine.name));
  if (!forecast.compares_modes) {
    return html + note("A run does not show what other modes would do there: --machine and a machine file compare them, and stagers "
                       "and stripes.") +
           "</body>\n</html>\n";
  }
  html += heading("What limits it, by mode") + note(title_of(forecast)) + html_table(modes_table(forecast));
  html += note("Speed-up: of the whole run over collective writing, with the time between steps that this run had.");
  if (!forecast.stagers.empty()) {
    html += heading("Stagers") + note(stagers_answer(forecast));
    if (forecast.stagers.size() > 1) html += plot_of(forecast.stagers, "A step by the number of stagers", "stagers");
  }
  if (!forecast.stripes.empty()) {
    html += heading("Stripes") + note(stripes_answer(forecast)) + plot_of(forecast.stripes, "A step by the stripes of a file", "stripes");
  }
  return html + "</body>\n</html>\n";
}

}  // namespace glean::foresight
