// SPDX-License-Identifier: BSD-3-Clause
//
// A NetCDF file to convert: read without MPI and without a library, and trusted in nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/cdf/header.hpp"
#include "store/posix/input_file.hpp"

namespace glean::convert {

using base::Bytes;

// All of it throws io and what the system says, naming the file, and blocks.
class Source {
 public:
  // Reads the header. Throws io when the file is shorter than that says, unless its checksums say that it is so.
  // `is_complete`: the process that has written it says so, and its length is right.
  Source(store::SystemCalls& calls, const std::string& path, bool is_complete = false);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const mesh::Definitions& definitions() const { return header_.definitions; }
  [[nodiscard]] std::uint64_t records() const { return header_.records; }
  [[nodiscard]] const store::VariableLayout& layout(int variable) const;
  [[nodiscard]] const mesh::VariableDefinition& variable(int variable) const;
  [[nodiscard]] std::optional<int> find(std::string_view name) const;
  // Of a variable, or -1: of the file. None: nullptr.
  [[nodiscard]] const mesh::Attribute* attribute(int variable, std::string_view name) const;

  // Where elements of a record lie.
  [[nodiscard]] base::Extent extent(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] bool is_hole(base::Extent extent) const { return file_.is_hole(extent); }
  [[nodiscard]] bool has_holes() const { return file_.stored_bytes() < file_.bytes(); }
  // As they are in the file: big-endian. What lies behind its end is zero.
  void read(base::Extent extent, std::span<std::byte> into) const { file_.read_with_zeros(into, extent.begin); }
  // The same of what is read once, past the page cache: returns where in `blocks` it is (store::InputFile::read_once).
  [[nodiscard]] std::span<const std::byte> read_once(base::Extent extent, std::span<std::byte> blocks) {
    return file_.read_once(extent, blocks);
  }

  // Elements of a numeric variable, converted; a value that is no such integer becomes the lowest there is.
  [[nodiscard]] std::vector<double> reals(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] std::vector<std::int32_t> integers(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const;

 private:
  [[nodiscard]] std::vector<std::byte> native(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const;

  std::string path_;
  store::InputFile file_;
  store::CdfHeader header_;
};

// A number or text of an attribute; nothing where it has not exactly one, or is of the other kind.
[[nodiscard]] std::optional<double> number_of(const mesh::Attribute& attribute);
[[nodiscard]] std::optional<std::int32_t> integer_of(const mesh::Attribute& attribute);   // a whole number that fits
[[nodiscard]] std::optional<std::string> text_of(const mesh::Attribute& attribute);

// "; " between them, and how many more there are than are shown.
[[nodiscard]] std::string listed(const std::vector<std::string>& sentences);

}  // namespace glean::convert
