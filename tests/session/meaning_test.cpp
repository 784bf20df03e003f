// SPDX-License-Identifier: BSD-3-Clause
//
// What a program says of its output, as the drain finds it in the pool.
#include <cstring>

#include "pool/description.hpp"
#include "ranks.hpp"
#include "session/formats.hpp"
#include "session/mesh_values.hpp"
#include "session/output_impl.hpp"
#include "store/description.hpp"

namespace glean::test {
namespace {

class Meaning : public Ranks {};

// Of the only output that is open.
std::optional<store::OutputDescription> described_in(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load() != pool::OutputState::open) continue;
    return store::OutputDescription::decode(pool::read_description(pool, {index, slot.generation.load()}).bytes);
  }
  return std::nullopt;
}

TEST_F(Meaning, ReachesTheDrainWithGridsAndAttributes) {
  auto core = std::make_shared<session::Core>(MPI_COMM_WORLD, with({{"report.table", "false"}}));
  session::Opening opening{path("a.nc"), {}, {}, {}, &session::format_of(Format::cdf5)};
  if (rank_ == 0) opening.names = store::choose_names(opening.path, base::Publish::rename, false, "meaning");
  opening.name = session::OutputName(opening.path, base::Publish::rename, "meaning",
                                     rank_ == 0 ? std::optional(opening.names) : std::nullopt);
  Output::Impl output(core, opening.path, *opening.format, session::convention_of(Format::cdf5),
                      session::make_threaded_backend(core, opening), {});
  const auto ranks = static_cast<std::uint64_t>(size_);
  const UniformGrid mesh{.shape = {ranks, 4}, .origin = {-1, 2}, .spacing = {0.5, 0.25},
                         .blocks = {{{static_cast<std::uint64_t>(rank_), 0}, {1, 4}}}, .dimension_names = {}};
  const Grid grid = output.define_grid(session::mesh_of(mesh), {});
  const Variable dens = output.define_variable("dens", Type::float32, grid, {.per_step = true});
  output.define_attribute(dens, "units", Type::text, "kg", 2);
  output.end_definitions();

  if (rank_ == 0) {
    const auto description = described_in(core->pool());
    ASSERT_TRUE(description && description->definitions);
    const mesh::Definitions& definitions = *description->definitions;
    const auto& variable = definitions.variables.at(static_cast<std::size_t>(dens.id));
    EXPECT_EQ(variable.name, "dens");
    ASSERT_EQ(variable.grid, grid.id);
    ASSERT_EQ(definitions.grids.size(), 1U);
    const mesh::GridDefinition& found = definitions.grids.front();
    EXPECT_EQ(found.kind, mesh::GridKind::uniform);
    EXPECT_EQ(found.origin, (std::vector<double>{-1, 2}));
    EXPECT_EQ(found.spacing, (std::vector<double>{0.5, 0.25}));
    ASSERT_EQ(found.coordinates.size(), 2U);
    EXPECT_EQ(definitions.variables[static_cast<std::size_t>(found.coordinates[1])].name, "x");
    EXPECT_EQ(definitions.shape(dens.id), (mesh::Shape{ranks, 4}));
    ASSERT_EQ(definitions.attributes.size(), 1U);
    EXPECT_EQ(definitions.attributes[0].variable, dens.id);
    EXPECT_EQ(description->layout.format, "cdf5");
    ASSERT_EQ(description->metadata.size(), 1U);
    EXPECT_EQ(std::memcmp(description->metadata[0].bytes.data(), "CDF\5", 4), 0);
    // The drain has made the file of it.
    const std::string working = content(working_name());
    ASSERT_GE(working.size(), description->metadata[0].bytes.size());
    EXPECT_EQ(std::memcmp(working.data(), description->metadata[0].bytes.data(), description->metadata[0].bytes.size()), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  output.close();
  core->close();
  EXPECT_TRUE(exists("a.nc"));
}

}  // namespace
}  // namespace glean::test
