// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/attribute_places.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "store/format/cdf/header.hpp"

namespace glean::store {

std::vector<VariableLayout> cdf_attribute_places(std::span<const std::byte> header, const mesh::Definitions& definitions) {
  const auto changes = [](const mesh::Attribute& attribute) { return attribute.changes; };
  if (std::none_of(definitions.attributes.begin(), definitions.attributes.end(), changes)) return {};
  const auto read = parse_cdf_header(header, std::numeric_limits<std::int64_t>::max());
  if (!read) throw base::Error(base::Errc::io, "the header of a NetCDF file does not end where it should");
  std::vector<VariableLayout> places;
  for (const mesh::Attribute& attribute : definitions.attributes) {
    if (!attribute.changes) continue;
    const auto& known = read->definitions.attributes;
    const auto found = std::find_if(known.begin(), known.end(), [&](const mesh::Attribute& each) {
      return each.variable == attribute.variable && each.name == attribute.name && each.type == attribute.type &&
             each.values.size() == attribute.values.size();
    });
    if (found == known.end()) {
      throw base::Error(base::Errc::unsupported, "attribute '" + attribute.name + "' cannot change: the header has it in another form",
                        "give it a name of letters, digits and _, and define it once");
    }
    places.push_back({.name = attribute.name,
                      .external = attribute.type,
                      .shape = {attribute.count()},
                      .begin_bytes = read->attribute_begins[static_cast<std::size_t>(found - known.begin())],
                      .stored = stored_in(read->version)});
  }
  return places;
}

}  // namespace glean::store
