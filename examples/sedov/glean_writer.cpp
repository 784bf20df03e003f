// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the same files through GLEAN: no buffer and no packing, because a put takes the strides of the mesh;
// a file is on its way to the disk while the next steps are computed.
#include <cstddef>
#include <cstdint>
#include <glean/glean.hpp>
#include <span>

#include "writer.hpp"

namespace sedov {

namespace {

class GleanWriter final : public Writer {
 public:
  GleanWriter(MPI_Comm comm, Trace& trace) : trace_(trace), session_(start(comm, trace)) {}

  void write(const Mesh& mesh, const FileContents& contents) override;
  void finish() override;

 private:
  static glean::Session start(MPI_Comm comm, Trace& trace) {
    const Timed timed(trace, Activity::start);
    return glean::Session(comm);
  }

  Trace& trace_;
  glean::Session session_;
};

glean::AmrGrid grid_of(const Mesh& mesh) {
  glean::AmrGrid grid = {.blocks_total = static_cast<std::uint64_t>(mesh.blocks_total()),
                         .first_block = static_cast<std::uint64_t>(mesh.first_block()),
                         .blocks = {},
                         .cells_per_block = {block_cells, block_cells, block_cells}};
  for (int block = mesh.first_block(); block < mesh.first_block() + mesh.block_count(); ++block) {
    glean::AmrBlock& made = grid.blocks.emplace_back();
    made.level = mesh.tree().level(block);
    made.parent = mesh.tree().parent(block);
    for (const double lower : mesh.lower(block)) {
      made.lower.push_back(lower);
      made.upper.push_back(lower + mesh.block_width(made.level));
    }
  }
  return grid;
}

void GleanWriter::write(const Mesh& mesh, const FileContents& contents) {
  const Timed timed(trace_, Activity::output, contents.path);
  const glean::Format format = contents.format == FileFormat::cdf5   ? glean::Format::cdf5
                               : contents.format == FileFormat::cdf2 ? glean::Format::cdf2
                                                                     : glean::Format::cdf1;
  glean::Output output = session_.open(contents.path, format);
  for (const auto& [name, value] : contents.attributes) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      output.define_attribute(name, *text);
    } else if (const auto* integer = std::get_if<int>(&value)) {
      output.define_attribute(name, std::span(integer, 1));
    } else {
      output.define_attribute(name, std::span(&std::get<double>(value), 1));
    }
  }
  const glean::Grid grid = output.define_grid(grid_of(mesh));
  const glean::Type external =
      contents.precision == Precision::twice ? glean::Type::float64 : glean::Type::float32;
  std::vector<glean::Variable> variables;
  for (const Variable variable : contents.variables) {
    variables.push_back(output.define_variable(variable_names[variable], external, grid));
  }

  output.begin_step();
  const glean::Box mine = {.start = {static_cast<std::uint64_t>(mesh.first_block()), 0, 0, 0},
                           .count = {static_cast<std::uint64_t>(mesh.block_count()), block_cells, block_cells,
                                     block_cells}};
  const std::ptrdiff_t strides[] = {block_stride, cell_stride[2], cell_stride[1], cell_stride[0]};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    output.put(variables[i], mine, mesh.interior(0, contents.variables[i]), strides);
  }
  output.end_step();
  output.close();
}

void GleanWriter::finish() {
  const Timed timed(trace_, Activity::finish);
  session_.close();
}

}  // namespace

std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, Trace& trace) {
  return std::make_unique<GleanWriter>(comm, trace);
}

}  // namespace sedov
