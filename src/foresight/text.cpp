// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "foresight/page.hpp"
#include "foresight/words.hpp"

namespace glean::foresight {
namespace {

// Numbers to the right, words to the left.
std::string text_table(const std::vector<Row>& rows, std::size_t words_in_front) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_word = i < words_in_front || i + 1 == row.size();
      line += is_word ? fmt::format(" {:<{}} ", row[i], widths[i]) : fmt::format(" {:>{}} ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string to_text(const Forecast& forecast) {
  std::string text = title_of(forecast) + '\n' + text_table(modes_table(forecast), 2);
  for (const ModeForecast& each : forecast.modes) {
    if (!each.outcome) text += fmt::format("  {} is left out: {}\n", each.mode, each.why);
  }
  text += stagers_answer(forecast) + '\n';
  if (!forecast.stagers.empty()) text += text_table(trials_table(forecast.stagers, "stagers"), 0);
  text += stripes_answer(forecast) + '\n';
  if (!forecast.stripes.empty()) text += text_table(trials_table(forecast.stripes, "stripes"), 0);
  return text;
}

std::string to_text(const RecordedRun& run, const Forecast& forecast, const std::vector<Advice>& advice) {
  std::string text = "The run\n";
  for (const auto& [name, value] : summary_of(run)) text += fmt::format("  {:<20} {}\n", name, value);
  text += fmt::format("\nWhat would be better, simulated on {}\n", forecast.scenario.machine.name);
  const std::vector<Row> rows = advice_table(advice);
  if (rows.size() > 1) text += text_table(rows, 3);
  else text += "  nothing that was tried\n";
  if (const std::string rest = rest_of(advice); !rest.empty()) text += fmt::format("  makes no difference there: {}\n", rest);
  if (!forecast.compares_modes) text += "  modes, stagers and stripes are compared with --machine, on a machine that was measured\n";
  return text;
}

}  // namespace glean::foresight
