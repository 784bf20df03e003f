// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/request.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "analysis/histogram.hpp"
#include "base/condition.hpp"

namespace glean::analysis {
namespace {

std::string where_it_is(const std::string& file) {
  char directory[PATH_MAX];
  const bool is_relative_and_there = !file.starts_with('/') && access(file.c_str(), F_OK) == 0;
  return is_relative_and_there && getcwd(directory, sizeof directory) != nullptr ? std::string(directory) + "/" + file : file;
}

}  // namespace

Request Request::of(const base::AnalysisSettings& settings) {
  const auto has = [&](base::Reduction reduction) {
    return std::find(settings.reductions.begin(), settings.reductions.end(), reduction) != settings.reductions.end();
  };
  Request request{has(base::Reduction::statistics), has(base::Reduction::histogram), {}, 0, {}};
  const base::ProgramSettings& asked = settings.programs;
  for (const std::string& file : asked.files) {
    request.programs.push_back({where_it_is(file), asked.python, asked.budget_bytes, asked.wait_seconds, asked.deadline_seconds,
                                asked.memory_bytes, static_cast<std::uint64_t>(asked.restarts)});
  }
  request.trigger = settings.trigger;
  request.publish_when = settings.publish_when;
  if (!request.reduces()) return request;
  request.variables = settings.variables;
  request.most_bins = static_cast<std::uint64_t>(settings.bins);
  return request;
}

bool Request::wants(const std::string& variable) const {
  return reduces() && (variables.empty() || std::find(variables.begin(), variables.end(), variable) != variables.end());
}

bool Request::looks_for_statistics() const {
  const auto is_of_program = [&](const base::Condition::Operand& operand) {
    return std::any_of(programs.begin(), programs.end(), [&](const Program& each) { return each.name() == operand.name; });
  };
  for (const std::string* each : {&trigger.condition, &publish_when}) {
    const auto condition = base::Condition::parse(*each);
    const auto operands = condition ? condition->operands() : std::vector<base::Condition::Operand>();
    if (!std::all_of(operands.begin(), operands.end(), is_of_program)) return true;
  }
  return false;
}

bool Request::has(const Program& program) const { return std::find(programs.begin(), programs.end(), program) != programs.end(); }

void Request::encode(base::Encoder& out) const {
  out.byte(statistics ? 1 : 0);
  out.byte(histogram ? 1 : 0);
  out.number(most_bins);
  out.number(variables.size());
  for (const std::string& name : variables) out.text(name);
  out.number(programs.size());
  for (const Program& each : programs) {
    out.text(each.file);
    out.text(each.python);
    out.number(each.budget_bytes);
    out.real(each.wait_seconds);
    out.real(each.deadline_seconds);
    out.number(each.memory_bytes);
    out.number(each.restarts);
  }
  for (const std::string* each : {&trigger.condition, &trigger.run, &trigger.mark, &trigger.tell, &publish_when}) out.text(*each);
}

Request Request::decode(base::Decoder& in) {
  Request request;
  request.statistics = in.byte() != 0;
  request.histogram = in.byte() != 0;
  request.most_bins = in.number();
  if (request.histogram && (request.most_bins < 2 || request.most_bins > Histogram::bins_max)) in.reject("no histogram has so many bins");
  request.variables.resize(in.count(8, "variables to analyse"));
  for (std::string& name : request.variables) name = in.text();
  request.programs.resize(in.count(56, "programs that analyse"));
  for (Program& each : request.programs) {
    each.file = in.text();
    each.python = in.text();
    each.budget_bytes = in.number();
    each.wait_seconds = in.real();
    each.deadline_seconds = in.real();
    each.memory_bytes = in.number();
    each.restarts = in.number();
  }
  base::TriggerSettings& trigger = request.trigger;
  for (std::string* each : {&trigger.condition, &trigger.run, &trigger.mark, &trigger.tell, &request.publish_when}) *each = in.text();
  return request;
}

}  // namespace glean::analysis
