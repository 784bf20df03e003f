// SPDX-License-Identifier: BSD-3-Clause
//
// One output as the application sees it: what is defined, what may be put, and when.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glean/glean.hpp"
#include "session/backend.hpp"

namespace glean {

class Output::Impl {
 public:
  Impl(std::shared_ptr<session::Core> core, std::string path, const store::Format& format,
       std::unique_ptr<session::Backend> backend);
  ~Impl();

  Dimension define_dimension(std::string_view name, std::uint64_t length, bool unlimited);
  Grid define_grid(const UniformGrid& grid);
  Grid define_grid(const AmrGrid& grid);
  Variable define_variable(std::string_view name, Type external, Grid grid, VariableOptions options);
  Variable define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                           std::vector<Box> blocks, VariableOptions options);
  void define_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count);
  void end_definitions();
  void begin_step();
  void put_all(Variable variable, Type memory, const void* data, std::size_t elements);
  void put_box(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count, Type memory,
               const void* first, std::span<const std::ptrdiff_t> strides);
  void end_step();
  [[nodiscard]] Variable find_variable(std::string_view name) const;
  void wait(Level level, double seconds);
  [[nodiscard]] bool reached(Level level);
  void close();

  [[nodiscard]] session::Core& core() { return *core_; }
  // Keeps an error of this rank from being lost if the application goes on: the output will not be published.
  void poison(const base::Error& error) noexcept;

 private:
  enum class Phase { defining, between_steps, in_step, closed, failed };   // failed: there is no file
  struct VariableInfo {
    mesh::Shape shape;                 // of one record
    std::vector<mesh::Box> blocks;     // of this rank
  };
  struct Coordinates {                 // what a grid says about itself, put in the first step
    Variable variable;
    std::vector<std::byte> values;
  };

  void require(Phase phase, const char* call) const;
  void put_coordinates();
  void require_open(const char* call) const;
  [[nodiscard]] const VariableInfo& info(Variable variable, const char* call) const;
  [[nodiscard]] const std::string& name(Variable variable) const;
  void check_conversion(Variable variable, Type memory) const;
  // Returns the variable that has them.
  template <class T> int add_coordinates(std::string_view name, std::span<const Dimension> dimensions,
                                          const Box& box, std::span<const T> values);
  Grid add_grid(mesh::GridDefinition grid, std::vector<mesh::Box> blocks);

  std::shared_ptr<session::Core> core_;
  std::string path_;
  std::unique_ptr<session::Backend> backend_;
  const store::Format& format_;
  mesh::Definitions definitions_;
  std::vector<VariableInfo> variables_;
  std::vector<std::vector<mesh::Box>> grid_blocks_;   // of each grid, what this rank has
  mesh::Box box_;   // of the put that is made: it has room already
  std::vector<Coordinates> coordinates_;
  Phase phase_ = Phase::defining;
  std::uint64_t steps_ = 0;   // ended
  std::optional<base::Error> early_error_;   // of a definition of this rank, before there is a file to poison
  std::string creation_error_;               // why there is no file
};

}  // namespace glean
