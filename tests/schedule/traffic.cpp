// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include "pool/futex.hpp"

namespace glean::schedule {
namespace {

constexpr double for_ever = 1e6;   // seconds: no schedule takes as long
constexpr pool::OutputKey output{1, 2};

std::byte pattern(int rank, std::uint64_t step, base::Bytes at) {
  return static_cast<std::byte>(static_cast<std::uint64_t>(rank) * 101 + step * 31 + at);
}

// Records of 128 and 192 bytes: the third does not fit at the end of a ring of 448, nor at its begin before the second
// is retired.
std::size_t dimensions_of(std::uint64_t step) { return step % 3 == 0 ? 0 : 4; }

std::string name_of_put(int rank, std::uint64_t step) {
  return "put " + std::to_string(step) + " of rank " + std::to_string(rank);
}

}  // namespace

Traffic::Traffic(SmallPool& small, const TrafficPlan& plan)
    : small_(small), plan_(plan),
      puts_(static_cast<std::size_t>(plan.ranks), std::vector<Put>(static_cast<std::size_t>(plan.puts))),
      ended_(static_cast<std::size_t>(plan.ranks)) {
  small_.reset();
}

std::vector<Process> Traffic::processes() {
  std::vector<Process> result;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    result.push_back({"rank " + std::to_string(rank), [this, rank] { put_all(rank); },
                      plan_.dying == Dying::ranks ? Fate::may_die : Fate::survives});
  }
  result.push_back({"drain", [this] { drain(); }, plan_.dying == Dying::drain ? Fate::may_die : Fate::survives});
  if (plan_.dying == Dying::drain) result.push_back({"second drain", [this] { take_over(); }});
  return result;
}

void Traffic::put_all(int rank) {
  {
    pool::Recorder recorder(small_.pool(), rank, for_ever, [] { return std::string("no rank is missing"); });
    for (std::uint64_t step = 0; step < static_cast<std::uint64_t>(plan_.puts); ++step) {
      const auto room = recorder.reserve(plan_.payload_bytes, plan_.payload_bytes);
      for (base::Bytes i = 0; i < plan_.payload_bytes; ++i) room.data[i] = pattern(rank, step, i);
      const mesh::Box box{mesh::Shape(dimensions_of(step), step), mesh::Shape(dimensions_of(step), 4)};
      recorder.commit_put(room, plan_.payload_bytes, {output, step, static_cast<std::uint32_t>(rank), mesh::Type::int8,
                                                     &box, 0, plan_.payload_bytes});
      put(rank, step).published = true;
    }
    ended_[static_cast<std::size_t>(rank)] = true;
    recorder.ring_the_drain();
  }
}

bool Traffic::all_ended() const {
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (!ended_[static_cast<std::size_t>(rank)] && !is_dead(rank)) return false;
  }
  return true;
}

void Traffic::check_record(const pool::Record& record, int rank) const {
  const std::string name = name_of_put(rank, record.step);
  require(record.variable == static_cast<std::uint32_t>(rank) && record.slot == output.slot &&
              record.generation == output.generation && record.dimensions == dimensions_of(record.step),
          name + ": something else is in its place");
  for (std::size_t d = 0; d < record.dimensions; ++d) {
    require(record.box()[d] == record.step && record.box()[record.dimensions + d] == 4, name + ": its box is spoiled");
  }
  require(record.payload_bytes == plan_.payload_bytes, name + ": its length is spoiled");
  if (record.state != pool::RecordState::live) return;
  for (base::Bytes i = 0; i < record.payload_bytes; ++i) {
    require(small_.pool().at(record.payload_offset)[i] == pattern(rank, record.step, i), name + ": its data are spoiled");
  }
}

// All that is there. A record may be missing only when a drain that has died had begun to retire it.
bool Traffic::read(Drain& drain) {
  bool any = false;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    auto& journal = drain.journals[static_cast<std::size_t>(rank)];
    auto& next = drain.next[static_cast<std::size_t>(rank)];
    while (const pool::Record* record = journal.peek()) {
      require(record->step < static_cast<std::uint64_t>(plan_.puts), "a record that was never written");
      const int step = static_cast<int>(record->step);
      require(step >= next, name_of_put(rank, record->step) + " is found twice or too late");
      for (; next < step; ++next) {
        require(put(rank, static_cast<std::uint64_t>(next)).being_retired, name_of_put(rank, next) + " is not found");
      }
      ++next;
      require(!put(rank, record->step).retired, name_of_put(rank, record->step) + " is found although it was retired");
      put(rank, record->step).found = true;
      require(record->state == pool::RecordState::written || !put(rank, record->step).given_back,
              name_of_put(rank, record->step) + " seems to have its payload");
      check_record(*record, rank);
      journal.advance();
      drain.held.push_back({rank, record});
      any = true;
    }
  }
  return any;
}

void Traffic::retire_one(Drain& drain) {
  const bool newest = plan_.retires == Retires::newest_of_two_first && drain.held.size() > 1;
  const Held held = newest ? drain.held[1] : drain.held.front();
  drain.held.erase(drain.held.begin() + (newest ? 1 : 0));
  check_record(*held.record, held.rank);   // still
  Put& put = this->put(held.rank, held.record->step);
  auto& journal = drain.journals[static_cast<std::size_t>(held.rank)];
  if (plan_.retires == Retires::payload_first) {
    journal.give_payload_back(*held.record);
    put.given_back = true;
    small_.pool().announce_space();
  }
  put.being_retired = true;
  journal.retire(*held.record);
  put.retired = true;
  small_.pool().announce_space();
}

void Traffic::drain() {
  pool::PoolHeader& header = small_.pool().header();
  Drain drain;
  drain.next.assign(static_cast<std::size_t>(plan_.ranks), 0);
  for (int rank = 0; rank < plan_.ranks; ++rank) drain.journals.emplace_back(small_.pool(), rank);
  for (;;) {
    const std::uint32_t seen = header.work.load(std::memory_order_acquire);
    const bool ended = all_ended();
    const bool found = read(drain);
    const std::size_t keep = ended || plan_.retires == Retires::at_once || plan_.retires == Retires::payload_first ||
                                     header.waiting_for_space.load(std::memory_order_seq_cst) != 0
                                 ? 0
                                 : plan_.retires == Retires::newest_of_two_first ? 1 : drain.held.size();
    if (drain.held.size() > keep) {
      while (drain.held.size() > keep) retire_one(drain);
    } else if (ended) {
      return;
    } else if (!found) {
      pool::futex_wait(header.work, seen, 50'000'000);
    }
  }
}

void Traffic::take_over() {
  wait_for_end(plan_.ranks);
  if (is_dead(plan_.ranks)) drain();
}

void Traffic::check_end() {
  const auto free = small_.free_chunks();
  bool died = false;
  for (int process = 0; process < plan_.ranks + (plan_.dying == Dying::drain ? 1 : 0); ++process) died |= is_dead(process);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const auto& journal = small_.pool().journal(rank);
    require(journal.head == journal.tail, "the journal of rank " + std::to_string(rank) + " is not empty");
    bool in_flight = is_dead(rank);   // what it was publishing may be there or not
    for (std::uint64_t step = 0; step < static_cast<std::uint64_t>(plan_.puts); ++step) {
      const Put& put = this->put(rank, step);
      if (!put.published && std::exchange(in_flight, false)) continue;
      require(put.found == put.published, name_of_put(rank, step) + (put.found ? " was never published" : " was not found"));
      require(put.being_retired == put.published, name_of_put(rank, step) + " was not retired");
    }
  }
  const std::size_t lost = small_.chunk_count() - small_.first_chunk() - free.size();
  require(lost <= (died ? 1 : 0), std::to_string(lost) + " chunks are lost");
  if (!died) {
    require(small_.used_chunks() == 0, "miscounted chunks");
    require(small_.pool().header().waiting_for_space == 0, "miscounted ranks that wait");
  }
}

}  // namespace glean::schedule
