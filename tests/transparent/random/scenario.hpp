// SPDX-License-Identifier: BSD-3-Clause
// A program that uses MPI-IO, as a value: files, and steps that all ranks go through in the same order.
//
// Any subset of the steps is a scenario again, whose result the MPI standard defines: the model leaves out what would
// make it undefined (model.hpp). That is what lets a failure be shrunk by leaving out steps.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "names.hpp"
#include "shape.hpp"

namespace transparent {

enum class Members { world, self, halves };

struct FilePlan {
  Members members = Members::world;
  int prefilled = 0;   // bytes that are there before it is opened
};

enum class StepKind { view, access, seek, synchronize, reopen, set_size, atomicity, query, names, second_handle };
enum class Pointer { offset, individual, shared };
enum class Timing { blocking, nonblocking, split };

struct View {
  std::int64_t displacement = 0;
  Shape shape = {};
};

// What one rank moves. Offset and counts are in etypes of the view that holds when the step is done.
struct Part {
  int offset = 0;
  int count = 0;   // of the memory type; 0: nothing, and in an independent call no call at all
  Shape memory = {};
};

struct Step {
  StepKind kind = StepKind::access;
  int file = 0;
  // view
  int etype_bytes = 1;
  bool views_equal = false;
  std::vector<View> views;   // of the ranks of the file
  // access
  bool write = true, collective = false;
  Pointer pointer = Pointer::offset;
  Timing timing = Timing::blocking;
  std::vector<Part> parts;   // of the ranks in the world
  // seek, set_size, atomicity
  int value = 0;
  NamesPlan names = {};         // names
  SecondHandle second = {};     // second_handle
};

struct Scenario {
  std::uint64_t seed = 0;
  int ranks = 1;
  std::vector<FilePlan> files = {};   // a file is opened under its first name (names.hpp) to begin with
  std::vector<Step> steps = {};
};

// Makes a scenario smaller or plainer. A failure that stays is easier to read.
struct Simplify {
  std::set<int> keep;          // numbers of steps; empty: all
  bool plain_memory = false;   // memory that has no holes
  bool plain_views = false;
  bool blocking = false;
  bool explicit_offsets = false;
  int count_max = 1 << 20;
  std::set<int> ranks;         // that take part in accesses; empty: all
};

[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, int ranks, Types types, Names names);
[[nodiscard]] Scenario simplified(Scenario scenario, const Simplify& how);   // dropped steps become steps without effect
[[nodiscard]] std::string call_of(const Step& step);                        // such as MPI_File_write_at_all
[[nodiscard]] std::string text_of(const Scenario& scenario, const Simplify& how);

// Number of colours of the communicators, and a rank's place in its own.
[[nodiscard]] int colours(Members members, int ranks);
[[nodiscard]] int colour(Members members, int rank);
[[nodiscard]] int place(Members members, int rank);
[[nodiscard]] int size(Members members, int rank, int ranks);

}  // namespace transparent
