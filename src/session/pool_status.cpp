// SPDX-License-Identifier: BSD-3-Clause
//
// The outputs in the pool as the program may look at them.
#include <sys/stat.h>

#include <algorithm>

#include "session/pool_outputs.hpp"

namespace glean::session {

// The slot may be the next output's, but not the one's after that: creating an output is collective, and all look then.
pool::Verdict PoolOutputs::verdict(const PoolOutput& output) const {
  if (output.drops != PoolOutput::Drops::by_nodes && output.drops != PoolOutput::Drops::whole_by_nodes) return {};
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const auto of_slot = pool::verdict_of(slot);
  if (is_current(output)) return of_slot;
  return pool::Verdict::of(slot.previous_verdict.load(std::memory_order_acquire));
}

// Provided that it does not fail.
bool PoolOutputs::is_dropped(const PoolOutput& output) const {
  if (output.drops != PoolOutput::Drops::by_nodes && output.drops != PoolOutput::Drops::whole_by_nodes) return output.all_dropped;
  const pool::Verdict known = verdict(output);
  const bool all_known = output.drops == PoolOutput::Drops::whole_by_nodes || known.judged >= output.steps_ended;
  return output.closed && output.steps_ended != 0 && known.judged != 0 && known.kept == 0 && all_known;
}

std::uint64_t PoolOutputs::dropped_by_nodes(const PoolOutput& output) const {
  const pool::Verdict known = verdict(output);
  if (output.drops == PoolOutput::Drops::whole_by_nodes) return known.judged != 0 && known.kept == 0 ? output.steps_ended : 0;
  return known.judged - known.kept;
}

std::uint64_t PoolOutputs::steps_dropped_by_nodes() const {
  std::uint64_t all = steps_dropped_;
  for (const auto& output : outputs_) all += dropped_by_nodes(*output);
  return all;
}

OutputStatus PoolOutputs::status(const PoolOutput& output) const {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  OutputStatus status{output.name.path(), OutputState::open, output.steps_ended, slot.steps_staged.load(),
                      slot.steps_written.load(), slot.steps_synchronized.load(), {},
                      output.steps_dropped};
  if (!is_current(output)) status.steps_staged = status.steps_written = status.steps_durable = 0;   // another's
  if (const std::uint64_t dropped = dropped_by_nodes(output); dropped != 0) {
    const auto in_file = [&](std::uint64_t steps) {
      const bool whole = output.drops == PoolOutput::Drops::whole_by_nodes;
      return is_current(output) && !whole ? pool::kept_before(slot, steps) : steps - std::min(steps, dropped);
    };
    const std::uint64_t ended = in_file(status.steps_ended);
    status.steps_dropped = status.steps_ended - ended;
    status.steps_ended = ended;
    for (std::uint64_t* steps : {&status.steps_staged, &status.steps_written, &status.steps_durable}) *steps = in_file(*steps);
  }
  if (is_dropped(output) && failed(output) == 0) {
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

bool PoolOutputs::has_reached(PoolOutput& output, Level level) {
  if (output.failure || failed(output) != 0) return false;
  if (level == Level::durable && !output.closed) ask_for_durable_steps(output);
  return reached(output, level);
}

}  // namespace glean::session
