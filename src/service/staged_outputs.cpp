// SPDX-License-Identifier: BSD-3-Clause
#include "service/staged_outputs.hpp"

#include <unistd.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "drain/checksums.hpp"
#include "pool/description.hpp"
#include "pool/published.hpp"
#include "store/description.hpp"
#include "store/posix/replaceable.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::service {

store::FileNames StagedOutputs::names_of(const store::FileNames& asked, bool refuses_existing) const {
  const std::string final_path = allowed_.resolve(asked.final_path);
  base::Publish publish = asked.working_path == asked.final_path ? base::Publish::in_place : base::Publish::rename;
  if (publish == base::Publish::rename && !refuses_existing && store::why_written_in_place(final_path)) publish = base::Publish::in_place;
  std::string unique = store::unique_in(asked.working_path);
  if (unique.empty()) unique = std::to_string(getpid()) + "-" + std::to_string(base::now_ns());   // the client has chosen none
  return store::choose_names(final_path, publish, refuses_existing, unique);
}

std::optional<pool::OutputKey> StagedOutputs::claim_slot() {
  std::optional<pool::OutputKey> claimed;
  for (std::uint32_t index = 0; !claimed && index < pool::output_slots; ++index) claimed = pool_.claim_slot(index);
  return claimed;
}

// A client may write below the directories of this stager; to run something here is more than that.
void StagedOutputs::leave_out_programs(store::OutputDescription& description) const {
  analysis::Request& asked = description.analysis;
  const bool would_start = !asked.programs.empty() || !asked.trigger.run.empty() || !asked.trigger.mark.empty();
  if (programs_ == Programs::any || !would_start || description.is_made_by_ranks()) return;
  base::log(base::LogLevel::warning, "'{}': its analyses and triggers are left out: this stager starts no programs of jobs; "
            "`glean stage --programs` does", description.display_path);
  asked.programs.clear();
  asked.trigger = {};
}

namespace {

// Whether the program means to replace what is there is known later.
void require_replaceable(const store::FileNames& names) {
  if (names.working_path != names.final_path) return;
  throw base::Error(base::Errc::unsupported, "'" + names.final_path + "' cannot be replaced: " +
                    store::why_written_in_place(names.final_path).value_or("it has changed meanwhile"), "remove it first");
}

}  // namespace

std::optional<pool::OutputKey> StagedOutputs::open(Asked& asked, pool::Recorder& recorder) {
  auto description = store::OutputDescription::decode(asked.description);
  leave_out_programs(description);
  std::optional<base::Error> refused;   // the first stager has it open, so the others do not throw
  if (description.is_made_by_ranks()) {   // a client has made it, and publishes it
    try {
      static_cast<void>(allowed_.resolve(description.names.working_path));
    } catch (const base::Error& error) {
      if (asked.makes_file) throw;
      refused.emplace(error);
    }
  } else if (asked.makes_file) {
    description.names = names_of(description.names, asked.refuses_existing && asked.inode == 0);
    if (description.is_bytes) require_replaceable(description.names);
    if (description.names.working_path == description.names.final_path) drain::forget_sums(calls_, description.names.final_path);
  }
  const store::FileNames& names_now = description.names;
  asked.is_published = asked.makes_file && asked.inode != 0 && names_now.working_path != names_now.final_path &&
                       store::find_unclosed(names_now.final_path, asked.inode) == names_now.final_path;
  if (asked.is_published) return std::nullopt;   // by the process before
  const auto key = claim_slot();
  if (!key) return std::nullopt;
  const auto names = description.encode_names(), layout = description.encode_layout();
  const bool is_ranks = description.is_made_by_ranks();
  pool::OutputSlot& slot = pool_.slot(key->slot);
  slot.is_bytes = description.is_bytes ? 1 : 0;
  slot.is_made_by_stagers = description.is_bytes && !is_ranks ? 1 : 0;
  if (!is_ranks) {
    slot.working_inode = asked.inode;   // the file is there, and must be that one
    if (!asked.makes_file) slot.publishing_inode = asked.inode;   // the stager that publishes it may just have
  }
  // In a pool that was made anew a client may have sent something both before and after it knew that.
  const bool is_anew = asked.is_again || (!is_ranks && (asked.inode != 0 || pool_.header().is_made_anew != 0));
  slot.nodes.is_opened_anew = is_anew ? 1 : 0;
  slot.nodes.part_durable = asked.is_done && (is_ranks || !asked.makes_file) ? 1 : 0;
  pool::mark_path(slot, description.names.final_path);
  try {
    recorder.describe(*key, names, pool::Recorder::More::follow);
    recorder.describe(*key, layout, pool::Recorder::More::none);
  } catch (const base::Error& error) {
    pool::forget_description(pool_, *key);
    slot.state.store(pool::OutputState::free, std::memory_order_release);
    if (error.code() == base::Errc::timeout) return std::nullopt;
    throw;
  }
  asked.description = names;
  asked.description.insert(asked.description.end(), layout.begin(), layout.end());
  if (refused) pool::fail(slot, static_cast<std::uint32_t>(refused->code()), refused->what(), refused->hint());
  // Before it is open: a process that takes the place of this one must know which output it is (take_place).
  slot.nodes.job_output.store(asked.job_output, std::memory_order_release);
  if (prepare_) prepare_(key->slot, asked.job_output);
  slot.state.store(pool::OutputState::open, std::memory_order_release);
  engine_.adopt_now();
  return key;
}

}  // namespace glean::service
