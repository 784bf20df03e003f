// SPDX-License-Identifier: BSD-3-Clause
#include "drain/part_boxes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mesh/box.hpp"
#include "store/parts/part_index.hpp"

namespace glean::drain {
namespace {

// The elements of the boxes, ascending, disjoint.
std::vector<Extent> elements_in(const std::vector<mesh::Box>& boxes, const mesh::Shape& shape) {
  std::vector<Extent> rows_of_all;
  for (const mesh::Box& box : boxes) {
    const mesh::Rows rows(box, shape);
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      rows_of_all.push_back({rows.position(row), rows.position(row) + rows.row_elements()});
    }
  }
  std::sort(rows_of_all.begin(), rows_of_all.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::vector<Extent> joined;
  for (const Extent& each : rows_of_all) {
    if (joined.empty() || each.begin > joined.back().end) joined.push_back(each);
    else joined.back().end = std::max(joined.back().end, each.end);
  }
  return joined;
}

store::PartIndex index_of(store::SystemCalls& calls, const store::FileNames& names) {
  try {
    return store::read_index(calls, names.working_path);
  } catch (const base::Error& error) {
    if (error.code() != base::Errc::not_found) throw;
  }
  return store::read_index(calls, names.final_path);   // it was just being published
}

}  // namespace

PartBoxes::PartBoxes(store::SystemCalls& calls, const store::FileNames& names) {
  const store::PartIndex index = index_of(calls, names);
  for (std::size_t v = 0; v < index.boxes.size(); ++v) elements_.push_back(elements_in(index.boxes[v], index.layout.variables[v].shape));
}

std::vector<Extent> PartBoxes::within(std::uint32_t variable, const store::VariableLayout& layout, std::uint64_t record,
                                      const std::vector<Extent>& holes) const {
  if (variable >= elements_.size()) return {};
  const base::Bytes size = mesh::size_of(layout.external), begin = layout.record_begin_bytes(record);
  std::vector<Extent> within;
  auto hole = holes.begin();
  for (const Extent& elements : elements_[variable]) {
    const Extent bytes{begin + elements.begin * size, begin + elements.end * size};
    while (hole != holes.end() && hole->end <= bytes.begin) ++hole;
    for (auto at = hole; at != holes.end() && at->begin < bytes.end; ++at) {
      within.push_back({std::max(at->begin, bytes.begin), std::min(at->end, bytes.end)});
    }
  }
  return within;
}

}  // namespace glean::drain
