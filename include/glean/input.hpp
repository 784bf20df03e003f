// SPDX-License-Identifier: BSD-3-Clause
//
// Files that a session reads: Session::open_input and Session::restart open them. Included by glean/glean.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glean/mesh.hpp"

#pragma GCC visibility push(default)

namespace glean {
inline namespace v0 {

// A variable of an output, or of an input: a handle that belongs to the one that made it.
struct Variable { int id = -1; };

// What must be so before a file of this session can be read.
enum class Reading {
  published,  // the output is closed by all ranks, complete, durable and under its final name
  written,    // the steps that this rank has ended are in the file, open or not: reads through the drain
};

struct InputOptions {
  Reading reading = Reading::published;
  double seconds = -1;   // to wait at most; < 0: the configured deadline, anew whenever the drain makes progress
};

struct VariableDescription {
  std::string name;
  Type external = Type::float64;
  bool per_step = false;               // a record variable
  std::vector<std::uint64_t> shape;    // of one step, slowest dimension first
  std::vector<std::string> dimensions; // their names; of a record variable that of the record dimension stands in front
};

struct AttributeDescription {
  std::string name;
  Type external = Type::text;
  std::size_t elements = 0;
};

// A NetCDF or HDF5 file that this rank reads, as it was when it was opened: steps that are put later need another
// open_input. Every rank reads what it likes when it likes: all calls but read_all() are Local. Reading waits for storage.
class Input {
 public:
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  // As it was opened: what open_input was given, or restart has found.
  [[nodiscard]] std::string path() const;
  // Records that the file holds.
  [[nodiscard]] std::uint64_t steps() const;
  // In the order of the file: the index is the id of the handle.
  [[nodiscard]] std::vector<VariableDescription> variables() const;
  [[nodiscard]] VariableDescription describe(Variable variable) const;
  // Throws not_found; unsupported for a dataset of an HDF5 file whose elements no Type can hold.
  [[nodiscard]] Variable find_variable(std::string_view name) const;

  // Reads a box of a variable, row-major; `out` has as many elements. `step` is ignored unless the variable is per
  // step. T may differ from the external type, as with put; a value that T cannot hold throws out_of_range when the
  // others have been read. Elements that no rank has put have any value. Throws not_found for a step that is not there.
  template <class T, std::size_t extent>
  void read(Variable variable, std::uint64_t step, const Box& box, std::span<T, extent> out) const {
    read_box(variable, step, box, type_of<T>(), out.data(), out.size());
  }
  template <class T> void read(Variable variable, std::uint64_t step, const Box& box, std::vector<T>& out) const {
    read(variable, step, box, std::span<T>(out));
  }
  // All of a variable, or of a step of it.
  template <class T> [[nodiscard]] std::vector<T> read(Variable variable, std::uint64_t step = 0) const {
    const std::vector<std::uint64_t> shape = describe(variable).shape;
    std::size_t elements = 1;
    for (const std::uint64_t extent : shape) elements *= static_cast<std::size_t>(extent);
    std::vector<T> values(elements);
    read_box(variable, step, {std::vector<std::uint64_t>(shape.size(), 0), shape}, type_of<T>(), values.data(), elements);
    return values;
  }

  // read() by all ranks of the session together: all name the same variable and step of the same path, each a box of its own, which may be
  // empty. On several nodes whose rows lie between each other in the file, as those of bricks of an array do, each part of it is read from
  // the storage once, in large aligned pieces, and handed to the ranks; elsewhere as read(). What goes wrong on one rank is thrown on all.
  // Collective, blocks.
  template <class T, std::size_t extent>
  void read_all(Variable variable, std::uint64_t step, const Box& box, std::span<T, extent> out) const {
    read_box_all(variable, step, box, type_of<T>(), out.data(), out.size());
  }
  template <class T> void read_all(Variable variable, std::uint64_t step, const Box& box, std::vector<T>& out) const {
    read_all(variable, step, box, std::span<T>(out));
  }

  // Begins to fetch into the node's memory what read() of such a box takes from the storage, in the background: the next step, say, while
  // the program works on this one, or the first variables of the next file. A step that is not there needs nothing. Local, does not wait.
  void prefetch(Variable variable, std::uint64_t step, const Box& box) const;
  // All of a variable, or of a step of it.
  void prefetch(Variable variable, std::uint64_t step = 0) const;

  // An attribute of the file, or of one variable; `char` for text. Throws not_found.
  template <class T> [[nodiscard]] std::vector<T> attribute(std::string_view name) const {
    return attribute<T>(Variable{}, name);
  }
  template <class T> [[nodiscard]] std::vector<T> attribute(Variable variable, std::string_view name) const {
    std::vector<T> values(read_attribute(variable, name, type_of<T>(), nullptr, 0));
    read_attribute(variable, name, type_of<T>(), values.data(), values.size());
    return values;
  }

  // The attributes of the file, or of one variable, in the order of the file.
  [[nodiscard]] std::vector<AttributeDescription> attributes(Variable variable = {}) const;

  // Untyped forms of the above, for language bindings. `elements` is the room in `out`. The last one returns how many
  // elements the attribute has, and reads them if there is room for all.
  void read_box(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out,
                std::size_t elements) const;
  void read_box_all(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out, std::size_t elements) const;
  std::size_t read_attribute(Variable variable, std::string_view name, Type memory, void* out,
                             std::size_t elements) const;

  class Impl;
  explicit Input(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace glean

#pragma GCC visibility pop
