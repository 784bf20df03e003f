// SPDX-License-Identifier: BSD-3-Clause
#include "session/append.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/encoding.hpp"
#include "base/log.hpp"
#include "drain/checksums.hpp"
#include "service/remains.hpp"
#include "session/agreement.hpp"
#include "session/formats.hpp"
#include "session/messages.hpp"
#include "store/format/cdf/header.hpp"

namespace glean::session {
namespace {

constexpr useconds_t nap_us = 1000;

[[noreturn]] void refuse(base::Errc code, const std::string& path, const std::string& why, const std::string& hint) {
  throw base::Error(code, "cannot append to '" + path + "': " + why, hint);
}

// A lock of an open file and not of a process: the drain opens and closes the same file, and would take the other kind away with that.
class FileLock {
 public:
  // Where the file system has no locks it does nothing.
  FileLock(const std::string& file, const std::string& path) : descriptor_(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {
    if (descriptor_ < 0) throw base::system_error(errno, "cannot append to '" + path + "'");
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(descriptor_, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)) return;
    ::close(descriptor_);
    refuse(base::Errc::invalid_state, path, "another job, or a session of this one, is appending to it", "wait until that is over");
  }
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

void require_records(const store::CdfHeader& header, const std::string& path) {
  const auto& dimensions = header.definitions.dimensions;
  const bool has_records = std::any_of(dimensions.begin(), dimensions.end(), [](const auto& one) { return one.unlimited; });
  if (!has_records) {
    refuse(base::Errc::invalid_argument, path, "it has no unlimited dimension, so it cannot become longer", "write another file");
  }
}

store::CdfHeader header_of(const std::string& file, const std::string& path) {
  try {
    store::SystemCalls calls;
    const store::InputFile input(calls, file);
    return store::read_cdf_header(input);
  } catch (const base::Error& error) {
    const bool is_no_netcdf = std::string(error.what()).find("it is no classic NetCDF file") != std::string::npos;
    if (!is_no_netcdf) refuse(error.code(), path, error.what(), error.hint());
    refuse(base::Errc::unsupported, path, error.what(), "steps are added to NetCDF files of the formats CDF-1, CDF-2 and CDF-5");
  }
}

// What a job that was killed has left behind the last record that counts goes: holes of new records read as zeros.
base::Bytes cut_to(const FileLock& lock, base::Bytes least, base::Bytes bytes, const std::string& path) {
  struct stat status {};
  if (fstat(lock.descriptor(), &status) != 0) throw base::system_error(errno, "cannot append to '" + path + "'");
  const auto there = static_cast<base::Bytes>(status.st_size);
  if (there < least) refuse(base::Errc::io, path, "it ends within what its header says is there: it was cut short", "take another copy");
  if (there <= bytes) return there;
  if (ftruncate(lock.descriptor(), static_cast<off_t>(bytes)) != 0) throw base::system_error(errno, "cannot cut '" + path + "'");
  return bytes;
}

std::vector<std::byte> encode(const Addition& addition) {
  base::Encoder out;
  out.bytes(addition.definitions.encode());
  out.bytes(addition.layout.encode());
  out.number(addition.earlier.records);
  out.number(addition.earlier.bytes);
  return out.take();
}

void decode(std::span<const std::byte> bytes, Addition& addition) {
  base::Decoder in(bytes, "the header of a file that is added to");
  addition.definitions = mesh::Definitions::decode(in.bytes());
  addition.layout = store::FileLayout::decode(in.bytes());
  addition.earlier.records = in.number();
  addition.earlier.bytes = in.number();
  in.expect_end();
}

// A recovery that comes later would write what that job has captured where this one has put its own.
void require_nothing_left(const std::string& file, const std::string& path, const pool::PoolHeader& own) {
  const std::string session(own.session.data(), strnlen(own.session.data(), own.session.size()));
  for (const std::string& pool : service::pool_names()) {
    const service::Remains remains = service::look_at(pool);
    if (!remains.session.empty() && remains.session == session) continue;   // another node that this one plays lets go in its own time
    for (const service::RemainingOutput& left : remains.outputs) {
      if (left.final_path != file) continue;
      if (remains.ranks_live) refuse(base::Errc::invalid_state, path, "another job has it open", "wait until that is over");
      refuse(base::Errc::invalid_state, path, "a job that was killed has captured steps of it, which are on this node",
             "`glean recover` adds them, `glean recover --discard` lets go of them");
    }
  }
}

// On rank 0.
std::shared_ptr<Addition> look_into(const std::string& file, const std::string& path, const pool::PoolHeader& own) {
  auto lock = std::make_shared<FileLock>(file, path);
  require_nothing_left(file, path, own);
  store::CdfHeader header = header_of(file, path);   // behind the lock: another job may have added to it
  require_records(header, path);
  auto addition = std::make_shared<Addition>();
  // What was not put may be missing: of the last record, and where there is none before it, of what is not per step.
  const base::Bytes least = header.records > 1 ? store::bytes_of_records(header, header.records - 1) : header.layout.header_bytes;
  addition->earlier = {header.records, cut_to(*lock, least, store::bytes_of_records(header, header.records), path)};
  addition->lock = std::move(lock);
  for (store::VariableLayout& variable : header.layout.variables) {
    if (!variable.per_step()) continue;
    if (!variable.has_room_for(header.records)) {
      refuse(base::Errc::out_of_range, path, "no file has room for one more record", "write another file");
    }
    variable.begin_bytes = variable.record_begin_bytes(header.records);
  }
  addition->definitions = std::move(header.definitions);
  addition->layout = std::move(header.layout);
  return addition;
}

Format format_named(std::string_view name) {
  return name == "cdf1" ? Format::cdf1 : name == "cdf2" ? Format::cdf2 : Format::cdf5;
}

// What this session has closed of that name comes first. False: it has failed, and not all ranks know.
bool wait_for_earlier_output(Core& core, const std::string& file, const std::string& path) {
  const std::uint64_t begin = base::now_ns();
  while (const auto output = core.outputs().find(file)) {
    if (!output->closed) refuse(base::Errc::invalid_state, path, "this session has it open", "close it first");
    const auto error = caught([&] { static_cast<void>(core.outputs().wait_to_read(*output, {Reading::published, -1})); });
    if (error && error->code() == base::Errc::timeout) throw base::Error(*error);
    if (core.outputs().failed_unnoticed() != 0) return false;
    core.outputs().forget_finished();   // and its lock, as soon as the drain has let go of it
    if (error && base::seconds(base::now_ns() - begin) > core.deadline_seconds()) throw base::Error(*error);
    if (error) usleep(nap_us);
  }
  return true;
}

}  // namespace

std::unique_ptr<Output::Impl> append(const std::shared_ptr<Core>& core, const std::string& path) {
  core->require_usable("append");
  core->require_question("append");
  if (path.find('\0') != path.npos) throw base::Error(base::Errc::invalid_argument, "the path of an output has a zero byte");
  if (core->parts().count > 1) {
    refuse(base::Errc::unsupported, path, "outputs of this session are several files (plan.files)", "plan.files = 1");
  }

  Opening opening{path, {}, {}, {}, nullptr, false};
  std::shared_ptr<Addition> addition;
  InCall in_call(core->collective(), Call::open, path);
  in_call.set_busy(core->is_root());
  struct Decision {
    base::OutputSettings settings;
    std::uint64_t failed_before = 0;   // closed outputs; if there are any, nothing is opened
  };
  const auto decide = [&](Decision& decision) {
    base::OutputSettings& settings = decision.settings;
    settings = core->settings().for_output(path);
    core->restrict_to_what_several_nodes_can(settings, path);
    if (!base::captures(settings.mode) || core->pool().is_staged()) {
      refuse(base::Errc::unsupported, path, "steps are not added to files in the modes passthrough, collective and staged",
             "set the mode of this file, or of the job, to threaded or dedicated");
    }
    settings.publish = base::Publish::in_place;
    if (std::exchange(settings.checksums, false)) {
      base::log(base::LogLevel::info, "'{}' has no checksums any more: it is appended to", path);
    }
    opening.names = store::choose_names(path, settings.publish, false, {});
    const bool is_settled = wait_for_earlier_output(*core, opening.names.final_path, path);
    decision.failed_before = is_settled ? 0 : core->outputs().failed_unnoticed();
    if (!is_settled) return;
    if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
      refuse(base::Errc::not_found, path, "there is no such file", "open() makes a new one");
    }
    addition = look_into(opening.names.final_path, path, core->pool().header());
    store::SystemCalls calls;
    drain::forget_sums(calls, opening.names.final_path);
  };
  auto decision = on_root<Decision>(core->comm(), decide);
  while (decision.failed_before != 0) {
    if (const auto failure = core->outputs().announce(decision.failed_before)) throw base::Error(*failure);
    decision = on_root<Decision>(core->comm(), decide);
  }
  opening.settings = decision.settings;
  in_call.set_busy(false);
  const std::vector<std::byte> message = message_of_root(core->comm(), core->is_root() ? encode(*addition) : std::vector<std::byte>());
  if (!core->is_root()) decode(message, *(addition = std::make_shared<Addition>()));

  opening.name = OutputName(path, opening.settings.publish, {}, core->is_root() ? std::optional(opening.names) : std::nullopt);
  opening.format = &formats().find(addition->layout.format);
  opening.addition = addition;
  auto convention = convention_of(format_named(addition->layout.format));
  auto impl = std::make_unique<Output::Impl>(core, path, *opening.format, std::move(convention), make_threaded_backend(core, opening),
                                             base::PrecisionSettings{});   // types are those of the file
  impl->take_definitions(addition->definitions);
  impl->end_definitions();
  return impl;
}

}  // namespace glean::session
