// SPDX-License-Identifier: BSD-3-Clause
#include "virtual_ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "capture/copy.hpp"
#include "store/format/formats.hpp"
#include "store/random_variable.hpp"

namespace glean::tests {
namespace {

template <class T>
void append(std::vector<std::byte>& bytes, int value, bool big_endian) {
  const T converted = static_cast<T>(value);
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), &converted, sizeof(T));
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(raw.begin(), raw.end());
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void append_value(std::vector<std::byte>& bytes, mesh::Type type, int value, bool big_endian) {
  switch (type) {
    case mesh::Type::int8: return append<std::int8_t>(bytes, value, big_endian);
    case mesh::Type::uint8: return append<std::uint8_t>(bytes, value, big_endian);
    case mesh::Type::int16: return append<std::int16_t>(bytes, value, big_endian);
    case mesh::Type::uint16: return append<std::uint16_t>(bytes, value, big_endian);
    case mesh::Type::int32: return append<std::int32_t>(bytes, value, big_endian);
    case mesh::Type::uint32: return append<std::uint32_t>(bytes, value, big_endian);
    case mesh::Type::int64: return append<std::int64_t>(bytes, value, big_endian);
    case mesh::Type::uint64: return append<std::uint64_t>(bytes, value, big_endian);
    case mesh::Type::float32: return append<float>(bytes, value, big_endian);
    case mesh::Type::float64: return append<double>(bytes, value, big_endian);
    case mesh::Type::text: return append<char>(bytes, value, big_endian);
  }
}

constexpr bool native_is_big = std::endian::native == std::endian::big;

store::VariableLayout variable_at(std::mt19937& random, std::size_t index, Bytes begin) {
  store::VariableLayout variable;
  variable.name = "v" + std::to_string(index);
  variable.external = static_cast<mesh::Type>(random() % mesh::type_count);
  for (std::size_t d = random() % 4; d > 0; --d) variable.shape.push_back(1 + random() % 17);
  variable.begin_bytes = begin;
  variable.fill = random() % 2 == 0;
  for (auto& byte : variable.fill_value) byte = static_cast<std::byte>(random());
  return variable;
}

void add_puts(std::mt19937& random, int ranks, std::uint32_t v, std::uint64_t step, VirtualOutput& output) {
  const auto& variable = output.description.layout.variables[v];
  std::vector<mesh::Box> boxes;
  store::cut(random, mesh::whole(variable.shape), 5, boxes);
  for (mesh::Box& box : boxes) {
    if (random() % 8 == 0) continue;
    const auto memory = variable.external == mesh::Type::text
                            ? mesh::Type::text
                            : static_cast<mesh::Type>(random() % (mesh::type_count - 1));
    output.puts.push_back({step, static_cast<int>(random() % static_cast<unsigned>(ranks)), v, memory, std::move(box)});
  }
}

}  // namespace

VirtualOutput first_steps(VirtualOutput output, std::uint64_t steps) {
  output.steps = steps;
  std::erase_if(output.puts, [&](const VirtualPut& put) { return put.step >= steps; });
  return output;
}

int value_of(std::uint32_t variable, std::uint64_t step, std::uint64_t position) {
  return static_cast<int>((variable * 7 + step * 13 + position * 3) % 101);
}

VirtualOutput VirtualOutput::random(std::mt19937& random, int ranks, std::uint64_t steps, const std::string& final_path) {
  VirtualOutput output;
  output.steps = steps;
  output.description.display_path = final_path;
  output.description.names = {final_path + ".part", final_path};
  auto& layout = output.description.layout;
  layout.format = std::array{"cdf1", "cdf2", "cdf5"}[random() % 3];
  layout.header_bytes = 64 + 4 * (random() % 300);
  Bytes end = layout.header_bytes;
  const std::size_t fixed = 1 + random() % 3, records = random() % 3;
  for (std::size_t v = 0; v < fixed; ++v) {
    layout.variables.push_back(variable_at(random, v, end));
    end = base::align_up(end + layout.variables.back().record_bytes(), 4);
  }
  const Bytes records_begin = end;
  for (std::size_t v = fixed; v < fixed + records; ++v) {
    layout.variables.push_back(variable_at(random, v, end));
    end = base::align_up(end + layout.variables.back().record_bytes(), 4);
  }
  for (std::size_t v = fixed; v < fixed + records; ++v) layout.variables[v].record_stride_bytes = end - records_begin;

  for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
    if (layout.variables[v].per_step()) {
      for (std::uint64_t step = 0; step < steps; ++step) add_puts(random, ranks, v, step, output);
    } else if (steps > 0) {
      add_puts(random, ranks, v, random() % steps, output);
    }
  }
  std::shuffle(output.puts.begin(), output.puts.end(), random);
  std::stable_sort(output.puts.begin(), output.puts.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return output;
}

std::vector<std::byte> VirtualOutput::file() const {
  std::vector<std::uint64_t> all(steps);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return file_of(all);
}

std::vector<std::byte> VirtualOutput::file_of(const std::vector<std::uint64_t>& kept) const {
  const auto record_of = [&](std::uint64_t step) -> std::optional<std::uint64_t> {
    const auto found = std::find(kept.begin(), kept.end(), step);
    return found == kept.end() ? std::nullopt : std::optional(static_cast<std::uint64_t>(found - kept.begin()));
  };
  const auto& layout = description.layout;
  std::vector<std::byte> file(layout.header_bytes, std::byte{0x11});
  const auto set = [&](Bytes at, const std::byte* bytes, std::size_t size) {
    if (file.size() < at + size) file.resize(at + size);
    std::copy(bytes, bytes + size, file.begin() + static_cast<std::ptrdiff_t>(at));
  };
  std::uint64_t records = 0;
  for (const auto& put : puts) {
    const auto record = record_of(put.step);
    if (record && layout.variables[put.variable].per_step()) records = std::max(records, *record + 1);
  }
  for (const auto& variable : layout.variables) {
    if (variable.per_step() && variable.fill) records = std::max(records, std::uint64_t{kept.size()});
  }
  for (const auto& variable : layout.variables) {
    const std::size_t size = mesh::size_of(variable.external);
    for (std::uint64_t r = 0; variable.fill && r < (variable.per_step() ? records : 1); ++r) {
      for (std::uint64_t e = 0; e < mesh::elements_of(variable.shape); ++e) {
        set(variable.record_begin_bytes(r) + e * size, variable.fill_value.data(), size);
      }
    }
  }
  for (const auto& put : puts) {
    const auto& variable = layout.variables[put.variable];
    const auto record = record_of(put.step);
    if (!record) continue;
    for (const std::uint64_t position : store::positions(put.box, variable.shape)) {
      std::vector<std::byte> element;
      append_value(element, variable.external, value_of(put.variable, put.step, position), true);
      set(variable.record_begin_bytes(*record) + position * element.size(), element.data(), element.size());
    }
  }
  const auto finished = store::Formats::to_finish().find(layout.format).finish({layout, {}}, {records, file.size()});
  for (const store::Patch& patch : finished.patches) set(patch.offset, patch.bytes.data(), patch.bytes.size());
  return file;
}

void VirtualOutput::create_working_file() const {
  std::ofstream out(description.names.working_path, std::ios::binary | std::ios::trunc);
  out << std::string(description.layout.header_bytes, '\x11');
}

pool::Recorder VirtualRanks::recorder(int rank) const {
  return {pool_.pool, rank, deadline_seconds_, [] { return "a virtual rank"; }};
}

pool::OutputKey VirtualRanks::open(pool::Recorder& recorder, const VirtualOutput& output) {
  output.create_working_file();
  const pool::OutputKey key = pool_.claim_slot();
  store::OutputDescription description = output.description;
  description.ranks_write = full_ == base::WhenFull::synchronous;
  recorder.describe(key, description.encode_names(), pool::Recorder::More::follow);
  recorder.describe(key, description.encode_layout(), pool::Recorder::More::none);
  return key;
}

void VirtualRanks::put(pool::TestPool& pool, pool::Recorder& recorder, pool::OutputKey key, const VirtualOutput& output,
                       const VirtualPut& put) {
  store::SystemCalls calls;
  capture::FullPoolPolicy policy(pool.pool, recorder, put.rank, calls);
  VirtualRanks::put(policy, base::WhenFull::block, key, output, put);
}

void VirtualRanks::put(capture::FullPoolPolicy& policy, base::WhenFull full, pool::OutputKey key, const VirtualOutput& output,
                       const VirtualPut& put) {
  std::vector<std::byte> data;
  for (const std::uint64_t position : store::positions(put.box, output.description.layout.variables[put.variable].shape)) {
    append_value(data, put.memory, value_of(put.variable, put.step, position), native_is_big);
  }
  policy.put({key, full, put.step, put.variable, put.memory, &put.box}, {data.data(), mesh::size_of(put.memory), put.box.count, {}});
}

void VirtualRanks::report(pool::Recorder& recorder, pool::OutputKey key, int rank, std::uint32_t progress) {
  pool_.pool.rank_progress(key.slot, rank).store(progress, std::memory_order_release);
  recorder.ring_the_drain();
}

void VirtualRanks::run_rank(int rank, const std::vector<VirtualOutput>& outputs) {
  pool::Recorder recorder = this->recorder(rank);
  capture::FullPoolPolicy policy(pool_.pool, recorder, rank, *calls_);
  std::uint64_t most_steps = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    most_steps = std::max(most_steps, outputs[o].steps);
    if (rank == 0) {
      keys_[o] = open(recorder, outputs[o]);
      opened_.store(o + 1, std::memory_order_release);
    }
  }
  for (std::uint64_t step = 0; step < most_steps; ++step) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      while (opened_.load(std::memory_order_acquire) <= o) std::this_thread::yield();
      if (step >= outputs[o].steps) continue;
      for (const auto& put : outputs[o].puts) {
        if (put.step != step || put.rank != rank) continue;
        try {
          VirtualRanks::put(policy, full_, keys_[o], outputs[o], put);
        } catch (const base::Error& error) {
          pool::fail(pool_.pool.slot(keys_[o].slot), static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
        }
      }
      report(recorder, keys_[o], rank, static_cast<std::uint32_t>(step + 1));
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    while (opened_.load(std::memory_order_acquire) <= o) std::this_thread::yield();
    report(recorder, keys_[o], rank, static_cast<std::uint32_t>(outputs[o].steps) | pool::rank_closed);
    policy.leave(keys_[o]);
  }
  const std::lock_guard lock(figures_mutex_);
  figures_.waited.pool += policy.figures().waited.pool;
  figures_.spilled_pieces += policy.figures().spilled_pieces;
  figures_.synchronous_puts += policy.figures().synchronous_puts;
}

std::vector<std::string> VirtualRanks::run(const std::vector<VirtualOutput>& outputs) {
  const int ranks = static_cast<int>(pool_.pool.header().ranks);
  keys_.assign(outputs.size(), {});
  opened_ = 0;
  errors_.assign(static_cast<std::size_t>(ranks), {});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        run_rank(rank, outputs);
      } catch (const base::Error& error) {
        errors_[static_cast<std::size_t>(rank)] = error.what();
        if (rank == 0) opened_ = outputs.size();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::erase(errors_, "");
  return errors_;
}

bool wait_until_finished(pool::Pool& pool, const std::vector<pool::OutputKey>& keys, double seconds) {
  const std::uint64_t deadline = base::now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  for (const pool::OutputKey& key : keys) {
    while (pool.slot(key.slot).state.load(std::memory_order_acquire) == pool::OutputState::open) {
      if (base::now_ns() > deadline) return false;
      usleep(200);
    }
  }
  return true;
}

std::optional<std::vector<std::byte>> bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(bytes, bytes + text.size());
}

namespace {

TEST(VirtualOutput, IsTheFileOfItsPuts) {
  VirtualOutput output;
  output.steps = 1;
  output.description.layout.header_bytes = 12;
  output.description.layout.variables.push_back({"v", mesh::Type::int16, {3}, 12, 0, true, {std::byte{9}, std::byte{8}}});
  output.puts.push_back({0, 0, 0, mesh::Type::float64, {{1}, {1}}});

  const auto file = output.file();

  std::vector<std::byte> expected;
  for (const int byte : {0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 9, 8, 0, value_of(0, 0, 1), 9, 8}) {
    expected.push_back(static_cast<std::byte>(byte));
  }
  EXPECT_EQ(file, expected);
}

}  // namespace
}  // namespace glean::tests
