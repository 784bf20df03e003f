// SPDX-License-Identifier: BSD-3-Clause
#include "scene.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "drain/engine.hpp"
#include "pool/futex.hpp"
#include "pool/test_pool.hpp"
#include "storage.hpp"

namespace glean::fuzz {
namespace {

using mesh::Box;

constexpr int rank_count = 2;
constexpr std::uint32_t fixed = 0, filled_record = 1, record = 2, filled = 3, scalar_record = 4;

plan::NodePlan tiny_plan() {
  plan::NodePlan plan = pool::small_plan();
  plan.pool_bytes = 256 * base::KiB;
  plan.journal_bytes_per_rank = 4 * base::KiB;
  return plan;
}

store::OutputDescription description_of(const std::string& name) {
  store::OutputDescription description{name, {"/fuzz/." + name + ".part", "/fuzz/" + name}, base::DirectIo::automatic, {}};
  std::array<std::byte, 8> fill{};
  fill[0] = std::byte{0x40};
  auto& layout = description.layout;
  layout.header_bytes = 512;
  layout.variables.push_back({"fixed", mesh::Type::float64, {8, 6}, 512, 0, false, {}});
  layout.variables.push_back({"filled_record", mesh::Type::int32, {4, 5}, 1024, 160, true, fill});
  layout.variables.push_back({"record", mesh::Type::float32, {10}, 1104, 160, false, {}});
  layout.variables.push_back({"filled", mesh::Type::int16, {7}, 896, 0, true, fill});
  layout.variables.push_back({"scalar_record", mesh::Type::float64, {}, 1144, 160, false, {}});
  return description;
}

class Maker {
 public:
  Maker() : made_(rank_count, tiny_plan()) {
    for (int rank = 0; rank < rank_count; ++rank) {
      recorders_.push_back(std::make_unique<pool::Recorder>(made_.pool, rank, 1.0, [] { return std::string(); }));
    }
  }

  Scene::Output& open(const std::string& name, bool whole, bool checksums) {
    Scene::Output output{description_of(name), made_.claim_slot()};
    output.description.checksums = checksums;
    recorders_[0]->describe(output.key, output.description.encode_names(), pool::Recorder::More::follow);
    if (whole) {
      recorders_[0]->describe(output.key, output.description.encode_layout(), pool::Recorder::More::none);
      output.layout_offset = made_.pool.slot(output.key.slot).description;
    }
    return outputs_.emplace_back(std::move(output));
  }

  void put(const Scene::Output& output, int rank, std::uint64_t step, std::uint32_t variable, const Box& box) {
    const std::uint64_t elements = box.elements();
    for (std::uint64_t first = 0; first < elements;) {   // in parts, as if the chunk were nearly full
      const std::uint64_t part = std::min<std::uint64_t>(elements - first, 20);
      const auto room = recorders_[static_cast<std::size_t>(rank)]->reserve(part * 4, part * 4);
      const std::int32_t value = 1 + rank;
      for (std::uint64_t i = 0; i < part; ++i) std::memcpy(room.data + 4 * i, &value, 4);
      recorders_[static_cast<std::size_t>(rank)]->commit_put(
          room, part * 4, {output.key, step, variable, mesh::Type::int32, &box, first, part});
      first += part;
    }
  }

  // Both ranks put a half of all but a part of what is filled.
  void put_step(const Scene::Output& output, int rank, std::uint64_t step) {
    const auto half = static_cast<std::uint64_t>(rank);
    if (step == 0) put(output, rank, step, fixed, {{0, 3 * half}, {8, 3}});
    put(output, rank, step, filled_record, {{2 * half, 1}, {2, 3}});
    put(output, rank, step, record, {{5 * half}, {5}});
    if (rank == 0) put(output, rank, step, scalar_record, {});
    if (step == 1 && rank == 0) put(output, rank, step, filled, {{2}, {3}});
    progress(output, rank, static_cast<std::uint32_t>(step) + 1);
  }

  void progress(const Scene::Output& output, int rank, std::uint32_t progress) {
    made_.pool.rank_progress(output.key.slot, rank).store(progress);
  }

  void drain_what_there_is() {
    std::vector<store::OutputDescription> descriptions;
    for (const auto& output : outputs_) descriptions.push_back(output.description);
    MemoryStorage storage(descriptions);
    drain::Engine engine(made_.pool, made_.pool.plan(), storage);
    const auto& slot = made_.pool.slot(outputs_[0].key.slot);
    for (int i = 0; i < 1000 && slot.steps.written == 0; ++i) {
      static_cast<void>(engine.wait_until_idle(0.01));
      pool::futex_signal(made_.pool.header().work);
    }
    engine.stop(drain::Engine::Unfinished::leave);
    if (slot.steps.written == 0) throw std::logic_error("nothing was drained: " + pool::message_of(slot));
  }

  Scene take() {
    recorders_.clear();   // as if they were killed: at worst a chunk is lost
    Scene scene;
    const pool::Pool& pool = made_.pool;
    const pool::PoolHeader& header = pool.header();
    const auto offset_of = [&](const void* place) { return static_cast<Bytes>(static_cast<const std::byte*>(place) - pool.at(0)); };
    scene.image.assign(pool.at(0), pool.at(0) + header.pool_bytes);
    scene.outputs = std::move(outputs_);
    for (const auto& output : scene.outputs) {
      scene.file_bytes = std::max<Bytes>(scene.file_bytes, pool.slot(output.key.slot).steps.highest_end);
    }
    // The unfinished step may be in the file as well.
    if (scene.file_bytes != 0) scene.file_bytes += scene.outputs[0].description.layout.variables[record].record_stride_bytes;
    scene.ring_bytes = pool.ring_bytes();
    scene.chunk_bytes = header.chunk_bytes;
    for (int rank = 0; rank < rank_count; ++rank) {
      scene.journals.push_back(offset_of(&pool.journal(rank)));
      scene.rings.push_back(offset_of(pool.ring(rank)));
      auto& records = scene.records.emplace_back();
      pool::JournalReader reader(made_.pool, rank, pool::JournalReader::Purpose::look);
      for (; const pool::Record* each = reader.peek(); reader.advance()) records.push_back(offset_of(each));
    }
    return scene;
  }

 private:
  pool::TestPool made_;
  std::vector<std::unique_ptr<pool::Recorder>> recorders_;
  std::vector<Scene::Output> outputs_;
};

Scene make(Scene::Kind kind) {
  Maker maker;
  if (kind == Scene::Kind::two_outputs) maker.open("opening.nc", false, false);
  const Scene::Output output = maker.open("output.nc", true, kind >= Scene::Kind::half_drained);
  const bool closed = kind == Scene::Kind::closed || kind == Scene::Kind::two_outputs;
  for (int rank = 0; rank < rank_count; ++rank) {
    const std::uint64_t steps = closed || rank == 1 ? 2 : 3;
    for (std::uint64_t step = 0; step < steps; ++step) maker.put_step(output, rank, step);
    if (closed) maker.progress(output, rank, 2 | pool::rank_closed);
  }
  if (!closed) maker.put(output, 1, 2, record, {{5}, {2}});
  if (kind == Scene::Kind::half_drained) maker.drain_what_there_is();
  return maker.take();
}

}  // namespace

const Scene& Scene::of(Kind kind) {
  static const std::array<Scene, kinds> scenes = {make(Kind::closed), make(Kind::unfinished), make(Kind::half_drained),
                                                  make(Kind::two_outputs)};
  return scenes[static_cast<std::size_t>(kind)];
}

std::vector<store::OutputDescription> Scene::descriptions() const {
  std::vector<store::OutputDescription> descriptions;
  for (const Output& output : outputs) descriptions.push_back(output.description);
  return descriptions;
}

}  // namespace glean::fuzz
