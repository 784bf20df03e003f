// SPDX-License-Identifier: BSD-3-Clause
//
// What the variables of a raw output are, as the front end that has captured its bytes knows it: the program has put elements of variables
// through a library that has made bytes of a file of them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mesh/definitions.hpp"
#include "mesh/pattern.hpp"
#include "store/layout.hpp"

namespace glean::store {

struct Meaning {
  std::uint32_t count = 0;   // of the times that the program has ended definitions, from 1 on
  mesh::Definitions definitions;
  FileLayout layout;         // where the library has placed the variables: `begin_bytes`, `record_stride_bytes`, `shape` and `external`

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static Meaning decode(std::span<const std::byte> bytes);

  // As it stands in pool::Record::variable: which variable, and by which definitions. 0: not known.
  struct Name {
    static constexpr std::uint32_t variables = 1u << 20, counts = 1u << 12;
    std::uint32_t count = 0, variable = 0;
    [[nodiscard]] std::uint32_t word() const {
      return count == 0 || count >= counts || variable >= variables - 1 ? 0 : count << 20 | (variable + 1);
    }
    [[nodiscard]] static std::optional<Name> of(std::uint32_t word) {
      if (word == 0 || word % variables == 0) return std::nullopt;
      return Name{word >> 20, word % variables - 1};
    }
  };
};

// Elements of a variable: a box of each of `records` records, from `first_record` on; of a fixed variable of the only one.
struct PutBox {
  std::uint64_t first_record = 0, records = 1;
  mesh::Box box;
  friend bool operator==(const PutBox&, const PutBox&) = default;
};
// Which elements bytes of the file are. Nothing where they are no such box in row-major order, as those of a put with strides.
[[nodiscard]] std::optional<PutBox> box_of(const VariableLayout& variable, const mesh::Pattern& bytes);

}  // namespace glean::store
