// SPDX-License-Identifier: BSD-3-Clause
#include "drain/user_analysis.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "drain/copier.hpp"
#include "hosting/host_script.hpp"
#include "pool/message_log.hpp"

namespace glean::drain {
namespace {

constexpr Bytes pinned_share = 8;         // of the pool, where the user has not said how much
constexpr double nap_seconds = 0.2;
constexpr double load_seconds_min = 60;   // to import what a program needs takes its time on a busy file system
constexpr std::uint64_t lines_max = 200;  // in the log
constexpr double lines_seconds = 10;      // for as long

std::vector<std::string> words_of(const analysis::Program& program) {
  if (program.is_python()) return {program.python, "-c", hosting::host_script};
  return {Copier::program(), "analysis-host"};
}

analysis::ProgramResult left_out(const std::string& why) { return {.values = {}, .left_out = why}; }

std::optional<analysis::ProgramResult::Join> join_named(const std::string& name) {
  using Join = analysis::ProgramResult::Join;
  if (name.empty()) return Join::none;
  if (name == "sum") return Join::sum;
  if (name == "min") return Join::least;
  if (name == "max") return Join::greatest;
  return std::nullopt;
}

std::vector<mesh::Attribute> attributes_of(const mesh::Definitions& definitions, int variable) {
  std::vector<mesh::Attribute> attributes;
  std::copy_if(definitions.attributes.begin(), definitions.attributes.end(), std::back_inserter(attributes),
               [&](const mesh::Attribute& each) { return each.variable == variable; });
  return attributes;
}

// All variables of the output, without pieces.
hosting::SeenStep empty_step(const CompleteStep& step) {
  hosting::SeenStep seen{.output = step.path, .file = step.file, .step = step.step};
  seen.attributes = attributes_of(*step.definitions, -1);
  for (std::size_t i = 0; i < step.definitions->variables.size(); ++i) {
    const auto variable = static_cast<int>(i);
    const mesh::VariableDefinition& defined = step.definitions->variables[i];
    seen.variables.push_back({defined.name, defined.external, step.definitions->per_step(variable), step.definitions->shape(variable),
                              attributes_of(*step.definitions, variable)});
  }
  return seen;
}

}  // namespace

std::vector<hosting::SeenStep> seen_steps(const CompleteStep& step) {
  if (!step.definitions) return {};
  std::map<std::uint64_t, hosting::SeenStep> seen;
  for (const StepPiece& piece : step.pieces) {
    if (piece.variable == no_variable || piece.variable >= step.definitions->variables.size()) continue;
    const bool counts_records = piece.place && step.definitions->per_step(static_cast<int>(piece.variable));
    const std::size_t element_bytes = mesh::size_of(piece.type);
    const std::uint64_t each = piece.put.box.elements();   // of a record
    std::uint64_t element = piece.first_byte / element_bytes, elements = piece.bytes.size() / element_bytes;
    Bytes offset = piece.pool_offset;
    while (elements != 0 && each != 0) {
      const std::uint64_t record = element / each, first = element % each, count = std::min(each - first, elements);
      const std::uint64_t number = counts_records ? piece.put.first_record + record : step.step;
      auto found = seen.find(number);
      if (found == seen.end()) {
        found = seen.emplace(number, empty_step(step)).first;
        found->second.step = number;
      }
      for (mesh::Box& box : hosting::boxes_of_run(piece.put.box, first, count)) {
        const Bytes bytes = box.elements() * element_bytes;
        found->second.variables[piece.variable].pieces.push_back({std::move(box), piece.rank, offset, piece.type, piece.is_big_endian});
        offset += bytes;
      }
      element += count;
      elements -= count;
    }
  }
  std::vector<hosting::SeenStep> steps;
  for (auto& [number, each] : seen) steps.push_back(std::move(each));
  return steps;
}

UserAnalysis::UserAnalysis(Consumers& consumers, pool::Pool& pool, const analysis::Program& program, Calls calls)
    : consumers_(consumers), pool_(pool), program_(program), calls_(std::move(calls)) {
  const Bytes pool_bytes = pool.header().chunk_count * pool.header().chunk_bytes;
  consumer_ = consumers.add({.budget = program.budget_bytes == 0 ? pool_bytes / pinned_share : program.budget_bytes,
                             .process = 0,
                             .wants = calls_.wants,
                             .tells_left_out = true,
                             .wait_seconds = program.wait_seconds});
  try {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    consumers_.remove(consumer_);
    throw;
  }
}

void UserAnalysis::stop() {
  is_stopping_ = true;
  consumers_.remove(consumer_);   // and so next() returns
  if (thread_.joinable()) thread_.join();
}

void UserAnalysis::run() {
  pthread_setname_np(pthread_self(), "glean-program");
  while (!is_stopping_) {
    const auto step = consumers_.next(consumer_, nap_seconds);
    if (!step) {
      if (process_ && !is_stopping_) process_->listen();
      continue;
    }
    calls_.keep(*step, look_at(*step));
    consumers_.release(consumer_, step->number);
    calls_.found(step->output);
  }
  process_.reset();   // by the thread that has started it: it ends with that
}

analysis::OutputResults UserAnalysis::look_at(const CompleteStep& step) {
  analysis::OutputResults results;
  const auto add = [&](std::uint64_t number, analysis::ProgramResult result) {
    analysis::StepResult of_step;
    of_step.programs.emplace(program_.name(), std::move(result));
    results.add(number, std::move(of_step));
  };
  try {
    if (!step.left_out.empty()) add(step.step, left_out(step.left_out));
    else for (const hosting::SeenStep& each : seen_steps(step)) add(each.step, ask(each));
  } catch (const std::exception& error) {
    add(step.step, left_out(error.what()));
  }
  return results;
}

void UserAnalysis::start() {
  process_ = std::make_unique<hosting::HostProcess>(hosting::HostTerms{.words = words_of(program_),
                                                                       .memory_bytes = program_.memory_bytes,
                                                                       .said = [this](const std::string& line) { say(line); },
                                                                       .is_stopping = [this] { return is_stopping_.load(); }});
  const pool::PoolHeader& header = pool_.header();
  const hosting::Welcome welcome{program_.file, "/dev/shm" + pool_.name(), header.node, std::max<std::uint64_t>(header.nodes, 1)};
  const double seconds = std::max(program_.deadline_seconds, load_seconds_min);
  const auto answer = hosting::Answer::decode(process_->ask(welcome.encode(), seconds));
  if (!answer.error.empty()) give_up("it cannot be loaded: " + answer.error);
}

analysis::ProgramResult UserAnalysis::ask(const hosting::SeenStep& step) {
  try {
    if (given_up_.empty() && !process_) start();
    if (!given_up_.empty()) return left_out(given_up_);
    const auto answer = hosting::Answer::decode(process_->ask(step.encode(), program_.deadline_seconds));
    if (!answer.error.empty()) return left_out("it has failed: " + answer.error);
    for (const std::string& text : answer.messages) {
      if (!pool::tell(pool_.name(), {text, step.output, step.step})) {
        base::log(base::LogLevel::warning, "{}: a message is lost, because there is no room for it: {}", program_.name(), text);
      }
    }
    analysis::ProgramResult result;
    for (const auto& each : answer.values) {
      const auto join = join_named(each.join);
      if (!join) throw base::Error(base::Errc::io, "'" + each.name + "' is joined by '" + each.join + "', and sum, min and max are known");
      result.add(each.name, pool_.header().node, {*join, each.value});
    }
    return result;
  } catch (const std::exception& error) {   // HostLost, or an answer that is none
    has_lost(error.what());
    return left_out(error.what());
  }
}

void UserAnalysis::has_lost(const std::string& why) {
  process_.reset();
  if (is_stopping_) return;
  if (++lost_ > program_.restarts) give_up(why);
}

// Steps that come are given back at once from now on.
void UserAnalysis::give_up(const std::string& why) {
  process_.reset();
  given_up_ = "the analysis was given up";
  base::log(base::LogLevel::warning, "the analysis '{}' is given up after {} {}: {}", program_.file, lost_,
            lost_ == 1 ? "failure" : "failures", why);
}

void UserAnalysis::say(const std::string& line) {
  const std::uint64_t now = base::now_ns();
  if (said_since_ns_ == 0 || base::seconds(now - said_since_ns_) > lines_seconds) {
    if (unsaid_ != 0) base::log(base::LogLevel::info, "{}: {} more lines", program_.name(), unsaid_);
    said_since_ns_ = now;
    said_ = unsaid_ = 0;
  }
  if (said_++ < lines_max) base::log(base::LogLevel::info, "{}: {}", program_.name(), line);
  else ++unsaid_;
}

}  // namespace glean::drain
