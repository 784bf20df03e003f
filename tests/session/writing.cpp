// SPDX-License-Identifier: BSD-3-Clause
//
// The same program through GLEAN and through PnetCDF. The latter uses nothing of this project.
#include <pnetcdf.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "program.hpp"

namespace glean::test {

namespace {

std::string dimension_name(std::size_t id) { return "d" + std::to_string(id); }

// `box` inside a larger array: every dimension has `ghosts` more elements on both sides, and with `reversed` the
// slowest dimension lies fastest in memory.
struct Strided {
  std::vector<std::byte> memory;
  std::vector<std::ptrdiff_t> strides;
  std::ptrdiff_t first = 0;
};

Strided strided(const std::vector<std::byte>& packed, const Box& box, std::size_t size, std::uint64_t ghosts,
                bool reversed) {
  Strided result;
  const std::size_t dimensions = box.count.size();
  result.strides.resize(dimensions);
  std::ptrdiff_t extent = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = reversed ? i : dimensions - 1 - i;
    result.strides[d] = extent;
    result.first += static_cast<std::ptrdiff_t>(ghosts) * extent;
    extent *= static_cast<std::ptrdiff_t>(box.count[d] + 2 * ghosts);
  }
  result.memory.assign(static_cast<std::size_t>(extent) * size, std::byte{0x55});
  for (std::size_t element = 0; element < packed.size() / size; ++element) {
    std::ptrdiff_t at = result.first;
    std::uint64_t rest = element;
    for (std::size_t d = dimensions; d-- > 0;) {
      at += static_cast<std::ptrdiff_t>(rest % box.count[d]) * result.strides[d];
      rest /= box.count[d];
    }
    std::memcpy(result.memory.data() + static_cast<std::size_t>(at) * size, packed.data() + element * size, size);
  }
  return result;
}

void put_part(Output& out, Variable handle, const Program& program, const ProgramVariable& variable,
              std::uint64_t step, const Box& box, Way way) {
  if (way == Way::halves && !box.count.empty() && box.count[0] > 1) {
    Box low = box, high = box;
    low.count[0] /= 2;
    high.start[0] += low.count[0];
    high.count[0] -= low.count[0];
    put_part(out, handle, program, variable, step, high, Way::boxes);
    return put_part(out, handle, program, variable, step, low, Way::boxes);
  }
  const auto values = values_of(program, variable, step, box);
  if (way == Way::with_ghost_cells || way == Way::transposed) {
    const std::size_t size = size_of(variable.memory);
    Strided source = strided(values, box, size, way == Way::with_ghost_cells ? 2 : 0, way == Way::transposed);
    out.put_box(handle, box.start, box.count, variable.memory, source.memory.data() + static_cast<std::size_t>(source.first) * size,
                source.strides);
    std::fill(source.memory.begin(), source.memory.end(), std::byte{0xee});   // captured is captured
    return;
  }
  out.put_box(handle, box.start, box.count, variable.memory, values.data(), {});
}

void check(int status, const char* call) {
  if (status != NC_NOERR) throw std::runtime_error(std::string(call) + ": " + ncmpi_strerror(status));
}

constexpr nc_type external_types[] = {NC_BYTE, NC_UBYTE, NC_SHORT, NC_USHORT, NC_INT, NC_UINT,
                                      NC_INT64, NC_UINT64, NC_FLOAT, NC_DOUBLE, NC_CHAR};
MPI_Datatype memory_type(Type type) {
  const MPI_Datatype types[] = {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED,
                                MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_CHAR};
  return types[static_cast<int>(type)];
}

void put_attribute(int file, int owner, const Attribute& attribute) {
  const auto count = static_cast<MPI_Offset>(attribute.count);
  check(attribute.type == Type::text
            ? ncmpi_put_att_text(file, owner, attribute.name.c_str(), count,
                                 reinterpret_cast<const char*>(attribute.values.data()))
            : ncmpi_put_att(file, owner, attribute.name.c_str(), external_types[static_cast<int>(attribute.type)],
                            count, attribute.values.data()),
        "put_att");
}

int create(MPI_Comm comm, const std::string& path, const Program& program) {
  const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  int file = -1, id = -1;
  check(ncmpi_create(comm, path.c_str(), NC_CLOBBER | formats[static_cast<int>(program.format)], MPI_INFO_NULL, &file),
        "create");
  for (std::size_t d = 0; d < program.dimensions.size(); ++d) {
    const auto length = static_cast<MPI_Offset>(program.dimensions[d]);
    check(ncmpi_def_dim(file, dimension_name(d).c_str(), length == 0 ? NC_UNLIMITED : length, &id), "def_dim");
  }
  for (const auto& variable : program.variables) {
    check(ncmpi_def_var(file, variable.name.c_str(), external_types[static_cast<int>(variable.external)],
                        static_cast<int>(variable.dimensions.size()), variable.dimensions.data(), &id), "def_var");
    if (variable.fill) check(ncmpi_def_var_fill(file, id, 0, nullptr), "def_var_fill");
    for (const auto& attribute : variable.attributes) put_attribute(file, id, attribute);
  }
  for (const auto& attribute : program.attributes) put_attribute(file, NC_GLOBAL, attribute);
  check(ncmpi_enddef(file), "enddef");
  return file;
}

// Every other attribute is set when all has been put.
class LateAttributes {
 public:
  explicit LateAttributes(std::uint64_t choice) : number_(choice) {}

  void define(Output& out, Variable owner, const Attribute& attribute) {
    const bool is_late = ++number_ % 2 == 0 && attribute.count != 0 && attribute.name != "_FillValue";
    const std::vector<std::byte> none(attribute.values.size(), std::byte{'?'});
    out.attribute(owner, attribute.name, attribute.type, is_late ? none.data() : attribute.values.data(), attribute.count);
    if (!is_late) return;
    if (owner.id < 0) out.allow_attribute_change(attribute.name);
    else out.allow_attribute_change(owner, attribute.name);
    late_.emplace_back(owner, &attribute);
  }
  void set(Output& out, std::uint64_t steps) const {
    if (steps == 0) out.end_definitions();
    for (const auto& [owner, a] : late_) out.late_attribute(owner, a->name, a->type, a->values.data(), a->count);
  }

 private:
  std::uint64_t number_;
  std::vector<std::pair<Variable, const Attribute*>> late_;
};

}  // namespace

void write_with_glean(Session& session, const std::string& path, const Program& program, std::uint64_t choice) {
  int rank = 0;
  MPI_Comm_rank(session.application_comm(), &rank);
  Output out = session.open(path, program.format);
  std::vector<Dimension> dimensions;
  for (std::size_t d = 0; d < program.dimensions.size(); ++d) {
    dimensions.push_back(program.dimensions[d] == 0 ? out.define_unlimited(dimension_name(d))
                                                    : out.define_dimension(dimension_name(d), program.dimensions[d]));
  }
  std::vector<Variable> handles;
  LateAttributes late(choice);
  for (const auto& variable : program.variables) {
    std::vector<Dimension> of_variable;
    for (const int id : variable.dimensions) of_variable.push_back(dimensions[static_cast<std::size_t>(id)]);
    std::vector<Box> blocks;
    for (const Part& part : variable.of_rank(rank)) blocks.push_back(part.box);
    handles.push_back(out.define_variable(variable.name, variable.external, of_variable, blocks,
                                          {.fill = variable.fill ? Fill::on : Fill::off}));
    for (const auto& a : variable.attributes) late.define(out, handles.back(), a);
  }
  for (const auto& a : program.attributes) late.define(out, Variable{}, a);

  for (std::uint64_t step = 0; step < program.steps; ++step) {
    out.begin_step();
    for (std::size_t v = 0; v < handles.size(); ++v) {
      const auto& variable = program.variables[v];
      if (!variable.put_in_step[step]) continue;
      const auto way = static_cast<Way>((choice + v + step + static_cast<std::uint64_t>(rank)) % ways);
      std::vector<std::byte> at_once;
      std::size_t elements = 0;
      for (const Part& part : variable.of_rank(rank)) {
        const auto values = values_of(program, variable, step, part.box);
        at_once.insert(at_once.end(), values.begin(), values.end());
        elements += values.size() / size_of(variable.memory);
        if (way != Way::blocks_at_once) put_part(out, handles[v], program, variable, step, part.box, way);
      }
      if (way == Way::blocks_at_once) out.put_all(handles[v], variable.memory, at_once.data(), elements);
    }
    out.end_step();
  }
  late.set(out, program.steps);
  out.close();
}

void write_with_pnetcdf(MPI_Comm comm, const std::string& path, const Program& program) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int file = create(comm, path, program);
  for (std::uint64_t step = 0; step < program.steps; ++step) {
    for (int v = 0; v < static_cast<int>(program.variables.size()); ++v) {
      const auto& variable = program.variables[static_cast<std::size_t>(v)];
      if (variable.per_step && variable.fill) {
        check(ncmpi_fill_var_rec(file, v, static_cast<MPI_Offset>(step)), "fill_var_rec");
      }
    }
    check(ncmpi_begin_indep_data(file), "begin_indep_data");
    for (int v = 0; v < static_cast<int>(program.variables.size()); ++v) {
      const auto& variable = program.variables[static_cast<std::size_t>(v)];
      if (!variable.put_in_step[step]) continue;
      for (const Part& part : variable.of_rank(rank)) {
        std::vector<MPI_Offset> start(part.box.start.begin(), part.box.start.end());
        std::vector<MPI_Offset> count(part.box.count.begin(), part.box.count.end());
        if (variable.per_step) {
          start.insert(start.begin(), static_cast<MPI_Offset>(step));
          count.insert(count.begin(), 1);
        }
        const auto values = values_of(program, variable, step, part.box);
        check(ncmpi_put_vara(file, v, start.data(), count.data(), values.data(),
                             static_cast<MPI_Offset>(values.size() / size_of(variable.memory)),
                             memory_type(variable.memory)), "put_vara");
      }
    }
    check(ncmpi_end_indep_data(file), "end_indep_data");
  }
  check(ncmpi_close(file), "close");
}

}  // namespace glean::test
