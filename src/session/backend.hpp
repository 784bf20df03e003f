// SPDX-License-Identifier: BSD-3-Clause
//
// Where the puts of one output go. The one interface between what the application says and how it is done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "capture/copy.hpp"
#include "mesh/definitions.hpp"
#include "session/core.hpp"
#include "session/output_name.hpp"
#include "store/format/format.hpp"
#include "store/posix/file.hpp"

namespace glean::session {

// A file that gets more steps, as it is when it is opened.
struct Addition {
  mesh::Definitions definitions;
  store::FileLayout layout;            // of the records to come: the first of them is record 0
  store::Earlier earlier;
  std::shared_ptr<const void> lock;    // on rank 0: other jobs see that it is written; until the output in the pool has it
};

// What was decided about an output when it was opened.
struct Opening {
  std::string path;                // as the application calls it
  base::OutputSettings settings;
  store::FileNames names;          // on rank 0 only
  OutputName name;                 // on all ranks
  const store::Format* format = nullptr;
  bool refuses_existing = false;   // a file of that name is an error
  std::shared_ptr<Addition> addition{};   // none: the file is new
};

// The fingerprint of what must be the same on all ranks.
[[nodiscard]] inline std::uint64_t fingerprint_of(const Opening& opening, const mesh::Definitions& definitions) {
  return definitions.fingerprint() ^ std::hash<std::string>{}(opening.path + std::string(opening.format->name()));
}

class Backend {
 public:
  virtual ~Backend() = default;
  // All ranks have defined the same, and none has failed before (`earlier`): what they tell each other after it has the same length on all.
  // A rank that does not come here, because it has failed, may be in create(). Collective; throws on all ranks or none.
  virtual void agree_on(const mesh::Definitions& definitions, const std::optional<base::Error>& earlier) = 0;
  // Creates the file, unless a rank has failed before (`earlier`). Collective; throws on all ranks or none. After it has
  // thrown, only the destructor may be called.
  // `blocks`: of this rank.
  virtual void create(const mesh::Definitions& definitions, const Blocks& blocks, const std::optional<base::Error>& earlier) = 0;
  // This rank begins steps 0, 1, 2, …; not all need come into the file. Local.
  virtual void begin_step(std::uint64_t) {}
  // The record that the step which is open becomes: another number than the step's where steps were left out. Local.
  [[nodiscard]] virtual std::uint64_t record_of(std::uint64_t step) const { return step; }
  // Takes one box of a variable. Local. The box is not empty and lies in the variable.
  virtual void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
                   const capture::Source& source) = 0;
  // This rank has put what it has for the step.
  virtual void end_step(std::uint64_t step) = 0;
  // `misuse`: why this rank should not have called; it takes part all the same. Collective; throws on all ranks or none.
  virtual void wait(Level level, double seconds, const std::optional<base::Error>& misuse) = 0;
  // Whether this rank's steps that have ended have reached it, as its node knows. Asks the drain for what it takes. Local, does not wait.
  [[nodiscard]] virtual bool reached(Level level) = 0;
  // No more steps. All ranks call it. `attributes`: those that change, of the file's definitions and in their order, with their last values
  // in native byte order; those of rank 0 count.
  virtual void close(std::span<const mesh::Attribute> attributes) = 0;
  // Gives the output up. Does not throw.
  virtual void abandon() noexcept = 0;
  // A put of this rank could not be taken: the output shall not be published. Local.
  virtual void poison(const base::Error& error) noexcept = 0;
  // The same of its close, which throws `error` on this rank: if it does so on all, no later call has to. Local.
  virtual void poison_by_close(const base::Error& error) noexcept { poison(error); }
  // What all ranks have been told went wrong with this output. Local.
  [[nodiscard]] virtual std::optional<base::Error> failure() const = 0;
  // The status of an output that is created. Local.
  [[nodiscard]] virtual OutputStatus status() const = 0;
  [[nodiscard]] virtual const OutputName& name() const = 0;
};

[[nodiscard]] std::unique_ptr<Backend> make_threaded_backend(std::shared_ptr<Core> core, Opening opening);
[[nodiscard]] std::unique_ptr<Backend> make_passthrough_backend(std::shared_ptr<Core> core, Opening opening);

}  // namespace glean::session
