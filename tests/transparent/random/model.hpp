// SPDX-License-Identifier: BSD-3-Clause
// What the MPI standard says about the bytes: plain arrays, one byte after the other.
//
// Each rank computes the whole model, of all files and ranks, and so knows without a message what every other rank does.
#pragma once

#include <cstdint>
#include <vector>

#include "directory.hpp"
#include "scenario.hpp"

namespace transparent {

// How a rank sees a file.
struct Sight {
  std::int64_t displacement = 0;
  int etype_bytes = 1;
  Flat flat{{{0, 1}}, 0, 1};
  std::int64_t pointer = 0;   // individual, in etypes
  bool equal = true;          // all ranks have the same view

  // The places in the file of `bytes` bytes of data, from `offset` etypes on.
  [[nodiscard]] std::vector<Piece> places(std::int64_t offset, std::int64_t bytes) const;
  [[nodiscard]] std::int64_t byte_offset(std::int64_t offset) const;
};

struct ModelFile {
  std::vector<Contents> contents;   // of each colour, while it is open
  std::vector<int> nodes;           // that are open, of each colour
  std::vector<int> names;           // under which they were opened
  std::vector<Sight> sights;        // of each rank
  bool written_since_sync = false;
  bool has_been_linked = false;
};

// What a rank really does in a step, after everything that would be undefined has been left out.
struct Action {
  bool takes_part = false;
  int count = 0;               // of the memory type
  std::int64_t offset = 0;     // etypes
  std::vector<Piece> places = {};   // in the file
};

class Model {
 public:
  explicit Model(const Scenario& scenario);

  // Does an access for all ranks, in the order of the ranks, and returns what each of them does. Bytes that a rank
  // writes are those of `data_byte`; a rank that would touch what another one has touched since the last
  // synchronization does not take part.
  std::vector<Action> access(const Step& step, int number);
  void set_view(const Step& step);
  void synchronize(int file);
  // The contents of a file are in the directory while it is closed. Opened under a name, it is the file that has this name then.
  void close(int file);
  void open(int file, int name);   // same_name: as it was opened last
  // Whether the name of a second handle is one of the open file, and what it writes; `step` is of that kind.
  [[nodiscard]] bool may_open_twice(const SecondHandle& second, int file) const;
  void write_twice(const Step& step, int number);
  void set_size(int file, std::int64_t bytes);

  [[nodiscard]] ModelFile& file(int number) { return files_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] Directory& directory() { return directory_; }
  [[nodiscard]] std::string name_of(int file, int colour, int name) const;   // in the directory; also of same_name
  [[nodiscard]] Contents& contents(int file, int rank);
  [[nodiscard]] Sight& sight(int file, int rank) { return files_[static_cast<std::size_t>(file)].sights[static_cast<std::size_t>(rank)]; }

 private:
  Action plan(const Step& step, int rank);
  [[nodiscard]] bool is_free(const Step& step, int rank, const std::vector<Piece>& places);
  void apply(const Step& step, int number, int rank, const std::vector<Piece>& places);

  const Scenario& scenario_;
  std::vector<ModelFile> files_;
  Directory directory_;
};

[[nodiscard]] std::vector<std::uint8_t> second_data(const Scenario& scenario, const Step& step, int number, int colour);
[[nodiscard]] std::uint8_t data_byte(std::uint64_t seed, int step, int rank, std::int64_t index);
[[nodiscard]] std::uint8_t prefilled_byte(std::int64_t index);

}  // namespace transparent
