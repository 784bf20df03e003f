// SPDX-License-Identifier: BSD-3-Clause
//
// One output as the application sees it: what is defined, what may be put, and when.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glean/glean.hpp"
#include "session/backend.hpp"
#include "session/grids/convention.hpp"

namespace glean {

namespace session {
// As much of it as a message has room for, which ends at a zero byte.
[[nodiscard]] std::string shown_name(std::string_view name);
}  // namespace session

class Output::Impl {
 public:
  Impl(std::shared_ptr<session::Core> core, std::string path, const store::Format& format,
       std::unique_ptr<session::Convention> convention, std::unique_ptr<session::Backend> backend, base::PrecisionSettings precision);
  ~Impl();

  Dimension define_dimension(std::string_view name, std::uint64_t length, bool unlimited);
  Grid define_grid(mesh::Mesh grid, std::vector<std::string> dimension_names);
  Variable define_variable(std::string_view name, Type external, Grid grid, VariableOptions options);
  Variable define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                           std::vector<Box> blocks, VariableOptions options);
  void define_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count);
  void allow_attribute_change(Variable variable, std::string_view name);
  void set_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count);
  void set_time(double time, std::string_view unit);
  // Of a file that is added to, in place of all define_… calls: every rank may put any part of a record.
  void take_definitions(const mesh::Definitions& definitions);
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
  // What a call throws that meets `error`: it says so if a definition has failed before, which the program may have handled.
  [[nodiscard]] base::Error with_earlier(const base::Error& error) const;

 private:
  enum class Phase { defining, between_steps, in_step, closed, failed };   // failed: there is no file
  using VariableInfo = session::Program::VariableInfo;
  // Puts of a variable of the program that are several of variables of the file.
  class SplitPut;

  void require(Phase phase, const char* call) const;
  void check_variable_name(std::string_view name) const;
  void check_attribute_name(std::string_view name) const;
  [[nodiscard]] std::vector<int> owners_of(Variable variable) const;
  void view_file();
  void put_first();
  void put_time();
  // `box` lies in the block of that index.
  void put_block(Variable variable, std::size_t block, const mesh::Box& box, mesh::Type memory, const capture::Source& source);
  void require_open(const char* call) const;
  [[nodiscard]] mesh::Attribute& attribute(Variable variable, std::string_view name, const char* call);
  [[nodiscard]] const VariableInfo& info(Variable variable, const char* call) const;
  [[nodiscard]] const std::string& name(Variable variable) const;
  void require_changeable(Variable variable) const;
  void check_conversion(Variable variable, Type memory) const;

  std::shared_ptr<session::Core> core_;
  std::string path_;
  std::unique_ptr<session::Backend> backend_;
  const store::Format& format_;
  std::unique_ptr<session::Convention> convention_;
  session::Program program_;
  session::FileView file_;   // when definitions have ended
  mesh::Box box_;            // of the put that is made: it has room already
  std::vector<std::ptrdiff_t> strides_;   // of a contiguous put that is split
  std::optional<std::string> time_unit_;  // there is a time
  double time_ = 0;
  Phase phase_ = Phase::defining;
  std::uint64_t steps_ = 0;   // ended
  std::vector<mesh::Attribute> late_attributes_;   // those of the file that change, with their last values
  base::PrecisionSettings precision_;   // of variables, whatever the program defines
  bool adds_to_file_ = false;
  std::optional<base::Error> early_error_;   // of a definition of this rank, before there is a file to poison
  std::string creation_error_;               // why there is no file
};

}  // namespace glean
