// SPDX-License-Identifier: BSD-3-Clause
#include "damage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "pool/journal.hpp"

namespace glean::fuzz {
namespace {

// Takes numbers from a program; behind its end all are 0.
class Program {
 public:
  explicit Program(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  [[nodiscard]] bool ended() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::uint32_t pair() {
    const std::uint32_t low = byte();
    return low | static_cast<std::uint32_t>(byte()) << 8;
  }
  // A small number, a power of two or what is next to one, or any.
  std::uint64_t number() {
    const std::uint8_t tag = byte();
    if (tag < 64) return tag;
    if (tag < 128) return std::uint64_t{1} << (tag - 64);
    if (tag < 192) return (std::uint64_t{1} << (tag - 128)) - 1;
    if (tag < 224) return ~std::uint64_t{0} - (tag - 192);
    std::uint64_t value = 0;
    for (int i = 0; i <= tag % 8; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

class Damage {
 public:
  Damage(const Scene& scene, Program& program) : scene_(scene), program_(program), image_(scene.image), records_(scene.records) {
    for (const auto& output : scene.outputs) layouts_.push_back(output.description.layout);
  }

  std::vector<std::byte> done() {
    for (std::size_t o = 0; o < layouts_.size(); ++o) {
      if (layouts_[o] != scene_.outputs[o].description.layout) put_layout(o);
    }
    return std::move(image_);
  }

  void edit() {
    switch (program_.byte() % 14) {
      case 0: return poke(program_.pair() % sizeof(pool::PoolHeader), sizeof(std::uint64_t));
      case 1: return poke(place_in_slot(program_.pair() % sizeof(pool::OutputSlot)), sizeof(std::uint64_t));
      case 2: return poke(place_in_slot(program_.byte() % 30 * 4), sizeof(std::uint32_t));   // its first words
      case 3: return edit_progress();
      case 4: return edit_journal();
      case 5: return edit_record(Repair::yes);
      case 6: return edit_record(Repair::no);
      case 7: return edit_box();
      case 8: return add_record();
      case 9: return edit_layout();
      case 10: return edit_description();
      case 11: return poke(scene_.outputs.back().layout_offset + program_.pair() % 1024, 1);
      case 12: return poke(scene_.rings[rank()] + program_.pair() % scene_.ring_bytes, 1);
      case 13: return poke(program_.number() % image_.size(), 1 + program_.byte() % 8);
    }
  }

 private:
  enum class Repair { no, yes };

  template <class T>
  T& at(Bytes offset) { return *reinterpret_cast<T*>(image_.data() + offset); }

  void poke(Bytes offset, std::size_t size) {
    const std::uint64_t value = program_.number();
    if (offset < image_.size()) std::memcpy(image_.data() + offset, &value, std::min<std::size_t>(size, image_.size() - offset));
  }
  std::size_t rank() { return program_.byte() % scene_.rings.size(); }
  [[nodiscard]] static Bytes slots() { return base::align_up(sizeof(pool::PoolHeader), 64); }
  // Mostly of the slots that are in use.
  Bytes place_in_slot(Bytes offset) { return slots() + program_.byte() % 4 * sizeof(pool::OutputSlot) + offset; }

  void edit_progress() {
    const Bytes progress = slots() + pool::output_slots * sizeof(pool::OutputSlot);
    const Bytes slot = program_.byte() % 4;
    poke(progress + (slot * scene_.journals.size() + rank()) * sizeof(pool::RankProgress), sizeof(pool::RankProgress));
  }

  void edit_journal() {
    auto& journal = at<pool::Journal>(scene_.journals[rank()]);
    const std::uint8_t what = program_.byte();
    const std::uint64_t value = program_.number();
    if (what % 4 == 0) journal.head = value;
    else if (what % 4 == 1) journal.tail = value;
    else if (what % 4 == 2) journal.head += value;
    else journal.tail += value;
  }

  // Nothing when there is none.
  pool::Record* choose_record(std::size_t of_rank) {
    const auto& records = records_[of_rank];
    return records.empty() ? nullptr : &at<pool::Record>(records[program_.byte() % records.size()]);
  }
  [[nodiscard]] static Bytes size_of(const pool::Record& record) {
    return base::align_up(sizeof record + Bytes{16} * record.dimensions, pool::record_alignment);
  }
  void repair(pool::Record& record, std::size_t of_rank) {
    const auto position = static_cast<Bytes>(reinterpret_cast<std::byte*>(&record) - image_.data()) - scene_.rings[of_rank];
    if (position + size_of(record) <= scene_.ring_bytes) record.checksum = pool::checksum_of(record);
  }

  void edit_record(Repair wanted) {
    const std::size_t of_rank = rank();
    pool::Record* record = choose_record(of_rank);
    if (record == nullptr) return;
    edit_field(*record);
    if (wanted == Repair::yes) repair(*record, of_rank);
  }
  void edit_field(pool::Record& record) {
    const std::uint8_t field = program_.byte();
    const std::uint64_t value = program_.number();
    switch (field % 15) {
      case 0: record.size_bytes = static_cast<std::uint32_t>(value); return;
      case 1: record.kind = static_cast<pool::RecordKind>(value); return;
      case 2: record.dimensions = static_cast<std::uint16_t>(value); return;
      case 3: record.state = static_cast<pool::RecordState>(value); return;
      case 4: record.slot = static_cast<std::uint32_t>(value); return;
      case 5: record.generation = static_cast<std::uint32_t>(value); return;
      case 6: record.step = value; return;
      case 7: record.captured_ns = value; return;
      case 8: record.variable = static_cast<std::uint32_t>(value); return;
      case 9: record.memory_type = static_cast<std::uint8_t>(value); return;
      case 10: record.place = static_cast<pool::PayloadPlace>(value); return;
      case 11: record.payload_offset = value; return;
      case 12: record.payload_bytes = value; return;
      case 13: record.first_element = value; return;
      case 14: record.elements = value; return;
    }
  }

  void edit_box() {
    const std::size_t of_rank = rank();
    pool::Record* record = choose_record(of_rank);
    const std::uint8_t which = program_.byte();
    const std::uint64_t value = program_.number();
    if (record == nullptr || record->dimensions == 0 || record->dimensions > 2) return;
    record->box()[which % (2 * record->dimensions)] = value;
    repair(*record, of_rank);
  }

  // Another like one that is there, with a field changed.
  void add_record() {
    const std::size_t of_rank = rank();
    const pool::Record* like = choose_record(of_rank);
    if (like == nullptr) return;
    auto& journal = at<pool::Journal>(scene_.journals[of_rank]);
    const Bytes position = journal.head % scene_.ring_bytes;
    const Bytes size = size_of(*like);
    if (position % pool::record_alignment != 0 || size > 256 || position + size > scene_.ring_bytes) return;
    auto& record = at<pool::Record>(scene_.rings[of_rank] + position);
    std::memmove(static_cast<void*>(&record), like, size);
    records_[of_rank].push_back(scene_.rings[of_rank] + position);
    edit_field(record);
    repair(record, of_rank);
    journal.head += record.size_bytes;
  }

  void edit_layout() {
    auto& layout = layouts_[program_.byte() % layouts_.size()];
    auto& variable = layout.variables[program_.byte() % layout.variables.size()];
    const std::uint8_t field = program_.byte();
    const std::uint64_t value = program_.number();
    switch (field % 9) {
      case 0: layout.format = std::array{"cdf1", "cdf2", "cdf5", "npy", "none", "hdf5", "vtk"}[value % 7]; return;
      case 1: layout.header_bytes = value; return;
      case 2: layout.range = static_cast<base::RangeRule>(value % 2); return;
      case 3: variable.external = static_cast<mesh::Type>(value % mesh::type_count); return;
      case 4: if (!variable.shape.empty()) variable.shape[field / 9 % variable.shape.size()] = value; return;
      case 5: variable.shape.resize(value % 5, 3); return;
      case 6: variable.begin_bytes = value; return;
      case 7: variable.record_stride_bytes = value; return;
      case 8: variable.fill = value % 2 == 1; return;
    }
  }
  void put_layout(std::size_t output) {
    const Bytes offset = scene_.outputs[output].layout_offset;
    if (offset == 0) return;
    store::OutputDescription description;
    description.layout = layouts_[output];
    const std::vector<std::byte> bytes = description.encode_layout();
    auto part = at<pool::DescriptionPart>(offset);
    const Bytes chunk_end = base::align_down(offset, scene_.chunk_bytes) + scene_.chunk_bytes;   // chunks begin at pages
    if (offset + sizeof part + bytes.size() > chunk_end) return;
    part.bytes = bytes.size();
    part.total = part.begin + part.bytes;
    at<pool::DescriptionPart>(offset) = part;
    std::memcpy(image_.data() + offset + sizeof part, bytes.data(), bytes.size());
  }

  void edit_description() {
    const auto& output = scene_.outputs[program_.byte() % scene_.outputs.size()];
    if (output.layout_offset == 0) return;
    const Bytes previous = at<pool::DescriptionPart>(output.layout_offset).previous_offset;
    const bool first = program_.byte() % 2 == 0 && previous < image_.size() - sizeof(pool::DescriptionPart);
    poke((first ? previous : output.layout_offset) + program_.byte() % (sizeof(pool::DescriptionPart) / 4) * 4, 8);
  }

  const Scene& scene_;
  Program& program_;
  std::vector<std::byte> image_;
  std::vector<std::vector<Bytes>> records_;
  std::vector<store::FileLayout> layouts_;
};

}  // namespace

Damaged damaged(std::span<const std::uint8_t> bytes) {
  constexpr std::array<int, 4> errors = {ENOSPC, EIO, EDQUOT, EINTR};
  Program program(bytes);
  const std::uint8_t first = program.byte();
  Damaged result;
  result.scene = &Scene::of(static_cast<Scene::Kind>(first % Scene::kinds));
  if (first >= 128) {   // a storage that only answers EINTR would let the library hang, which is not its fault
    const std::uint8_t which = program.byte();
    const int error = errors[which % errors.size()];
    result.fault = {error, which / 8, error != EINTR && which / 4 % 2 == 1};
  }
  result.is_sound = result.fault.error == 0 && program.ended();
  Damage damage(*result.scene, program);
  for (int edits = 0; edits < 24 && !program.ended(); ++edits) damage.edit();
  result.image = damage.done();
  return result;
}

}  // namespace glean::fuzz
