// SPDX-License-Identifier: BSD-3-Clause
#include "drain/analyst.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "analysis/step_numbers.hpp"
#include "base/signals_blocked.hpp"
#include "drain/output.hpp"

namespace glean::drain {
namespace {

constexpr Bytes pinned_share = 4;   // of the pool, at most, that waits to be looked at
constexpr Bytes results_bytes_max = 64 * base::MiB;   // of an output
constexpr double nap_seconds = 0.2;

// A node looks at what its own ranks have put. What it sends to stagers is looked at there, but for bytes, of which only the node of the
// rank knows what they mean.
bool is_for_this_node(const DrainedOutput& output) {
  return output.description.is_bytes ? !output.pool.is_stager() : !output.is_sent();
}

}  // namespace

void Analyst::opened(const DrainedOutput& output, bool is_whole) {
  const analysis::Request& request = output.description.analysis;
  if (!request.any()) return;
  const std::lock_guard lock(mutex_);
  Analysed& analysed = outputs_[output.key];
  analysed = {request, output.description.is_bytes, false, {}, 0, base::Condition::parse(request.trigger.condition), {}};
  if (!is_for_this_node(output)) return;
  if (!is_whole) return analysed.results.lose("a drain has ended that had seen a part of it");
  if (is_stopped_) return analysed.results.lose("the drain ends");
  try {
    if (request.reduces()) begin_to_reduce();
    for (const analysis::Program& each : request.programs) begin_to_run(each);
    analysed.is_seen = true;
  } catch (const std::exception& error) {
    analysed.results.lose(error.what());
  }
}

void Analyst::begin_to_reduce() {
  if (!consumer_) {
    const Bytes pool_bytes = pool_.header().chunk_count * pool_.header().chunk_bytes;
    consumer_ = consumers_.add({.budget = pool_bytes / pinned_share,
                                .process = 0,
                                .wants = [](const DrainedOutput& each) {
                                  return each.description.analysis.reduces() && is_for_this_node(each);
                                },
                                .tells_left_out = true});
  }
  const base::SignalsBlocked blocked;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

// One process looks at the steps of all outputs that name the program.
void Analyst::begin_to_run(const analysis::Program& program) {
  const auto is_it = [&](const auto& each) { return each->program() == program; };
  if (std::any_of(programs_.begin(), programs_.end(), is_it)) return;
  const auto wants = [program](const DrainedOutput& each) { return each.description.analysis.has(program) && is_for_this_node(each); };
  const auto keeps = [this](const CompleteStep& step, analysis::OutputResults results) { keep(step, std::move(results)); };
  programs_.push_back(std::make_unique<UserAnalysis>(consumers_, pool_, program, UserAnalysis::Calls{wants, keeps, found_}));
}

bool Analyst::is_done_with(pool::OutputKey output) const {
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(output);
  if (is_stopped_ || found == outputs_.end() || !found->second.is_seen) return true;
  return !is_held(output);
}

bool Analyst::is_held(pool::OutputKey output) const {
  if (consumer_ && consumers_.holds(*consumer_, output)) return true;
  return std::any_of(programs_.begin(), programs_.end(), [&](const auto& each) { return each->holds(output); });
}

void Analyst::ended(pool::OutputKey output) {
  const std::lock_guard lock(mutex_);
  outputs_.erase(output);
}

analysis::OutputResults Analyst::results(pool::OutputKey output) const {
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(output);
  return found == outputs_.end() ? analysis::OutputResults{} : found->second.results;
}

void Analyst::add(pool::OutputKey output, const analysis::OutputResults& of_another_node) {
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(output);
  if (found != outputs_.end()) found->second.results.merge(of_another_node);
}

void Analyst::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopped_, true)) return;
    for (auto& [output, analysed] : outputs_) {
      if (analysed.is_seen && is_held(output)) analysed.results.lose("the drain has ended before");
    }
    if (consumer_) consumers_.remove(*consumer_);   // and so next() returns
  }
  for (const auto& each : programs_) each->stop();   // nothing is added to them any more
  if (thread_.joinable()) thread_.join();
  triggers_.stop();
}

void Analyst::run() {
  pthread_setname_np(pthread_self(), "glean-analyse");
  for (;;) {
    Consumers::Id consumer = 0;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
      consumer = *consumer_;
    }
    const auto step = consumers_.next(consumer, nap_seconds);
    if (!step) continue;
    std::optional<Analysed> asked;
    {
      const std::lock_guard lock(mutex_);
      const auto found = outputs_.find(step->output);
      if (found != outputs_.end()) asked = {found->second.request, found->second.is_raw, true, {}, 0, {}, {}};
    }
    if (asked) keep(*step, look_at(*step, *asked));
    consumers_.release(consumer, step->number);
    found_(step->output);
  }
}

// What waits for the end of the output is bounded: of further steps it is only known that they were left out.
void Analyst::keep(const CompleteStep& step, analysis::OutputResults results) {
  Bytes bytes = results.bytes();
  std::vector<Fired> fired;
  {
    const std::lock_guard lock(mutex_);
    const auto found = outputs_.find(step.output);
    if (found == outputs_.end()) return;
    if (found->second.bytes + bytes > results_bytes_max) {
      results = {};
      results.add(step.step, {{}, "there are too many results of this output to keep them", {}});
      bytes = 0;
    }
    found->second.bytes += bytes;
    found->second.results.merge(results);
    fired = fired_by(step, found->second, results);
  }
  for (Fired& each : fired) triggers_.fire(std::move(each));
}

// Statistics and programs come one after the other: each may be the last that was lacking.
std::vector<Fired> Analyst::fired_by(const CompleteStep& step, Analysed& analysed, const analysis::OutputResults& added) const {
  std::vector<Fired> fired;
  if (!analysed.condition) return fired;
  const std::uint64_t node = pool_.header().node;
  for (const auto& [number, result] : added.steps()) {
    const auto known = analysed.results.steps().find(number);
    if (analysed.fired.contains(number) || known == analysed.results.steps().end()) continue;
    const auto look = [&](const base::Condition::Operand& operand) { return analysis::number_of(known->second, operand, node); };
    const auto holds = analysed.condition->holds(look);
    if (!holds) continue;
    analysed.fired.insert(number);
    fired.push_back({analysed.request.trigger, step.path, step.file, number, node, holds->operand.name + "." + holds->operand.number,
                     holds->value});
  }
  return fired;
}

analysis::OutputResults Analyst::look_at(const CompleteStep& step, const Analysed& asked) {
  try {
    return results_of(step, asked);
  } catch (const std::exception& error) {
    analysis::OutputResults results;
    results.add(step.step, {{}, error.what(), {}});
    return results;
  }
}

// A raw output has one step, and its records are what the program counts as steps.
analysis::OutputResults Analyst::results_of(const CompleteStep& step, const Analysed& asked) {
  analysis::OutputResults results;
  std::map<std::uint64_t, analysis::StepResult> found;
  if (!step.left_out.empty()) found[step.step].left_out = step.left_out;
  for (const StepPiece& piece : step.pieces) {
    if (piece.variable == no_variable || !step.definitions || piece.variable >= step.definitions->variables.size()) continue;
    const auto variable = static_cast<int>(piece.variable);
    const mesh::VariableDefinition& defined = step.definitions->variables[piece.variable];
    if (piece.type == mesh::Type::text || defined.external == mesh::Type::text || !asked.request.wants(defined.name)) continue;
    const mesh::Shape shape = step.definitions->shape(variable);
    const std::size_t element_bytes = mesh::size_of(piece.type);
    const std::uint64_t each = piece.put.box.elements();   // of a record
    std::uint64_t element = piece.first_byte / element_bytes;
    for (std::span<const std::byte> rest = piece.bytes; rest.size() >= element_bytes && each != 0;) {
      const std::uint64_t record = element / each, first = element % each;
      const std::size_t count = std::min<std::size_t>(each - first, rest.size() / element_bytes);
      const bool counts_records = asked.is_raw && step.definitions->per_step(variable);
      const std::uint64_t number = counts_records ? piece.put.first_record + record : step.step;
      const auto result = found[number].variables.try_emplace(defined.name, asked.request).first;
      result->second.add({shape, piece.put.box, first, piece.type, piece.is_big_endian, rest.first(count * element_bytes)});
      element += count;
      rest = rest.subspan(count * element_bytes);
    }
  }
  for (auto& [number, result] : found) results.add(number, std::move(result));
  return results;
}

}  // namespace glean::drain
