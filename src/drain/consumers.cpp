// SPDX-License-Identifier: BSD-3-Clause
#include "drain/consumers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "drain/node_share.hpp"
#include "pool/description.hpp"

namespace glean::drain {
namespace {

// What the front end has said of a raw output; nothing where it has not, or what is there cannot be read.
std::optional<store::Meaning> meaning_of(const DrainedOutput& output) {
  try {
    const auto said = pool::read_meaning(output.pool, output.key);
    if (!said.bytes.empty()) return store::Meaning::decode(said.bytes);
  } catch (const base::Error&) {   // then its bytes mean nothing
  }
  return std::nullopt;
}

constexpr double asked_seconds = 1;   // a rank that waits for room asks more often
constexpr char lacks_budget_words[] = "it does not fit into what may wait in the pool";

struct Elements { std::uint64_t first = 0, count = 0; };

// An element of which two nodes write bytes has come to both: it is the one's that writes the first of them.
Elements elements_of_this_node(const DrainedOutput& output, const pool::Record& record) {
  Elements mine{record.first_element, record.elements};
  if (record.origin == pool::Origin::rank || output.nodes == nullptr || output.description.is_bytes) return mine;
  const store::VariableLayout& variable = output.description.layout.target(record.variable);
  const mesh::Box box = pool::box_of(record);
  const auto begins_here = [&](std::uint64_t element) {
    const store::Piece piece(variable, variable.per_step() ? record.step : 0, box, element, 1);
    return output.nodes->is_mine(piece.file_extent().begin / output.description.share.request_bytes);
  };
  if (mine.count != 0 && !begins_here(mine.first)) ++mine.first, --mine.count;
  if (mine.count != 0 && !begins_here(mine.first + mine.count - 1)) --mine.count;
  return mine;
}

}  // namespace

Consumers::~Consumers() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, consumer] : consumers_) let_go(consumer);
}

// --- consumers

Consumers::Id Consumers::add(const Terms& terms) {
  const std::lock_guard lock(mutex_);
  const Bytes most = pool_.header().chunk_count * pool_.header().chunk_bytes / 2;
  Bytes all = terms.budget;
  for (const auto& [id, consumer] : consumers_) all += consumer.figures.is_gone ? 0 : consumer.terms.budget;
  if (terms.budget > most || all > most) {
    throw base::Error(base::Errc::invalid_argument,
                      "consumers may pin at most half of the pool, " + base::readable_bytes(most) + ", and this one would make it " +
                          base::readable_bytes(all),
                      "lower its budget, or raise pool.budget");
  }
  Consumer consumer;
  consumer.terms = terms;
  if (terms.process != 0) {
    consumer.process_descriptor = static_cast<int>(syscall(SYS_pidfd_open, terms.process, 0));
    if (consumer.process_descriptor < 0) {
      throw base::system_error(errno, "cannot watch process " + std::to_string(terms.process) + ", which is to consume steps");
    }
  }
  const Id id = next_id_++;
  consumers_.emplace(id, std::move(consumer));
  return id;
}

void Consumers::remove(Id consumer) {
  const std::lock_guard lock(mutex_);
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return;
  let_go(found->second);
  consumers_.erase(found);
  is_complete_.notify_all();
}

std::optional<CompleteStep> Consumers::next(Id consumer, double seconds) {
  std::unique_lock lock(mutex_);
  const auto find = [&]() -> Consumer* {
    const auto found = consumers_.find(consumer);
    return found == consumers_.end() || found->second.figures.is_gone ? nullptr : &found->second;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::llround(1e3 * std::clamp(seconds, 0.0, 1e9)));
  is_complete_.wait_until(lock, until, [&] {
    const Consumer* const found = find();
    return found == nullptr || !found->waiting.empty();
  });
  Consumer* const found = find();
  if (found == nullptr || found->waiting.empty()) return std::nullopt;
  CompleteStep step = std::move(found->waiting.front());
  found->waiting.pop_front();
  ++found->figures.steps;
  return step;
}

void Consumers::release(Id consumer, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return;
  const auto held = found->second.held.extract(number);
  if (held) unpin(found->second, held.mapped().chunks);
  found->second.waited_since_ns = 0;   // it goes on
}

Consumers::Figures Consumers::figures(Id consumer) const {
  const std::lock_guard lock(mutex_);
  const auto found = consumers_.find(consumer);
  return found == consumers_.end() ? Figures{} : found->second.figures;
}

bool Consumers::holds(Id consumer, pool::OutputKey output) const {
  const std::lock_guard lock(mutex_);
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return false;
  const auto& held = found->second.held;
  return std::any_of(held.begin(), held.end(), [&](const auto& each) { return each.second.output == output; });
}

// --- the drain

void Consumers::opened(const DrainedOutput& output) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, consumer] : consumers_) {
    const bool is_wanted = !consumer.terms.wants || consumer.terms.wants(output);
    if (!consumer.figures.is_gone && is_wanted) consumer.outputs.insert(output.key);
  }
}

StepPiece Consumers::piece_of(const DrainedOutput& output, const TakenRecord& taken) const {
  const pool::Record& record = *taken.record;
  StepPiece piece;
  piece.rank = pool_.job_rank(record, taken.journal->rank());
  piece.variable = record.variable;
  piece.type = static_cast<mesh::Type>(record.memory_type);
  const Elements mine = elements_of_this_node(output, record);
  const std::size_t element_bytes = mesh::size_of(piece.type);
  piece.first_byte = mine.first * element_bytes;
  piece.pool_offset = record.payload_offset + (mine.first - record.first_element) * element_bytes;
  piece.bytes = {pool_.at(piece.pool_offset), mine.count * element_bytes};
  if (!output.description.is_bytes) {
    const bool per_step = output.description.layout.variables[record.variable].per_step();
    piece.put = {per_step ? record.step : 0, 1, pool::box_of(record)};
  }
  return piece;
}

void Consumers::saw(const DrainedOutput& output, const TakenRecord& taken) {
  const pool::Record& record = *taken.record;
  const bool is_of_this_node = record.origin == pool::Origin::rank || pool_.header().ranks == 0;
  if (!is_of_this_node) return;
  const bool is_raw = output.description.is_bytes;
  const bool is_in_memory = record.state == pool::RecordState::live && record.place == pool::PayloadPlace::pool;
  const std::lock_guard lock(mutex_);
  for (auto& [id, consumer] : consumers_) {
    if (!consumer.outputs.contains(output.key)) continue;
    Collected& collected = consumer.collecting[{output.key, is_raw ? 0 : record.step}];
    if (collected.fate != Fate::is_collected || record.elements == 0) continue;
    if (!is_in_memory) {
      give_up(consumer, collected, Fate::is_not_in_memory);
      continue;
    }
    const std::span<const std::uint64_t> words(record.box(), is_raw ? 2 * std::size_t{record.dimensions} : 0);
    if (const auto list = mesh::RecordedRunList::decode(words)) collected.listed_runs += list->runs;
    if (collected.listed_runs > consumer.terms.most_listed_runs) {
      give_up(consumer, collected, Fate::is_in_too_many_pieces);
      continue;
    }
    const std::uint32_t chunk = pool_.chunk_at(record.payload_offset);
    if (!pin(consumer, chunk)) {
      give_up(consumer, collected, Fate::lacks_budget);
      continue;
    }
    collected.chunks.push_back(chunk);
    collected.pieces.emplace_back(is_raw ? record.step : 0, piece_of(output, taken));
    // Which elements of which variable a raw output's bytes are is found when all is there: until then the pattern is kept as the box.
    if (is_raw) collected.pieces.back().second.put.box.start.assign(words.begin(), words.end());
  }
}

void Consumers::complete(const DrainedOutput& output, std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  if (consumers_.empty()) return;
  std::optional<store::Meaning> meaning;
  std::shared_ptr<const mesh::Definitions> definitions;
  if (output.description.is_bytes) meaning = meaning_of(output);
  if (meaning) definitions = std::make_shared<const mesh::Definitions>(meaning->definitions);
  else if (output.description.definitions) definitions = std::make_shared<const mesh::Definitions>(*output.description.definitions);

  for (auto& [id, consumer] : consumers_) {
    if (is_dead(consumer)) let_go(consumer);
    if (!consumer.outputs.contains(output.key)) continue;
    const auto found = consumer.collecting.extract(StepKey{output.key, step});
    if (!found) continue;   // no rank of this node has put anything
    Collected& collected = found.mapped();
    if (collected.fate == Fate::lacks_budget) ++consumer.figures.skipped_for_budget;
    if (collected.fate == Fate::is_in_too_many_pieces) ++consumer.figures.skipped_in_too_many_pieces;
    if (collected.fate == Fate::is_not_in_memory) ++consumer.figures.skipped_not_in_memory;
    if (collected.fate != Fate::is_collected && !consumer.terms.tells_left_out) continue;
    CompleteStep complete{next_number_++, output.key, output.description.display_path, output.description.names.final_path,
                          definitions, step, {}};
    if (collected.fate == Fate::lacks_budget) complete.left_out = lacks_budget_words;
    if (collected.fate == Fate::is_in_too_many_pieces) {
      complete.left_out = fmt::format("it is in more than {} pieces", consumer.terms.most_listed_runs);
    }
    if (collected.fate == Fate::is_not_in_memory) complete.left_out = "a part of it was not in memory any more";
    std::stable_sort(collected.pieces.begin(), collected.pieces.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [stamp, piece] : collected.pieces) {
      if (output.description.is_bytes) add_bytes(complete.pieces, std::move(piece), meaning);
      else complete.pieces.push_back(std::move(piece));
    }
    consumer.held[complete.number] = {output.key, std::move(collected.chunks)};
    consumer.waiting.push_back(std::move(complete));
  }
  is_complete_.notify_all();
}

// Of a list of runs each is a piece for itself.
void Consumers::add_bytes(std::vector<StepPiece>& pieces, StepPiece&& piece, const std::optional<store::Meaning>& meaning) {
  const auto recorded = mesh::RecordedRunList::decode(piece.put.box.start);
  if (!recorded) {
    mean(piece, meaning);
    pieces.push_back(std::move(piece));
    return;
  }
  const std::span<const std::byte> payload(piece.bytes.data(), recorded->payload_bytes(piece.bytes.size()));
  const mesh::RunList list = recorded->in(payload, piece.bytes.size());
  list.for_each_run(list.file_extent(), [&](const mesh::Pattern::Run& run) {
    StepPiece one = piece;
    one.put.box.start = mesh::Pattern{.offset = run.file_offset, .block_bytes = run.bytes, .levels = {}}.encode();
    one.pool_offset += run.source;
    one.bytes = piece.bytes.subspan(run.source, run.bytes);
    mean(one, meaning);
    pieces.push_back(std::move(one));
  });
}

void Consumers::mean(StepPiece& piece, const std::optional<store::Meaning>& meaning) {
  const auto name = store::Meaning::Name::of(piece.variable);
  const auto pattern = mesh::Pattern::decode(piece.put.box.start);
  piece.variable = no_variable;
  piece.put = {};
  piece.place = pattern;
  if (!name || !meaning || !pattern || name->count != meaning->count || name->variable >= meaning->layout.variables.size()) return;
  const store::VariableLayout& variable = meaning->layout.variables[name->variable];
  const auto put = store::box_of(variable, *pattern);
  if (!put) return;
  piece.variable = name->variable;
  piece.put = *put;
  piece.type = variable.external;
  piece.is_big_endian = true;
}

void Consumers::ended(const DrainedOutput& output) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, consumer] : consumers_) {
    consumer.outputs.erase(output.key);
    for (auto it = consumer.collecting.lower_bound({output.key, 0}); it != consumer.collecting.end() && it->first.first == output.key;) {
      unpin(consumer, it->second.chunks);
      it = consumer.collecting.erase(it);
    }
  }
}

void Consumers::make_room() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = base::now_ns();
  for (auto& [id, consumer] : consumers_) {
    if (is_dead(consumer)) let_go(consumer);
    if (consumer.figures.pinned_bytes <= consumer.terms.budget) continue;
    const bool have_waited = base::seconds(now - std::exchange(consumer.asked_ns, now)) < asked_seconds;
    if (!have_waited || consumer.waited_since_ns == 0) consumer.waited_since_ns = now;
    else if (base::seconds(now - consumer.waited_since_ns) > consumer.terms.wait_seconds) let_go_of_waiting(consumer);
  }
  is_complete_.notify_all();
}

// --- pins

bool Consumers::is_dead(const Consumer& consumer) {
  if (consumer.process_descriptor < 0) return false;
  pollfd process{consumer.process_descriptor, POLLIN, 0};   // readable when it has ended
  return poll(&process, 1, 0) == 1;
}

bool Consumers::pin(Consumer& consumer, std::uint32_t chunk) {
  const auto found = consumer.pins.find(chunk);
  if (found != consumer.pins.end()) {
    ++found->second;
    return true;
  }
  const Bytes bytes = pool_.header().chunk_bytes;
  if (consumer.figures.pinned_bytes + bytes > consumer.terms.budget && consumer.terms.wait_seconds <= 0) return false;
  pool_.add_reference(chunk);
  consumer.pins.emplace(chunk, 1);
  consumer.figures.pinned_bytes += bytes;
  return true;
}

void Consumers::unpin(Consumer& consumer, const std::vector<std::uint32_t>& chunks) {
  bool is_free = false;
  for (const std::uint32_t chunk : chunks) {
    const auto found = consumer.pins.find(chunk);
    if (--found->second != 0) continue;
    consumer.pins.erase(found);
    consumer.figures.pinned_bytes -= pool_.header().chunk_bytes;
    pool_.drop_reference(chunk);
    is_free = true;
  }
  if (is_free) pool_.announce_space();
}

void Consumers::give_up(Consumer& consumer, Collected& collected, Fate fate) {
  unpin(consumer, std::exchange(collected.chunks, {}));
  collected.pieces.clear();
  collected.fate = fate;
}

// What it looks at just now stays. Of the others it is told that there was no room for them.
void Consumers::let_go_of_waiting(Consumer& consumer) {
  for (CompleteStep& step : consumer.waiting) {
    if (!step.left_out.empty()) continue;
    step.left_out = lacks_budget_words;
    step.pieces.clear();
    unpin(consumer, std::exchange(consumer.held[step.number].chunks, {}));
    ++consumer.figures.skipped_for_budget;
  }
  for (auto& [key, collected] : consumer.collecting) {
    if (collected.fate == Fate::is_collected) give_up(consumer, collected, Fate::lacks_budget);
  }
  if (!consumer.terms.tells_left_out) {
    for (const CompleteStep& step : consumer.waiting) consumer.held.erase(step.number);
    consumer.waiting.clear();
  }
  consumer.waited_since_ns = 0;
}

void Consumers::let_go(Consumer& consumer) {
  for (auto& [key, collected] : consumer.collecting) unpin(consumer, collected.chunks);
  for (const auto& [number, held] : consumer.held) unpin(consumer, held.chunks);
  consumer.collecting.clear();
  consumer.held.clear();
  consumer.waiting.clear();
  consumer.outputs.clear();
  if (consumer.process_descriptor >= 0) close(std::exchange(consumer.process_descriptor, -1));
  consumer.figures.is_gone = true;
}

}  // namespace glean::drain
