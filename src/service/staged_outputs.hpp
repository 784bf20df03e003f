// SPDX-License-Identifier: BSD-3-Clause
//
// The outputs that the clients of a stager open, in the pool that the stager has for their job.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drain/engine.hpp"
#include "nodes/openings.hpp"
#include "service/allowed_paths.hpp"
#include "store/posix/file.hpp"

namespace glean::service {

class StagedOutputs final : public nodes::Openings {
 public:
  // Called with the slot of an output, and what all nodes call it, before the drain sees it.
  using Prepare = std::function<void(std::uint32_t index, std::uint64_t job_output)>;
  // What clients may start here. none: their outputs go without their analyses and triggers, which the log says.
  enum class Programs { none, any };
  // Files are made below `directories`, absolute and without symbolic links, and nowhere else. Everything must outlive it.
  StagedOutputs(pool::Pool& pool, drain::Engine& engine, std::vector<std::string> directories, Prepare prepare = nullptr,
                Programs programs = Programs::none)
      : pool_(pool), engine_(engine), allowed_(std::move(directories)), prepare_(std::move(prepare)), programs_(programs) {}

  // Where the file is made for which a client asks: the working name follows from the one that the client has chosen, so a stager that
  // takes the place of another one finds the file. A symbolic link is followed. Throws permission when that is not below one of the
  // directories, not_found, exists. Asks the file system.
  [[nodiscard]] store::FileNames names_of(const store::FileNames& asked, bool refuses_existing) const;
  [[nodiscard]] std::optional<pool::OutputKey> open(Asked& asked, pool::Recorder& recorder) override;

 private:
  [[nodiscard]] std::optional<pool::OutputKey> claim_slot();
  void leave_out_programs(store::OutputDescription& description) const;

  pool::Pool& pool_;
  drain::Engine& engine_;
  AllowedPaths allowed_;
  Prepare prepare_;
  Programs programs_;
  store::SystemCalls calls_;
};

}  // namespace glean::service
