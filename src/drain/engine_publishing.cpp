// SPDX-License-Identifier: BSD-3-Clause
//
// How files appear, and their copies: under which name, after which others, and what happens where the storage has no room for them, or
// has refused them.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/step_numbers.hpp"
#include "base/condition.hpp"
#include "base/log.hpp"
#include "drain/current_names.hpp"
#include "drain/engine.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/name_log.hpp"
#include "pool/other_handles.hpp"
#include "pool/published.hpp"
#include "store/format/formats.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/small_file.hpp"

namespace glean::drain {
namespace {

// As this node sees it, whatever has become of its name. Several nodes write no bytes where they may see different sizes (NFS).
Bytes size_of(const store::File& file) {
  struct stat status {};
  if (fstat(file.buffered_descriptor(), &status) != 0) throw base::system_error(errno, "cannot inspect '" + file.names().final_path + "'");
  return static_cast<Bytes>(status.st_size);
}

bool is_hidden(std::string_view path) { return pool::parse_hidden(path.substr(path.rfind('/') + 1)).has_value(); }

// It was removed, or renamed by itself.
void complete_without_name(const Job& job) {
  store::File& file = *job.output->file().get();
  const store::FileNames& names = file.names();
  const bool is_in_place = names.working_path == names.final_path, is_removed = file.is_removed();
  job.output->about().checksums = Checksums();
  if (is_removed || !is_in_place) job.output->file().found_removed();
  if (!is_removed && !is_in_place) {
    base::log(base::LogLevel::warning, "'{}' does not appear: '{}' is not there any more, but the file has another name",
              names.final_path, names.working_path);
  }
  if (!is_removed) file.synchronize();
}

void publish_table(store::SystemCalls& calls, const store::File& file, const char* name, const std::string& table) {
  const std::string working = file.names().working_path + "." + name;
  store::replace_small_file(calls, working, analysis::table_path(file.names().final_path, name), table);
}

}  // namespace

Engine::WrittenSoFar Engine::note_written(Job& job) const {
  const std::lock_guard lock(mutex_);
  job.steps = job.output->about().steps.written;
  job.tick = job.output->about().slot.writes.written_tick.load(std::memory_order_relaxed);
  return {job.output->records(), job.output->highest_end()};
}

// A file of variables: its last bytes, and its name, or what makes it durable while it goes on. False: it waits for its copies.
bool Engine::complete_records(const Job& job, const WrittenSoFar& written) {
  auto& about = job.output->about();
  const store::OutputDescription& description = about.description;
  store::File& file = *job.output->file().get();
  const bool goes_on = job.kind == Job::Kind::synchronize;
  const auto finished = store::Formats::to_finish().find(description.layout.format)
                            .finish(description.image(), {written.records, written.end, goes_on, description.earlier});
  // Before the format's own bytes go behind the data.
  if (!goes_on && written.end > description.layout.header_bytes && file.current_size() < written.end) {
    throw base::Error(base::Errc::not_found, "it is shorter than what was written to it");
  }
  // Others read a file that is added to: its header must not count what a power cut could take, nor what other nodes have not written yet.
  if (description.adds_to_file()) {
    if (!goes_on) file.resize(finished.size);
    file.synchronize();
    if (goes_on && pool_.is_shared()) return true;
  }
  if (about.publishes()) {
    for (const store::Patch& patch : finished.patches) file.write(patch.bytes, patch.offset);
  }
  if (goes_on) return file.synchronize(), true;
  file.resize(finished.size);
  if (stays_unpublished(job)) return true;
  about.slot.publishing_inode.store(file.inode(), std::memory_order_release);
  if (waits_for_copies(job)) return false;
  publish_tables(job);
  if (description.is_part) store::publish_index(calls_, description.names, about.steps.of_program(job.steps));
  about.checksums.add_patches(description.layout, finished.patches);
  publish(calls_, file, description.layout, finished.size, about.checksums);
  return true;
}

// As long as ranks have made it.
void Engine::publish_bytes(const Job& job) {
  store::File* file = job.output->file().get();
  if (job.kind == Job::Kind::synchronize) return file->synchronize();
  pool::OutputSlot& slot = job.output->about().slot;
  const bool was_in_place = job.output->about().description.names.working_path == job.output->about().description.names.final_path;
  const bool is_made_by_stagers = !job.output->about().description.is_made_by_ranks();
  const bool has_no_writes = !pool_.is_shared() && pool::writes_begun(slot) == 0;
  if (was_in_place && has_no_writes) return;
  if (pool::have_others(slot)) {
    file->follow_final_name();
    job.output->about().checksums = Checksums();   // they may go on writing it
  }
  for (;;) {
    const auto moved = pool::new_name_of(pool_, job.output->about().key);
    if (moved && !moved->is_removed && !moved->working_path.empty()) file->was_moved(moved->final_path);
    if (moved && is_hidden(moved->final_path)) job.output->about().checksums = Checksums();   // it goes, or gets another name
    file->follow_directory();
    if (!file->has_its_name()) return complete_without_name(job);
    slot.publishing_inode.store(file->inode(), std::memory_order_release);
    if (is_made_by_stagers) file->resize(slot.nodes.job_highest_end.load(std::memory_order_acquire));   // as ranks have set it
    if (job.output->file().is_unclosed()) return job.output->file().publish_unclosed();
    // From here on the program may remove or replace a file in place at any time: nothing may take a lost name for a failure.
    if (publish(calls_, *file, {}, size_of(*file), job.output->about().checksums, [&](store::File&) { return takes_its_name(job); })) break;
    if (slot.is_renamed == pool::is_removed_output) return job.output->file().found_removed();
  }
  const bool is_promised = slot.synchronized_writes.load(std::memory_order_acquire) != 0;   // also that of no bytes
  if (!has_no_writes || is_promised || slot.other_handles.load() != 0) return;
  pool::remember_untouched(pool_.header(), {file->device(), file->inode()});
}

// A complete file, before it appears: a process that sees it then sees its copies too.
bool Engine::waits_for_copies(const Job& job) {
  const store::Copies& copies = job.output->about().description.copies;
  store::File& file = *job.output->file().get();
  if (job.kind != Job::Kind::publish || job.has_copies || copies.each.empty()) return false;
  if (job.output->file().is_unclosed() || !file.has_its_name() || is_hidden(file.names().final_path)) return false;
  const auto leads_elsewhere = [&](const store::Copy& copy) {
    const std::string path = copy.path(file.names().final_path);
    return store::resolved_path(path) != path;
  };
  if (pool_.is_stager() && std::any_of(copies.each.begin(), copies.each.end(), leads_elsewhere)) {
    return leave_out_copies(job, "a symbolic link has the name of a copy"), false;
  }
  if (pool_.header().deadline_boost.load(std::memory_order_relaxed) != 0) {
    return leave_out_copies(job, "the job's time is nearly over; `glean convert` makes it afterwards"), false;
  }
  file.synchronize();   // it is complete, and stays so whatever becomes of the copies
  if (copier_.give(job, copies, file.names())) return true;
  return leave_out_copies(job, "the drain has ended before"), false;
}

void Engine::leave_out_copies(const Job& job, const std::string& why) {
  std::vector<CopyTrace> left_out;
  for (const store::Copy& copy : job.output->about().description.copies.each) {
    left_out.push_back({.path = copy.path(job.output->file().get()->names().final_path), .seconds = 0, .error = why});
    base::log(base::LogLevel::warning, "'{}' is not made: {}", left_out.back().path, why);
  }
  const std::lock_guard lock(mutex_);
  job.output->about().trace.copies = std::move(left_out);
}

// By publish_when: for no step it holds. What is not known for certain is published.
bool Engine::stays_unpublished(const Job& job) {
  DrainedOutput& about = job.output->about();
  OutputFile& file = job.output->file();
  const store::OutputDescription& description = about.description;
  const auto condition = base::Condition::parse(description.analysis.publish_when);
  if (!condition || job.kind != Job::Kind::publish || !about.publishes() || file.is_removed()) return false;
  const bool is_there = file.is_in_place() || file.was_published() || description.adds_to_file();
  if (is_there || file.is_unclosed() || description.is_part) return false;
  const analysis::Verdict verdict = analysis::judge(*condition, analyst_.results(about.key), pool_.header().nodes);
  if (verdict.holds) return false;
  if (!verdict.unknown.empty()) {
    base::log(base::LogLevel::warning, "'{}' is published, because it is not known whether {}: {}", description.display_path,
              description.analysis.publish_when, verdict.unknown);
    return false;
  }
  about.checksums = Checksums();
  file.get()->discard();
  file.found_removed();
  const std::lock_guard lock(mutex_);
  about.trace.note = "not published: in no step " + description.analysis.publish_when;
  return true;
}

// The file in whose place a copy has appeared; none if the program has given it another name meanwhile, or it is written in place.
std::optional<Engine::Replaced> Engine::replaced_by_copy(const Job& job) const {
  const auto& about = job.output->about();
  if (job.kind != Job::Kind::publish || !about.is_replaced_by_copy() || job.output->file().is_removed()) return std::nullopt;
  if (about.description.names.working_path == about.description.names.final_path) return std::nullopt;
  const store::File& file = *job.output->file().get();
  const std::string path = file.names().final_path;
  if (about.description.copies.each.front().path(path) != about.trace.copies.front().path) return std::nullopt;
  return Replaced{path, file.inode(), file.device()};
}

// Last of all: a kill before leaves two complete files, and none is reported as lost.
void Engine::remove(const Replaced& replaced) {
  struct stat status {};
  const bool is_it = lstat(replaced.path.c_str(), &status) == 0 && status.st_ino == replaced.inode && status.st_dev == replaced.device;
  if (is_it && calls_.unlink(replaced.path.c_str()) == 0) forget_sums(calls_, replaced.path);
}

// Of a step of an output everything is found out that will be.
void Engine::analysed(pool::OutputKey key) {
  const std::lock_guard lock(mutex_);
  if (OutputDrain* const output = find(key)) after_change(*output);
  pool::futex_signal(pool_.header().work);
}

// What was found out of an output, before it appears. Where there is none, or a table cannot be written, the file is whole without it, and
// that of an earlier file of its name goes.
void Engine::publish_tables(const Job& job) {
  const auto& about = job.output->about();
  const analysis::Request& request = about.description.analysis;
  store::File& file = *job.output->file().get();
  if (job.kind != Job::Kind::publish || !request.any() || !about.publishes()) return;
  if (job.output->file().is_unclosed() || !file.has_its_name() || is_hidden(file.names().final_path)) return;
  const std::string& path = about.description.display_path;
  const analysis::OutputResults results = analyst_.results(about.key);
  std::map<std::string, AnalysisTrace> analyses;
  for (const auto& [step, result] : results.steps()) {
    if (!result.left_out.empty()) base::log(base::LogLevel::warning, "'{}': step {} is not analysed: {}", path, step, result.left_out);
    for (const auto& [name, program] : result.programs) {
      AnalysisTrace& trace = analyses.try_emplace(name, AnalysisTrace{name, 0, 0, {}}).first->second;
      ++(program.left_out.empty() ? trace.steps : trace.steps_left_out);
      if (program.left_out.empty()) continue;
      trace.why = program.left_out;
      base::log(base::LogLevel::warning, "'{}': step {} is not analysed by '{}': {}", path, step, name, program.left_out);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, trace] : analyses) job.output->about().trace.analyses.push_back(std::move(trace));
  }
  const bool has_any = results.lost().empty() && !results.steps().empty();
  if (!has_any) {
    base::log(base::LogLevel::warning, "'{}' is not analysed: {}", path,
              results.lost().empty() ? "nothing that was put into it is known to be a variable" : results.lost());
  }
  const auto publish = [&](bool is_wanted, const char* name, auto table) {
    if (!is_wanted) return;
    try {
      if (has_any) return publish_table(calls_, file, name, table());
    } catch (const base::Error& error) {
      base::log(base::LogLevel::warning, "'{}': {}", path, error.what());
    }
    calls_.unlink(analysis::table_path(file.names().final_path, name).c_str());
  };
  publish(request.statistics, "statistics", [&] { return results.statistics_table(); });
  publish(request.histogram, "histogram", [&] { return results.histogram_table(); });
  for (const analysis::Program& each : request.programs) {
    publish(true, each.name().c_str(), [&] { return results.program_table(each.name()); });
  }
}

void Engine::have_copies(Job job, std::vector<CopyTrace> made) {
  job.has_copies = true;
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex_);
    job.output->about().trace.copies = std::move(made);
    has_failed = job.output->life().has_failed();   // meanwhile
    if (!has_failed) jobs_.add_first(job);
  }
  if (has_failed) return finish_job(job, nullptr);
  pool::futex_signal(pool_.header().work);
}

// The program may rename it up to now, and removes or renames it under its new name afterwards. False: it has another final name, or none,
// since it was looked at; of a file in place: another one has its name, or none.
bool Engine::takes_its_name(const Job& job) {
  store::File& file = *job.output->file().get();
  const pool::NameLog log(pool_.name(), pool::NameLog::Make::no);
  const auto now = pool::new_name_in(log, job.output->about().key);
  if (now && now->is_removed) {
    file.discard();
    return false;
  }
  const bool is_in_place = file.names().working_path == file.names().final_path;   // it has been moved, and stays where it is
  if (now && !is_in_place && now->final_path != file.names().final_path) {
    file.become(now->final_path);
    return false;
  }
  if (is_in_place && !file.has_its_name()) return false;
  file.take_name();
  tell_kept(log, file.names().final_path);
  return true;
}

// A file has appeared: outputs that the storage has refused are later than it (OutputFile::open), or it has taken the place of one.
void Engine::tell_kept(const pool::NameLog& log, const std::string& final_path) const {
  if (ranks_ == Ranks::gone || !pool::any_is_kept(pool_)) return;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = pool_.slot(index);
    if (!pool::is_kept(slot)) continue;
    try {
      const store::FileNames names = current_names(pool_, {index, slot.generation}, log);
      if (names.final_path == final_path) slot.is_renamed = pool::is_removed_output;
      else utimensat(AT_FDCWD, names.working_path.c_str(), nullptr, 0);
    } catch (const base::Error&) {
      // Recovery says what is wrong with it.
    }
  }
}

namespace {

// Which of two outputs of one name was written before. Of several nodes: by when node 0 has made their working files
// (.NAME.glean-PROCESS-TIME.part), since it may have nothing more of them.
bool was_before(const pool::Pool& pool, OutputDrain& one, OutputDrain& other) {
  const auto made_ns = [](OutputDrain& output) {
    const std::string& name = output.about().description.names.working_path;
    const std::size_t dash = name.rfind('-');
    return dash == name.npos || !name.ends_with(".part") ? 0 : std::strtoull(name.c_str() + dash + 1, nullptr, 10);
  };
  const auto first = made_ns(one), second = made_ns(other);
  if (pool.is_shared() && first != 0 && second != 0) return first < second;
  return one.about().trace.first_capture_ns < other.about().trace.first_capture_ns;
}

}  // namespace

// An output of the same name that was written before must not come after it. Without ranks such ones are completed together.
bool Engine::waits_for_older(const Job& job) {
  if (ranks_ == Ranks::working || job.kind != Job::Kind::publish) return false;
  const std::lock_guard lock(mutex_);
  const auto& path = job.output->about().description.names.final_path;
  const bool waits = std::any_of(outputs_.begin(), outputs_.end(), [&](const auto& each) {
    OutputDrain& other = *each.second;
    return &other != job.output && other.stream() != nullptr && !other.life().has_failed() &&
           other.about().description.names.final_path == path && was_before(pool_, other, *job.output);
  });
  if (waits) jobs_.add(job);
  return waits;
}

// Files that the program has removed may be about to go, and with them what the storage lacks. The job is done again when one more output
// has ended.
bool Engine::waits_for_room(const Job& job, const base::Error& error) {
  const bool waits = error.code() == base::Errc::no_space && job.kind == Job::Kind::window && job.output->life().waits_for_room();
  if (waits) without_room_.push_back(job);
  return waits;
}

// The storage has refused it, and a rank asks for another try. It begins with what journals have of it, as another drain's would. All of
// that must have been passed: what is read later would look as if it had been written.
void Engine::adopt_again(pool::OutputKey key) {
  std::map<std::uint64_t, std::pair<const pool::Record*, pool::JournalReader*>> writes;   // by number
  for (std::size_t rank = 0; rank < journals_.size(); ++rank) {
    if (damages_[rank]) continue;
    try {
      const pool::Record* const unread = journals_[rank].peek();
      bool was_read = true;
      pool::JournalReader all(pool_, static_cast<int>(rank), pool::JournalReader::Purpose::look);
      for (const pool::Record* record; (record = all.peek()) != nullptr; all.advance()) {
        was_read = was_read && record != unread;
        if (record->slot != key.slot || record->generation != key.generation) continue;
        if (!was_read) return;
        writes.emplace(pool::WriteStamp::of(record->step).number, std::pair(record, &journals_[rank]));
      }
    } catch (const base::Error&) {
      return;   // the engine says so when it reads that journal
    }
  }
  postponed_.erase(key);
  adopt(key, Adoption::again);
  OutputDrain& output = *find(key);
  const std::string& path = output.about().trace.path;
  std::erase_if(trace_.outputs, [&](const OutputTrace& each) { return each.state == "postponed" && each.path == path; });
  const auto pass_to = [&](std::uint64_t number) {   // those between were retired out of turn
    if (output.stream()->waits_for_write_before(number)) output.stream()->pass_over_to(number);
  };
  for (const auto& [number, write] : writes) {
    pass_to(number);
    output.on_put(*write.first, *write.second);
  }
  pass_to(pool::writes_begun(output.about().slot));
}

void Engine::try_again_with_room() {
  if (without_room_.empty()) return;
  const bool any_has_ended = std::exchange(ended_when_room_was_lacking_, trace_.outputs.size()) != trace_.outputs.size();
  const auto is_over = [&](const Job& job) { return any_has_ended || !job.output->life().waits_for_room(); };
  const auto first = std::stable_partition(without_room_.begin(), without_room_.end(), [&](const Job& job) { return !is_over(job); });
  std::for_each(first, without_room_.end(), [&](Job& job) { jobs_.add(std::move(job)); });
  without_room_.erase(first, without_room_.end());
}

}  // namespace glean::drain
