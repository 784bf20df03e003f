// SPDX-License-Identifier: BSD-3-Clause
#include "model.hpp"

#include <algorithm>

namespace transparent {

std::uint8_t data_byte(std::uint64_t seed, int step, int rank, std::int64_t index) {
  const auto mixed = (seed * 31 + static_cast<std::uint64_t>(step) * 7 + static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint8_t>((mixed + static_cast<std::uint64_t>(index) * 0xbf58476d1ce4e5b9U) >> 56);
}

std::uint8_t prefilled_byte(std::int64_t index) { return static_cast<std::uint8_t>(0x80 | (index % 101)); }

void Contents::grow(std::int64_t bytes_min) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes_min, static_cast<std::int64_t>(bytes.size())));
  bytes.resize(size, 0);
  defined.resize(size, 0);
  writer.resize(size, -1);
  readers.resize(size, 0);
}

void Contents::synchronized() {
  std::fill(writer.begin(), writer.end(), std::int8_t{-1});
  std::fill(readers.begin(), readers.end(), 0U);
  visible_bytes = static_cast<std::int64_t>(bytes.size());
}

std::int64_t Sight::byte_offset(std::int64_t offset) const {
  const std::int64_t data = offset * etype_bytes, size = flat.size();
  std::int64_t rest = data % size;
  for (const Piece& piece : flat.pieces) {
    if (rest < piece.length) return displacement + data / size * flat.extent() + piece.offset + rest;
    rest -= piece.length;
  }
  return -1;
}

std::vector<Piece> Sight::places(std::int64_t offset, std::int64_t bytes) const {
  std::vector<Piece> places;
  const std::int64_t size = flat.size();
  std::int64_t tile = offset * etype_bytes / size, skip = offset * etype_bytes % size;
  for (; bytes > 0; ++tile) {
    for (const Piece& piece : flat.pieces) {
      if (skip >= piece.length) {
        skip -= piece.length;
        continue;
      }
      const std::int64_t length = std::min(piece.length - skip, bytes);
      if (length > 0) places.push_back({displacement + tile * flat.extent() + piece.offset + skip, length});
      bytes -= length;
      skip = 0;
    }
  }
  return places;
}

Model::Model(const Scenario& scenario) : scenario_(scenario) {
  for (const FilePlan& plan : scenario.files) {
    ModelFile file;
    file.contents.resize(static_cast<std::size_t>(colours(plan.who, scenario.ranks)));
    for (Contents& contents : file.contents) {
      contents.grow(plan.prefilled);
      for (std::size_t i = 0; i < contents.bytes.size(); ++i) contents.bytes[i] = prefilled_byte(static_cast<std::int64_t>(i));
      std::fill(contents.defined.begin(), contents.defined.end(), std::uint8_t{1});
      contents.synchronized();
    }
    file.sights.resize(static_cast<std::size_t>(scenario.ranks));
    files_.push_back(std::move(file));
  }
}

Contents& Model::contents(int file, int rank) {
  const Who who = scenario_.files[static_cast<std::size_t>(file)].who;
  return files_[static_cast<std::size_t>(file)].contents[static_cast<std::size_t>(colour(who, rank))];
}

Action Model::plan(const Step& step, int rank) {
  const Part& part = step.parts[static_cast<std::size_t>(rank)];
  const Sight& sight = this->sight(step.file, rank);
  Action action{.count = part.count};
  action.offset = step.pointer == Pointer::offset       ? part.offset
                  : step.pointer == Pointer::individual ? sight.pointer
                                                        : contents(step.file, rank).shared_pointer;
  action.places = sight.places(action.offset, flatten(part.memory, sight.etype_bytes).size() * part.count);
  return action;
}

bool Model::is_free(const Step& step, int rank, const std::vector<Piece>& places) {
  Contents& contents = this->contents(step.file, rank);
  for (const Piece& piece : places) {
    const std::int64_t end = piece.offset + piece.length;
    if (end > 1 << 22) return false;   // large enough
    if (!step.write && end > static_cast<std::int64_t>(contents.bytes.size())) return false;
    const std::int64_t known = std::min(end, static_cast<std::int64_t>(contents.bytes.size()));
    for (std::int64_t place = piece.offset; place < known; ++place) {
      const auto i = static_cast<std::size_t>(place);
      if (contents.writer[i] >= 0 && contents.writer[i] != rank) return false;
      if (step.write && (contents.readers[i] & ~(1U << rank)) != 0) return false;
      if (!step.write && place >= contents.visible_bytes && contents.writer[i] != rank) return false;
    }
  }
  return true;
}

void Model::apply(const Step& step, int number, int rank, const std::vector<Piece>& places) {
  Contents& contents = this->contents(step.file, rank);
  std::int64_t index = 0;
  for (const Piece& piece : places) {
    if (step.write) contents.grow(piece.offset + piece.length);
    for (std::int64_t place = piece.offset; place < piece.offset + piece.length; ++place, ++index) {
      const auto i = static_cast<std::size_t>(place);
      if (step.write) {
        contents.bytes[i] = data_byte(scenario_.seed, number, rank, index);
        contents.defined[i] = 1;
        contents.writer[i] = static_cast<std::int8_t>(rank);
      } else {
        contents.readers[i] |= 1U << rank;
      }
    }
  }
  if (step.write && !places.empty()) file(step.file).written_since_sync = true;
}

std::vector<Action> Model::access(const Step& step, int number) {
  std::vector<Action> actions;
  for (int rank = 0; rank < scenario_.ranks; ++rank) {
    Sight& sight = this->sight(step.file, rank);
    // Shared pointers need the same view everywhere.
    const bool possible = step.pointer != Pointer::shared || sight.equal;
    Action action = possible ? plan(step, rank) : Action{};
    if (!possible || !is_free(step, rank, action.places)) {
      action.count = 0;
      action.places.clear();
    }
    action.takes_part = possible && (step.collective || action.count > 0);
    std::int64_t bytes = 0;
    for (const Piece& piece : action.places) bytes += piece.length;
    apply(step, number, rank, action.places);
    if (step.pointer == Pointer::individual) sight.pointer += bytes / sight.etype_bytes;
    if (step.pointer == Pointer::shared) contents(step.file, rank).shared_pointer += bytes / sight.etype_bytes;
    actions.push_back(std::move(action));
  }
  return actions;
}

void Model::set_view(const Step& step) {
  const Who who = scenario_.files[static_cast<std::size_t>(step.file)].who;
  for (int rank = 0; rank < scenario_.ranks; ++rank) {
    const View& view = step.views[static_cast<std::size_t>(place(who, rank))];
    sight(step.file, rank) = {view.displacement, step.etype_bytes, flatten(view.shape, step.etype_bytes), 0, step.views_equal};
    contents(step.file, rank).shared_pointer = 0;
  }
}

void Model::synchronize(int file) {
  for (Contents& contents : this->file(file).contents) contents.synchronized();
  this->file(file).written_since_sync = false;
}

void Model::reopen(int file) {
  synchronize(file);
  for (Sight& sight : this->file(file).sights) sight = {};
  for (Contents& contents : this->file(file).contents) contents.shared_pointer = 0;
}

void Model::set_size(int file, std::int64_t bytes) {
  for (Contents& contents : this->file(file).contents) {
    const auto size = static_cast<std::size_t>(bytes);
    contents.bytes.resize(size, 0);
    contents.defined.resize(size, 0);
    contents.writer.resize(size, -1);
    contents.readers.resize(size, 0);
  }
  synchronize(file);
}

}  // namespace transparent
