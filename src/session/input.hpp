// SPDX-License-Identifier: BSD-3-Clause
//
// Reading files on one rank, those of the session's outputs among them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glean/glean.hpp"
#include "session/core.hpp"
#include "session/formats.hpp"

namespace glean {

class Input::Impl {
 public:
  Impl(std::shared_ptr<session::Core> core, std::string path, std::unique_ptr<session::Reader> file)
      : core_(std::move(core)), path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] std::uint64_t steps() const { return file_->records(); }
  [[nodiscard]] std::vector<VariableDescription> variables() const;
  [[nodiscard]] VariableDescription describe(Variable variable) const;
  [[nodiscard]] Variable find_variable(std::string_view name) const;
  [[nodiscard]] std::vector<AttributeDescription> attributes(Variable variable) const;
  void read_box(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out,
                std::size_t elements) const;
  void read_box_all(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out, std::size_t elements) const;
  void prefetch(Variable variable, std::uint64_t step, const Box& box) const;
  std::size_t read_attribute(Variable variable, std::string_view name, Type memory, void* out,
                             std::size_t elements) const;

  [[nodiscard]] const std::string& path() const { return path_; }   // as the application calls it
  [[nodiscard]] session::Core& core() { return *core_; }

 private:
  [[nodiscard]] const session::Reader::Variable& info(Variable variable) const;
  // Of a box that lies in the variable; throws what is wrong with it.
  [[nodiscard]] mesh::Box box_of(const session::Reader::Variable& variable, const Box& box) const;
  // And there is room for all of it.
  [[nodiscard]] mesh::Box box_with_room(const session::Reader::Variable& variable, const Box& box, const void* out,
                                        std::size_t elements) const;
  [[noreturn]] void refuse(const session::Reader::Variable& variable, const std::string& why) const;

  std::shared_ptr<session::Core> core_;   // for its figures
  std::string path_;
  std::unique_ptr<session::Reader> file_;
};

namespace session {

// Reads what is there under this name, whatever the session knows of it. Throws as Session::open_input. Local, blocks.
[[nodiscard]] std::unique_ptr<Reader> open_file(const std::string& path);
// As Session::open_input and Session::outputs say.
[[nodiscard]] std::unique_ptr<Input::Impl> open_input(const std::shared_ptr<Core>& core, const std::string& path,
                                                      const InputOptions& options);
[[nodiscard]] std::vector<OutputStatus> list_outputs(Core& core);

}  // namespace session

}  // namespace glean
