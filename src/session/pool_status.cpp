// SPDX-License-Identifier: BSD-3-Clause
//
// The outputs in the pool as the program may look at them.
#include <sys/stat.h>

#include <algorithm>

#include "session/pool_outputs.hpp"

namespace glean::session {

OutputStatus PoolOutputs::status(const PoolOutput& output) const {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  OutputStatus status{output.name.path(), OutputState::open, output.steps_ended, slot.steps.staged.load(),
                      slot.steps.written.load(), slot.steps.synchronized.load(), {},
                      output.steps_dropped};
  if (output.has_closing_step) {
    --status.steps_ended;
    for (std::uint64_t* steps : {&status.steps_staged, &status.steps_written, &status.steps_durable}) {
      *steps = std::min(*steps, status.steps_ended);
    }
  }
  if (!is_current(output)) status.steps_staged = status.steps_written = status.steps_durable = 0;   // another's
  if (output.all_dropped && failed(output) == 0) {
    status.state = OutputState::dropped;
  } else if (output.abandoned) {
    status.state = OutputState::abandoned;
  } else if (output.failure || failed(output) != 0) {
    status.state = OutputState::failed;
    status.error = output.failure ? output.failure->what() : error_in_slot(output).what();
  } else if (is_published(output)) {
    status.state = OutputState::published;
    status.steps_staged = status.steps_written = status.steps_durable = status.steps_ended;
  } else if (output.closed) {
    status.state = OutputState::draining;
  }
  return status;
}

bool PoolOutputs::is_renamed(const PoolOutput& output) const {
  const auto inode = pool_.slot(output.key.slot).working_inode.load(std::memory_order_acquire);
  const auto& files = output.name.files();
  struct stat status {};
  return inode != 0 && is_current(output) && files.final_path != files.working_path &&
         stat(files.final_path.c_str(), &status) == 0 && status.st_ino == inode;
}

std::vector<OutputStatus> PoolOutputs::statuses() const {
  std::vector<OutputStatus> statuses;
  for (const auto& output : outputs_) statuses.push_back(status(*output));
  return statuses;
}

std::shared_ptr<PoolOutput> PoolOutputs::find(const std::string& final_path) const {
  const auto found = std::find_if(outputs_.rbegin(), outputs_.rend(), [&](const auto& output) {
    return !output->abandoned && output->name.leads_to(final_path);
  });
  return found == outputs_.rend() ? nullptr : *found;
}

std::vector<std::shared_ptr<PoolOutput>> PoolOutputs::list(ByThisRank which) const {
  std::vector<std::shared_ptr<PoolOutput>> found;
  for (const auto& output : outputs_) {
    if (!output->abandoned && output->closed == (which == ByThisRank::closed)) found.push_back(output);
  }
  return found;
}

bool PoolOutputs::has_reached(PoolOutput& output, Level level) {
  if (output.failure || failed(output) != 0) return false;
  if (level == Level::durable && !output.closed) ask_for_durable_steps(output);
  return reached(output, level);
}

}  // namespace glean::session
