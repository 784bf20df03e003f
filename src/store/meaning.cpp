// SPDX-License-Identifier: BSD-3-Clause
#include "store/meaning.hpp"

#include "base/encoding.hpp"

namespace glean::store {
namespace {

// The index of the element at `position` of an array.
mesh::Shape index_at(const mesh::Shape& shape, std::uint64_t position) {
  mesh::Shape index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return index;
}

}  // namespace

std::vector<std::byte> Meaning::encode() const {
  base::Encoder out;
  out.number(count);
  out.bytes(definitions.encode());
  out.bytes(layout.encode());
  return out.take();
}

Meaning Meaning::decode(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "the meaning of an output in the pool");
  Meaning meaning;
  meaning.count = static_cast<std::uint32_t>(in.number());
  meaning.definitions = mesh::Definitions::decode(in.bytes());
  meaning.layout = FileLayout::decode(in.bytes());
  in.expect_end();
  if (meaning.layout.variables.size() != meaning.definitions.variables.size()) in.reject("variables have no place in the file");
  return meaning;
}

std::optional<PutBox> box_of(const VariableLayout& variable, const mesh::Pattern& bytes) {
  const Bytes element = mesh::size_of(variable.external);
  if (bytes.bytes() == 0 || bytes.offset < variable.begin_bytes || variable.record_bytes() == 0) return std::nullopt;
  const Bytes first = bytes.offset - variable.begin_bytes, last = bytes.end() - 1 - variable.begin_bytes;
  const Bytes stride = variable.per_step() ? variable.record_stride_bytes : last + 1;   // a fixed variable has one record
  if (first % stride >= variable.record_bytes() || last % stride >= variable.record_bytes()) return std::nullopt;

  PutBox put{first / stride, last / stride - first / stride + 1, {}};
  put.box.start = index_at(variable.shape, first % stride / element);
  const mesh::Shape end = index_at(variable.shape, last % stride / element);
  for (std::size_t d = 0; d < end.size(); ++d) {
    if (end[d] < put.box.start[d]) return std::nullopt;
    put.box.count.push_back(end[d] - put.box.start[d] + 1);
  }
  mesh::Pattern same = mesh::Pattern::from_box(variable.shape, put.box, element, variable.record_begin_bytes(put.first_record));
  same.levels.insert(same.levels.begin(), {put.records, stride});
  return same.canonical() == bytes.canonical() ? std::optional(put) : std::nullopt;
}

}  // namespace glean::store
