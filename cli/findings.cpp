// SPDX-License-Identifier: BSD-3-Clause
#include "cli/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace glean::cli {
namespace {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warn: return "warn";
    case Verdict::fail: break;
  }
  return "fail";
}

}  // namespace

Verdict worst_of(const Findings& findings) {
  Verdict worst = Verdict::ok;
  for (const Finding& finding : findings) worst = std::max(worst, finding.verdict);
  return worst;
}

std::string to_text(const Findings& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  std::string text;
  for (const Finding& finding : findings) {
    std::istringstream lines(finding.text);
    std::string line;
    std::getline(lines, line);
    text += fmt::format("{:4}  {:{}}  {}\n", name_of(finding.verdict), finding.subject, width, line);
    while (std::getline(lines, line)) text += fmt::format("{:{}}{}\n", "", width + 8, line);
    if (!finding.advice.empty()) text += fmt::format("{:{}}-> {}\n", "", width + 8, finding.advice);
  }
  return text;
}

std::string to_json(const Findings& findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"subject", finding.subject},
                    {"verdict", name_of(finding.verdict)},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  return nlohmann::ordered_json{{"verdict", name_of(worst_of(findings))}, {"findings", list}}.dump(2) + "\n";
}

}  // namespace glean::cli
