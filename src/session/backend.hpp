// SPDX-License-Identifier: BSD-3-Clause
//
// Where the puts of one output go. The one interface between what the application says and how it is done.
#pragma once

#include <memory>
#include <string>

#include "pool/capture.hpp"
#include "session/core.hpp"
#include "store/pnetcdf/definitions.hpp"

namespace glean::session {

// What the root has decided about an output when it was opened; the same on all ranks.
struct Opening {
  base::OutputSettings settings;
  char working_path[4096];   // of the root's choice
  char final_path[4096];
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Creates the file. Collective; throws on all ranks or none.
  virtual void create(const store::Definitions& definitions) = 0;
  // Takes one box of a variable. Local. The box is not empty and lies in the variable.
  virtual void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
                   const pool::Source& source) = 0;
  // This rank has put what it has for the step.
  virtual void end_step(std::uint64_t step) = 0;
  // Collective; throws on all ranks or none.
  virtual void wait(Level level, double seconds) = 0;
  virtual void close() = 0;
  // Gives the output up. Local, does not throw.
  virtual void abandon() noexcept = 0;
  // A put of this rank could not be taken: the output shall not be published. Local.
  virtual void poison(const base::Error& error) noexcept = 0;
};

[[nodiscard]] std::unique_ptr<Backend> make_threaded_backend(std::shared_ptr<Core> core, std::string path,
                                                             const Opening& opening);
[[nodiscard]] std::unique_ptr<Backend> make_passthrough_backend(std::shared_ptr<Core> core, std::string path,
                                                                const Opening& opening);

}  // namespace glean::session
