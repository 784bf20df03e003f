// SPDX-License-Identifier: BSD-3-Clause
//
// What the page and the text say in the same words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "foresight/advice.hpp"

namespace glean::foresight {

using Row = std::vector<std::string>;

// Name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> summary_of(const RecordedRun& run);
// The first row is the heading.
[[nodiscard]] std::vector<Row> modes_table(const Forecast& forecast);
[[nodiscard]] std::vector<Row> trials_table(const std::vector<Trial>& trials, const char* what);
[[nodiscard]] std::vector<Row> advice_table(const std::vector<Advice>& advice);
[[nodiscard]] std::string title_of(const Forecast& forecast);
[[nodiscard]] std::string stagers_answer(const Forecast& forecast);
[[nodiscard]] std::string stripes_answer(const Forecast& forecast);
// What was tried and made no difference.
[[nodiscard]] std::string rest_of(const std::vector<Advice>& advice);
[[nodiscard]] std::string readable_rate(double bytes_per_second);
[[nodiscard]] std::string readable_size(double bytes);

}  // namespace glean::foresight
