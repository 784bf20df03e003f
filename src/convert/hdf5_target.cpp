// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstring>

#include "convert/target.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/hdf5/image.hpp"

namespace glean::convert {
namespace {

// Of a field that changes its type: the fill value has to be of that too.
void narrow_fill_value(mesh::Attribute& attribute) {
  if (attribute.name != "_FillValue" || attribute.type != mesh::Type::float64) return;
  std::vector<std::byte> values(attribute.count() * sizeof(float));
  for (std::size_t i = 0; i < attribute.count(); ++i) {
    double value = 0;
    std::memcpy(&value, attribute.values.data() + i * sizeof value, sizeof value);
    const auto single = static_cast<float>(value);
    std::memcpy(values.data() + i * sizeof single, &single, sizeof single);
  }
  attribute.type = mesh::Type::float32;
  attribute.values = std::move(values);
}

}  // namespace

Target make_hdf5_target(const Source& source, const Semantics& semantics, const Selection& selection) {
  const mesh::Definitions& all = source.definitions();
  mesh::Definitions definitions;
  definitions.dimensions = all.dimensions;
  std::vector<int> sources;                             // by variable of the target
  std::vector<int> targets(all.variables.size(), -1);   // and back
  for (int v = 0; v < static_cast<int>(all.variables.size()); ++v) {
    const auto is_in = [v](const std::vector<int>& list) { return std::find(list.begin(), list.end(), v) != list.end(); };
    const bool is_field = is_in(selection.fields);
    if (!is_field && !is_in(semantics.mesh)) continue;
    targets[static_cast<std::size_t>(v)] = static_cast<int>(sources.size());
    sources.push_back(v);
    definitions.variables.push_back(all.variables[static_cast<std::size_t>(v)]);
    if (is_field) definitions.variables.back().external = selection.type(source, v);
  }
  for (mesh::Attribute attribute : all.attributes) {
    if (attribute.variable >= 0) {
      const int target = targets[static_cast<std::size_t>(attribute.variable)];
      if (target < 0) continue;
      const bool is_narrowed = definitions.variables[static_cast<std::size_t>(target)].external !=
                               source.variable(attribute.variable).external;
      attribute.variable = target;
      if (is_narrowed) narrow_fill_value(attribute);
    }
    definitions.attributes.push_back(std::move(attribute));
  }

  Target target;
  target.kind = "HDF5";
  target.image = store::make_hdf5_image(definitions, base::RangeRule::error);
  for (std::size_t v = 0; v < sources.size(); ++v) {
    const store::VariableLayout& layout = target.image.layout.variables[v];
    for (std::uint64_t record = 0; record < (layout.per_step() ? source.records() : 1); ++record) {
      target.copies.push_back({sources[v], record, 0, mesh::elements_of(layout.shape), layout.record_begin_bytes(record), layout.external});
    }
  }
  std::sort(target.copies.begin(), target.copies.end(), [](const ElementCopy& a, const ElementCopy& b) { return a.offset < b.offset; });
  const store::Written written{source.records(), store::whole_size(target.image.layout, source.records()), false};
  store::Finished finished = store::make_hdf5_format()->finish(target.image, written);
  target.patches = std::move(finished.patches);
  target.bytes = finished.size;
  return target;
}

}  // namespace glean::convert
