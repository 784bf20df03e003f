// SPDX-License-Identifier: BSD-3-Clause
//
// The metadata of containers of task-local files that may be anything. The first byte says how long the file is of which the rest is the
// beginning: 2 to the power of it, or no longer than that.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "store/container/container_header.hpp"
#include "store/container/container_index.hpp"

namespace {

using namespace glean::store;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Nothing where it is refused.
template <class Parse>
auto accepted(const Parse& parse) -> std::optional<std::decay_t<decltype(parse())>> {
  try {
    return parse();
  } catch (const glean::base::Error&) {
    return std::nullopt;
  }
}

void look_at_index(const ContainerHeader& header, std::span<const std::byte> bytes) {
  const auto parsed = accepted([&] { return parse_container_index(header, bytes); });
  if (!parsed) return;
  expect(parsed->bytes <= bytes.size(), "an index is longer than what was read of it");
  expect(parsed->index.used.size() <= bytes.size() / 8, "an index takes more memory than what was read of it");
  const auto again = encode_container_index(parsed->index, header.order, AfterIndex::more);
  const auto reread = accepted([&] { return parse_container_index(header, again); });
  expect(reread && reread->index == parsed->index, "an index changes when it is written again");
  const Bytes table = name_table_begin(0, parsed->bytes);
  if (table >= bytes.size()) return;
  const auto names = accepted([&] { return parse_name_table(bytes.subspan(table)); });
  if (!names) return;
  expect(accepted([&] { return parse_name_table(encode_name_table(*names)); }) == names, "names change when they are written again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto begin = std::as_bytes(std::span(data + 1, size - 1));
  const std::uint64_t longer = std::uint64_t{1} << (data[0] % 63), file_bytes = longer > begin.size() ? longer : begin.size();
  const auto header = accepted([&] { return parse_container_header(begin, file_bytes); });
  if (!header || !*header) return 0;
  const ContainerHeader& found = **header;
  const Bytes bytes = container_header_bytes(found.tasks());
  expect(bytes <= begin.size(), "a header is longer than what was read of it");
  const auto again = encode_container_header(found);
  expect(accepted([&] { return parse_container_header(again, file_bytes); }) == header, "a header changes when it is written again");
  const auto chunks = found.chunks();
  for (std::size_t task = 1; task < chunks.size(); ++task) {
    expect(chunks[task].begin >= chunks[task - 1].begin + chunks[task - 1].chunk_bytes, "two tasks have the same place");
  }
  // Where META2 is, is for the tasks' bytes; here it follows the header, so that short inputs have one.
  look_at_index(found, begin.subspan(bytes));
  return 0;
}
