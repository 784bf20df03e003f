// SPDX-License-Identifier: BSD-3-Clause
//
// Headers of NetCDF files that may be anything. The first byte says how long the file is of which the rest is the beginning: 2 to the power
// of it, or no longer than that.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "store/format/cdf/header.hpp"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Nothing where it is refused.
std::optional<glean::store::CdfHeader> accepted(std::span<const std::byte> begin, std::uint64_t file_bytes) {
  try {
    return glean::store::parse_cdf_header(begin, file_bytes);
  } catch (const glean::base::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto begin = std::as_bytes(std::span(data + 1, size - 1));
  const std::uint64_t longer = std::uint64_t{1} << (data[0] % 63), file_bytes = longer > begin.size() ? longer : begin.size();
  const auto header = accepted(begin, file_bytes);
  if (!header) return 0;
  expect(header->layout.header_bytes <= begin.size(), "a header is longer than what was read of it");
  expect(accepted(begin.first(header->layout.header_bytes), file_bytes) == header, "what follows a header changes it");
  expect(header->layout.variables.size() == header->definitions.variables.size(), "a variable has no layout");
  // Both refuse what overflows.
  expect(glean::store::FileLayout::decode(header->layout.encode()) == header->layout, "a layout changes when it is written again");
  expect(glean::mesh::Definitions::decode(header->definitions.encode()) == header->definitions,
         "definitions change when they are written again");
  for (std::size_t v = 0; v < header->layout.variables.size(); ++v) {
    const glean::store::VariableLayout& variable = header->layout.variables[v];
    expect(variable.per_step() == header->definitions.per_step(static_cast<int>(v)), "a variable with records has a stride of 0");
    if (header->records > 0) expect(variable.has_room_for(header->records - 1), "a record lies behind the end of any file");
  }
  return 0;
}
