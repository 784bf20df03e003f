// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analysis/values.hpp"

namespace glean::analysis {
namespace {

// x - x is 0 for finite numbers, and NaN for others.
bool all_finite(std::span<const double> values) {
  std::array<double, 8> sum{};
  const std::size_t whole = values.size() / sum.size() * sum.size();
  for (std::size_t i = 0; i < whole; i += sum.size()) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += values[i + k] - values[i + k];
  }
  for (std::size_t i = whole; i < values.size(); ++i) sum[0] += values[i] - values[i];
  double all = 0;
  for (const double each : sum) all += each;
  return all == 0;
}

std::uint64_t place_of(const Piece& piece, std::uint64_t element) {
  const mesh::Rows rows(piece.box, piece.shape);
  return rows.position(element / rows.row_elements()) + element % rows.row_elements();
}

// A field of a line of a table.
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field = "\"";
  for (const char each : text) field += each == '"' ? std::string("\"\"") : std::string(1, each);
  return field + '"';
}

std::string place_text(std::uint64_t place) { return place == no_place ? std::string() : std::to_string(place); }

}  // namespace

// --- one variable of one step

VariableResult::VariableResult(const Request& request) {
  if (request.histogram) histogram_.emplace(request.most_bins);
}

void VariableResult::add(const Piece& piece) {
  Block block, finite_block;
  std::span<const std::byte> rest = piece.bytes;
  std::uint64_t first = piece.first;
  while (rest.size() >= mesh::size_of(piece.type)) {
    const std::span<const double> values = next_block(rest, piece.type, piece.is_big_endian, block);
    const std::span<const double> finite = all_finite(values) ? values : sort_out(values, piece, first, finite_block);
    Statistics part;
    part.add(finite);
    statistics_.merge(part);
    if (histogram_) histogram_->add(finite, part.minimum, part.maximum);
    first += values.size();
    rest = rest.subspan(values.size() * mesh::size_of(piece.type));
  }
}

std::span<const double> VariableResult::sort_out(std::span<const double> values, const Piece& piece, std::uint64_t first,
                                                 std::span<double> finite) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) finite[count++] = values[i];
    else if (std::isnan(values[i])) statistics_.add_nan(place_of(piece, first + i));
    else statistics_.add_infinite(place_of(piece, first + i));
  }
  return finite.first(count);
}

void VariableResult::merge(const VariableResult& other) {
  statistics_.merge(other.statistics_);
  if (histogram_ && other.histogram_) histogram_->merge(*other.histogram_);
}

void VariableResult::encode(base::Encoder& out) const {
  statistics_.encode(out);
  out.byte(histogram_ ? 1 : 0);
  if (histogram_) histogram_->encode(out);
}

VariableResult VariableResult::decode(base::Decoder& in) {
  VariableResult result;
  result.statistics_ = Statistics::decode(in);
  if (in.byte() != 0) result.histogram_ = Histogram::decode(in);
  return result;
}

// --- what a program has found

void ProgramResult::add(const std::string& name, std::uint64_t node, const Value& value) {
  values.insert_or_assign({name, value.join == Join::none ? node : all_nodes}, value);
}

void ProgramResult::merge(const ProgramResult& other) {
  for (const auto& [key, theirs] : other.values) {
    const auto [there, is_new] = values.try_emplace(key, theirs);
    if (is_new) continue;
    Value& mine = there->second;
    if (mine.join == Join::sum) mine.value += theirs.value;
    else if (std::isnan(theirs.value)) mine.value = theirs.value;   // is told, not lost
    else if (mine.join == Join::least) mine.value = std::min(theirs.value, mine.value);
    else if (mine.join == Join::greatest) mine.value = std::max(theirs.value, mine.value);
  }
  if (left_out.empty()) left_out = other.left_out;
}

void ProgramResult::encode(base::Encoder& out) const {
  out.text(left_out);
  out.number(values.size());
  for (const auto& [key, value] : values) {
    out.text(key.first);
    out.number(key.second);
    out.byte(static_cast<std::uint8_t>(value.join));
    out.real(value.value);
  }
}

ProgramResult ProgramResult::decode(base::Decoder& in) {
  ProgramResult result;
  result.left_out = in.text();
  for (std::size_t values = in.count(25, "numbers"); values > 0; --values) {
    std::string name = in.text();
    const std::uint64_t node = in.number();
    const auto join = in.choice<Join>(4, "way to join numbers");
    result.values[{std::move(name), node}] = {join, in.real()};
  }
  return result;
}

// --- an output

void OutputResults::add(std::uint64_t step, StepResult result) {
  const auto [there, is_new] = steps_.try_emplace(step, std::move(result));
  if (is_new) return;
  for (auto& [name, variable] : result.variables) {
    const auto [known, is_first] = there->second.variables.try_emplace(name, variable);
    if (!is_first) known->second.merge(variable);
  }
  for (const auto& [name, program] : result.programs) {
    const auto [known, is_first] = there->second.programs.try_emplace(name, program);
    if (!is_first) known->second.merge(program);
  }
  if (there->second.left_out.empty()) there->second.left_out = std::move(result.left_out);
}

void OutputResults::merge(const OutputResults& other) {
  for (const auto& [step, result] : other.steps_) add(step, result);
  if (lost_.empty()) lost_ = other.lost_;
}

base::Bytes OutputResults::bytes() const {
  base::Bytes bytes = lost_.size();
  for (const auto& [step, result] : steps_) {
    bytes += sizeof(StepResult) + result.left_out.size();
    for (const auto& [name, variable] : result.variables) {
      bytes += sizeof(VariableResult) + name.size();
      if (variable.histogram()) bytes += variable.histogram()->counts().size() * sizeof(std::uint64_t);
    }
    for (const auto& [name, program] : result.programs) {
      bytes += sizeof(ProgramResult) + name.size() + program.left_out.size();
      for (const auto& [key, value] : program.values) bytes += sizeof key + sizeof value + key.first.size();
    }
  }
  return bytes;
}

std::string OutputResults::statistics_table() const {
  std::string table = "step,variable,values,minimum,maximum,mean,deviation,nan,infinite,first_nan,first_infinite\n";
  for (const auto& [step, result] : steps_) {
    if (!result.left_out.empty()) continue;
    for (const auto& [name, variable] : result.variables) {
      const Statistics& found = variable.statistics();
      const bool has_values = found.finite != 0;
      table += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", step, quoted(name), found.finite,
                           has_values ? fmt::format("{}", found.minimum) : "", has_values ? fmt::format("{}", found.maximum) : "",
                           has_values ? fmt::format("{}", found.mean) : "", has_values ? fmt::format("{}", found.deviation()) : "",
                           found.nan, found.infinite, place_text(found.first_nan), place_text(found.first_infinite));
    }
  }
  return table;
}

std::string OutputResults::histogram_table() const {
  std::string table = "step,variable,begin,end,count\n";
  for (const auto& [step, result] : steps_) {
    if (!result.left_out.empty()) continue;
    for (const auto& [name, variable] : result.variables) {
      if (!variable.histogram()) continue;
      const auto& counts = variable.histogram()->counts();
      for (std::size_t bin = 0; bin < counts.size(); ++bin) {
        table += fmt::format("{},{},{},{},{}\n", step, quoted(name), variable.histogram()->begin(bin), variable.histogram()->begin(bin + 1),
                             counts[bin]);
      }
    }
  }
  return table;
}

std::string OutputResults::program_table(const std::string& name) const {
  std::string table = "step,name,node,value\n";
  for (const auto& [step, result] : steps_) {
    const auto found = result.programs.find(name);
    if (found == result.programs.end() || !found->second.left_out.empty()) continue;
    for (const auto& [key, value] : found->second.values) {
      const std::string node = key.second == ProgramResult::all_nodes ? std::string() : std::to_string(key.second);
      table += fmt::format("{},{},{},{}\n", step, quoted(key.first), node, value.value);
    }
  }
  return table;
}

void OutputResults::encode(base::Encoder& out) const {
  out.text(lost_);
  out.number(steps_.size());
  for (const auto& [step, result] : steps_) {
    out.number(step);
    out.text(result.left_out);
    out.number(result.variables.size());
    for (const auto& [name, variable] : result.variables) {
      out.text(name);
      variable.encode(out);
    }
    out.number(result.programs.size());
    for (const auto& [name, program] : result.programs) {
      out.text(name);
      program.encode(out);
    }
  }
}

OutputResults OutputResults::decode(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "what another node has found out of an output");
  OutputResults results;
  results.lost_ = in.text();
  for (std::size_t steps = in.count(32, "steps"); steps > 0; --steps) {
    const std::uint64_t step = in.number();
    StepResult& result = results.steps_[step];
    result.left_out = in.text();
    for (std::size_t variables = in.count(8, "variables"); variables > 0; --variables) {
      std::string name = in.text();
      result.variables.insert_or_assign(std::move(name), VariableResult::decode(in));
    }
    for (std::size_t programs = in.count(24, "programs"); programs > 0; --programs) {
      std::string name = in.text();
      result.programs.insert_or_assign(std::move(name), ProgramResult::decode(in));
    }
  }
  in.expect_end();
  return results;
}

std::string table_path(const std::string& final_path, const std::string& table) { return final_path + "." + table + ".csv"; }

}  // namespace glean::analysis
