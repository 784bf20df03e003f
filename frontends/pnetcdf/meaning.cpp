// SPDX-License-Identifier: BSD-3-Clause
#include "meaning.hpp"

#include <utility>

#include "library.hpp"
#include "variable.hpp"

namespace glean::pnetcdf {
namespace {

struct Refused {};   // the library does not say it

void ask(int code) {
  if (code != NC_NOERR) throw Refused();
}

mesh::DimensionDefinition dimension_of(int ncid, int id, int unlimited) {
  char name[NC_MAX_NAME + 1] = {};
  MPI_Offset length = 0;
  ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_dim)(ncid, id, name, &length));
  return {name, id == unlimited ? 0 : static_cast<std::uint64_t>(length), id == unlimited};
}

// `variable`: -1 for those of the file.
void add_attributes(int ncid, int variable, int number, std::vector<mesh::Attribute>& attributes) {
  const int id = variable < 0 ? NC_GLOBAL : variable;
  for (int i = 0; i < number; ++i) {
    char name[NC_MAX_NAME + 1] = {};
    nc_type type = NC_NAT;
    MPI_Offset length = 0;
    ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_attname)(ncid, id, i, name));
    ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_att)(ncid, id, name, &type, &length));
    const auto external = type_of(type);
    if (!external) throw Refused();
    mesh::Attribute attribute{variable, name, *external, {}};
    attribute.values.resize(static_cast<std::size_t>(length) * mesh::size_of(*external));
    if (length != 0) ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_get_att)(ncid, id, name, attribute.values.data()));
    attributes.push_back(std::move(attribute));
  }
}

void add_variable(int ncid, int id, store::Meaning& meaning) {
  const auto variable = inquire_variable(ncid, id);
  int dimensions = 0, attributes = 0;
  if (!variable) throw Refused();
  ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_varndims)(ncid, id, &dimensions));
  std::vector<int> dimension_ids(static_cast<std::size_t>(dimensions));
  ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_vardimid)(ncid, id, dimension_ids.data()));
  ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_varnatts)(ncid, id, &attributes));
  meaning.definitions.variables.push_back({variable->name, variable->external, std::move(dimension_ids), false, -1});
  add_attributes(ncid, id, attributes, meaning.definitions.attributes);
  store::VariableLayout layout{.name = variable->name, .external = variable->external, .begin_bytes = variable->begin};
  layout.shape.assign(variable->shape.begin() + (variable->has_records ? 1 : 0), variable->shape.end());
  if (variable->has_records) layout.record_stride_bytes = variable->strides.front();
  meaning.layout.variables.push_back(std::move(layout));
}

}  // namespace

std::optional<store::Meaning> inquire_meaning(int ncid, std::uint32_t count) {
  store::Meaning meaning;
  meaning.count = count;
  try {
    int dimensions = 0, variables = 0, attributes = 0, unlimited = -1;
    ask(GLEAN_PNETCDF_ORIGINAL(ncmpi_inq)(ncid, &dimensions, &variables, &attributes, &unlimited));
    for (int id = 0; id < dimensions; ++id) meaning.definitions.dimensions.push_back(dimension_of(ncid, id, unlimited));
    add_attributes(ncid, -1, attributes, meaning.definitions.attributes);
    for (int id = 0; id < variables; ++id) add_variable(ncid, id, meaning);
  } catch (const Refused&) {
    return std::nullopt;
  }
  return meaning;
}

}  // namespace glean::pnetcdf
