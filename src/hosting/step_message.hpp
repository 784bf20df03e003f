// SPDX-License-Identifier: BSD-3-Clause
//
// What a drain and the process that runs a user's analysis tell each other: a step, of which only places in the pool are said, and what
// was found out of it. As JSON, behind its length: Python reads it without a module of ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "mesh/definitions.hpp"
#include "mesh/type.hpp"

namespace glean::hosting {

// Elements of a box of a variable, one after the other in the pool.
struct SeenPiece {
  mesh::Box box;
  int rank = 0;                  // that has put it
  base::Bytes pool_offset = 0;
  mesh::Type type = mesh::Type::float64;
  bool is_big_endian = false;
};

struct SeenVariable {
  std::string name;
  mesh::Type type = mesh::Type::float64;   // in the file
  bool per_step = false;
  mesh::Shape shape;             // of a step
  std::vector<mesh::Attribute> attributes;
  std::vector<SeenPiece> pieces{};   // later ones lie over earlier ones
};

struct SeenStep {
  std::string output, file;      // as the program has named it; the path of the file that it becomes
  std::uint64_t step = 0;
  std::vector<mesh::Attribute> attributes{};   // of the output
  std::vector<SeenVariable> variables{};

  [[nodiscard]] std::string encode() const;
  // Throws io when it is not what encode() made.
  [[nodiscard]] static SeenStep decode(const std::string& message);
};

// What the process is told first.
struct Welcome {
  std::string file;              // the program
  std::string pool;              // the path of the shared memory
  std::uint64_t node = 0, nodes = 1;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Welcome decode(const std::string& message);
};

// What it answers: to the welcome with nothing but, perhaps, an error.
struct Answer {
  struct Value {
    std::string name;
    double value = 0;
    std::string join{};          // "sum", "min" or "max"; empty: it is its node's
  };
  std::vector<Value> values{};
  std::vector<std::string> messages{};   // to the program
  std::string error{};           // what the program could not do; empty: it has done it

  [[nodiscard]] std::string encode() const;
  // Throws io, naming what is wrong: what a user's program sends is not trusted.
  [[nodiscard]] static Answer decode(const std::string& message);
};

// `count` elements from `first` on, in row-major order of `box`, as whole boxes in that order: a few for each dimension.
[[nodiscard]] std::vector<mesh::Box> boxes_of_run(const mesh::Box& box, std::uint64_t first, std::uint64_t count);

}  // namespace glean::hosting
