// SPDX-License-Identifier: BSD-3-Clause
//
// What files_writer does, from a seed: which rank writes which bytes of which file in which order, and what is in the file then.
// Without MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kill {

using Bytes = std::vector<unsigned char>;

// Where a file of that name is when it is opened.
enum class Manner {
  fresh,     // not there
  replace,   // perhaps, and cut to nothing
  remove,    // perhaps, and deleted before
  update,    // there, and bytes of it are written again
  append,    // there, and made longer
};

enum class Kind { remove_old, open, empty, write, turn, read, sync, resize, close };
enum class Call { at, at_all, nonblocking, pointer, split };

struct Step {
  Kind kind;
  Call call = Call::at;      // of a write
  unsigned shift = 0;        // whose bytes a member writes: those of so many members further on
  std::uint64_t size = 0;    // of a resize
};

// A part of what a member owns of a file, as one stream.
struct Range {
  std::uint64_t first = 0, bytes = 0;
};

// One time that a name is opened and closed.
struct Generation {
  std::string name;
  std::uint32_t index = 0;
  Manner manner = Manner::fresh;
  int first_member = 0, members = 1;   // ranks
  std::uint64_t base = 0;              // where in the file it begins
  std::uint64_t block = 1, stream = 1; // bytes of a member that follow each other; all that it has
  std::vector<Step> steps;

  [[nodiscard]] bool has(int rank) const { return rank >= first_member && rank < first_member + members; }
  [[nodiscard]] bool is_in_place() const { return manner == Manner::update || manner == Manner::append; }
  // In the file.
  [[nodiscard]] std::uint64_t place(int owner, std::uint64_t byte) const {
    return base + byte / block * block * static_cast<std::uint64_t>(members) + static_cast<std::uint64_t>(owner) * block + byte % block;
  }
  [[nodiscard]] int owner(const Step& step, int member) const { return (member + static_cast<int>(step.shift)) % members; }
};

struct Program {
  unsigned seed;
  std::vector<Generation> generations;
  std::vector<std::uint32_t> order;   // of which generation the next step is

  // What a member writes in that step.
  [[nodiscard]] Range range(const Generation& generation, std::uint32_t step, int member) const;
  [[nodiscard]] unsigned char value(const Generation& generation, std::uint32_t step, std::uint64_t byte) const;
};

// The first generation of names with this beginning finds an older file, always.
constexpr char always_old[] = "state_0";
constexpr std::uint64_t old_bytes = 2250;

// Which ranks open files: all together, or now and then only some.
enum class Openers { some, all };
Program make_program(unsigned seed, int ranks, Openers openers);

// How far a rank has come in a generation: steps that it has begun, and ended.
struct Progress {
  std::uint32_t begun = 0, ended = 0;
};

// What `file` holds after a generation of which everything was done.
void apply(const Program& program, const Generation& generation, Bytes& file);

// Whether `found` is what can be there, after some ranks (of all the job's) have come so far in a generation that began with `base`.
// `captured`: everything that they had ended must be in it; otherwise anything since the beginning. Empty: it is; else what is wrong.
std::string problem_of(const Program& program, const Generation& generation, Bytes base, const std::vector<Progress>& progress,
                       bool captured, const Bytes& found);

}  // namespace kill
