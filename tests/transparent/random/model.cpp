// SPDX-License-Identifier: BSD-3-Clause
#include "model.hpp"

#include <algorithm>

namespace transparent {

std::uint8_t data_byte(std::uint64_t seed, int step, int rank, std::int64_t index) {
  const auto mixed = (seed * 31 + static_cast<std::uint64_t>(step) * 7 + static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint8_t>((mixed + static_cast<std::uint64_t>(index) * 0xbf58476d1ce4e5b9U) >> 56);
}

std::uint8_t prefilled_byte(std::int64_t index) { return static_cast<std::uint8_t>(0x80 | (index % 101)); }

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
  for (int number = 0; number < static_cast<int>(scenario.files.size()); ++number) {
    const FilePlan& plan = scenario.files[static_cast<std::size_t>(number)];
    const auto count = static_cast<std::size_t>(colours(plan.members, scenario.ranks));
    for (int colour = 0; colour < static_cast<int>(count) && plan.prefilled > 0; ++colour) {
      Contents& contents = directory_.contents(directory_.find_or_make(transparent::name_of(number, colour, 0)));
      contents.cut(plan.prefilled, true);
      for (std::size_t i = 0; i < contents.bytes.size(); ++i) contents.bytes[i] = prefilled_byte(static_cast<std::int64_t>(i));
    }
    files_.push_back({.contents = std::vector<Contents>(count),
                      .nodes = std::vector<int>(count),
                      .names = std::vector<int>(count),
                      .sights = std::vector<Sight>(static_cast<std::size_t>(scenario.ranks))});
    open(number, 0);
  }
}

Contents& Model::contents(int file, int rank) {
  const Members members = scenario_.files[static_cast<std::size_t>(file)].members;
  return files_[static_cast<std::size_t>(file)].contents[static_cast<std::size_t>(colour(members, rank))];
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
  const Members members = scenario_.files[static_cast<std::size_t>(step.file)].members;
  for (int rank = 0; rank < scenario_.ranks; ++rank) {
    const View& view = step.views[static_cast<std::size_t>(place(members, rank))];
    sight(step.file, rank) = {view.displacement, step.etype_bytes, flatten(view.shape, step.etype_bytes), 0, step.views_equal};
    contents(step.file, rank).shared_pointer = 0;
  }
}

void Model::synchronize(int file) {
  for (Contents& contents : this->file(file).contents) contents.synchronized();
  this->file(file).written_since_sync = false;
}

void Model::close(int file) {
  synchronize(file);
  ModelFile& closed = this->file(file);
  for (std::size_t colour = 0; colour < closed.nodes.size(); ++colour) directory_.contents(closed.nodes[colour]) = closed.contents[colour];
}

void Model::open(int file, int name) {
  ModelFile& opened = this->file(file);
  for (std::size_t colour = 0; colour < opened.nodes.size(); ++colour) {
    if (name != same_name) opened.names[colour] = name;
    opened.nodes[colour] = directory_.find_or_make(name_of(file, static_cast<int>(colour), same_name));
    opened.contents[colour] = directory_.contents(opened.nodes[colour]);
    opened.contents[colour].shared_pointer = 0;
  }
  synchronize(file);
  for (Sight& sight : opened.sights) sight = {};
}

std::string Model::name_of(int file, int colour, int name) const {
  const int same = files_[static_cast<std::size_t>(file)].names[static_cast<std::size_t>(colour)];
  return transparent::name_of(file, colour, name == same_name ? same : name);
}

std::vector<std::uint8_t> second_data(const Scenario& scenario, const Step& step, int number, int colour) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(step.second.bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = data_byte(scenario.seed, number, colour, static_cast<std::int64_t>(i));
  return bytes;
}

bool Model::may_open_twice(const SecondHandle& second, int file) const {   // the same for all colours
  return directory_.find(name_of(file, 0, second.name)) == files_[static_cast<std::size_t>(file)].nodes.front();
}

void Model::write_twice(const Step& step, int number) {
  synchronize(step.file);
  if (!step.second.write) return;
  std::vector<Contents>& all = file(step.file).contents;
  for (int colour = 0; colour < static_cast<int>(all.size()); ++colour) {
    Contents& contents = all[static_cast<std::size_t>(colour)];
    const std::vector<std::uint8_t> bytes = second_data(scenario_, step, number, colour);
    contents.grow(step.second.offset + step.second.bytes);
    std::copy(bytes.begin(), bytes.end(), contents.bytes.begin() + step.second.offset);
    std::fill_n(contents.defined.begin() + step.second.offset, bytes.size(), std::uint8_t{1});
  }
  synchronize(step.file);
}

void Model::set_size(int file, std::int64_t bytes) {
  for (Contents& contents : this->file(file).contents) contents.cut(bytes, false);
  synchronize(file);
}

}  // namespace transparent
