// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/contents.hpp"

#include <utility>

namespace glean::store {

FileContents contents_of(const CdfHeader& header) {
  FileContents contents;
  contents.records = header.records;
  contents.attributes = header.definitions.attributes;
  for (std::size_t v = 0; v < header.layout.variables.size(); ++v) {
    const VariableLayout& layout = header.layout.variables[v];
    FileContents::Variable variable{layout.name, layout.external, layout.per_step(), layout.shape, header.records, layout.begin_bytes,
                                    layout.record_stride_bytes, layout.stored, {}};
    for (const int dimension : header.definitions.variables[v].dimensions) {
      variable.dimensions.push_back(header.definitions.dimensions[static_cast<std::size_t>(dimension)].name);
    }
    contents.variables.push_back(std::move(variable));
  }
  return contents;
}

}  // namespace glean::store
