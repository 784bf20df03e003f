// SPDX-License-Identifier: BSD-3-Clause
#include "session/remote_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/clock.hpp"
#include "session/agreement.hpp"
#include "session/input.hpp"
#include "staging/remote_files.hpp"
#include "store/completeness.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/unclosed.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::session {
namespace {

using staging::FileStatus;
using staging::RemoteFiles;

class StagersFile final : public store::FileSource {
 public:
  StagersFile(RemoteFiles& files, FileStatus file) : files_(files), file_(std::move(file)) {}
  [[nodiscard]] base::Bytes bytes() const override { return file_.bytes; }
  [[nodiscard]] std::size_t read_at(std::span<std::byte> into, base::Bytes offset) const override {
    return files_.read(file_, into, offset);
  }

 private:
  RemoteFiles& files_;
  FileStatus file_;
};

// Also what may not be looked at here: opening it says why.
bool is_here(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

double deadline_of(const Core& core, double seconds) { return seconds < 0 ? core.deadline_seconds() : seconds; }

[[noreturn]] void refuse(base::Errc code, const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw base::Error(code, "cannot read '" + path + "': " + what, hint);
}

// What leads nowhere at the stagers is nowhere.
FileStatus look_there(Core& core, const std::string& path, double seconds) {
  FileStatus found;
  const auto error = caught([&] { found = core.files_of_stagers()->status(path, deadline_of(core, seconds)); });
  if (error && error->code() == base::Errc::permission) {
    refuse(base::Errc::not_found, path, std::string("it is not on this host, and ") + error->what(), error->hint());
  }
  if (error) throw base::Error(*error);
  if (found.kind == FileStatus::Kind::none) refuse(base::Errc::not_found, path, "it is neither on this host nor where the stagers are");
  return found;
}

std::unique_ptr<Reader> open_there(Core& core, const std::string& path, const FileStatus& found) {
  if (found.kind == FileStatus::Kind::directory) refuse(base::Errc::invalid_argument, path, "it is a directory");
  if (found.kind != FileStatus::Kind::file) refuse(base::Errc::invalid_argument, path, "it is not a regular file");
  auto source = std::make_unique<StagersFile>(*core.files_of_stagers(), found);
  return open_reader(std::move(source), path);
}

// By any of its names; one that leads there by another link where the directory is here, too.
std::shared_ptr<PoolOutput> output_of(Core& core, const std::string& path) {
  PoolOutputs& outputs = core.outputs();
  if (auto output = outputs.find(RemoteFiles::absolute(path))) return output;
  std::string final_path;
  if (caught([&] { final_path = store::resolved_path(path); })) return nullptr;
  std::shared_ptr<PoolOutput> newest;
  for (const auto which : {PoolOutputs::ByThisRank::closed, PoolOutputs::ByThisRank::open}) {
    for (const auto& output : outputs.list(which)) {
      const auto elsewhere = caught([&] {
        if (store::resolved_path(output->name.files().final_path) == final_path) newest = output;
      });
      static_cast<void>(elsewhere);   // its directory is not here, so it has no other name here
    }
  }
  return newest;
}

// Whether any of them was not.
bool wait_until_published(RemoteFiles& files, const std::vector<FileStatus>& found, double seconds) {
  const std::uint64_t begin_ns = base::now_ns();
  bool have_waited = false;
  for (const FileStatus& each : found) {
    if (!each.is_draining) continue;
    static_cast<void>(files.status(each.path, std::max(0.0, seconds - base::seconds(base::now_ns() - begin_ns))));
    have_waited = true;
  }
  return have_waited;
}

}  // namespace

std::unique_ptr<Reader> open_here_or_there(Core& core, const std::string& path, double seconds) {
  if (core.files_of_stagers() == nullptr || is_here(path)) return open_file(path);
  return open_there(core, path, look_there(core, path, seconds));
}

FoundThere find_there(Core& core, const std::string& path, double seconds) {
  FoundThere found;
  if (core.files_of_stagers() == nullptr || is_here(path)) return found;
  const FileStatus status = look_there(core, path, seconds);
  if (status.path.size() >= found.path.size()) throw base::system_error(ENAMETOOLONG, "cannot read '" + path + "'");
  status.path.copy(found.path.data(), status.path.size());
  found.bytes = status.bytes;
  found.inode = status.inode;
  return found;
}

std::unique_ptr<Reader> open_found(Core& core, const std::string& path, const FoundThere& found) {
  if (found.path[0] == '\0' || is_here(path)) return open_here_or_there(core, path, -1);
  FileStatus status;
  status.kind = FileStatus::Kind::file;
  status.path = found.path.data();
  status.bytes = found.bytes;
  status.inode = found.inode;
  return open_there(core, path, status);
}

std::unique_ptr<Reader> open_where_stagers_write(Core& core, const std::string& path, const InputOptions& options) {
  if (const auto output = output_of(core, path)) {
    const store::FileNames& names = output->name.files();
    const bool is_in_place = names.working_path == names.final_path;   // the stagers choose other working names
    if (options.reading == Reading::written && !output->closed && !is_in_place) {
      throw base::Error(base::Errc::unsupported, "cannot read '" + path + "': stagers write it, and it is not closed",
                        "close it before it is read");
    }
    static_cast<void>(core.outputs().wait_to_read(*output, is_in_place ? options : InputOptions{Reading::published, options.seconds}));
  } else if (const auto failure = core.past().failure(RemoteFiles::absolute(path))) {
    throw base::Error(*failure);
  }
  return open_here_or_there(core, path, options.seconds);
}

std::vector<FileStatus> list_there(Core& core, const std::string& pattern, double seconds) {
  RemoteFiles* const files = core.files_of_stagers();
  if (files == nullptr) return {};
  const bool is_absolute = pattern.starts_with('/');
  const std::string here = std::filesystem::current_path().string() + "/";
  if (!is_absolute && here.find_first_of("*?[\\") != here.npos) return {};
  std::string wanted = is_absolute ? pattern : here + pattern;
  while (wanted.find("/./") != wanted.npos) wanted.erase(wanted.find("/./"), 2);
  std::vector<FileStatus> found;
  const auto error = caught([&] {
    found = files->list(wanted);
    if (wait_until_published(*files, found, deadline_of(core, seconds))) found = files->list(wanted);
  });
  if (error && error->code() != base::Errc::permission) throw base::Error(*error);
  std::erase_if(found, [](const FileStatus& each) { return each.kind == FileStatus::Kind::none; });   // closed since
  for (FileStatus& each : found) {
    if (!is_absolute && each.path.starts_with(here)) each.path.erase(0, here.size());
  }
  return found;
}

std::optional<std::string> why_incomplete_there(Core& core, const std::string& path, double seconds) {
  RemoteFiles& files = *core.files_of_stagers();
  const double deadline = deadline_of(core, seconds);
  const FileStatus found = files.status(path, deadline);
  if (found.kind == FileStatus::Kind::none) return "it is gone";
  if (found.kind != FileStatus::Kind::file) {
    return found.kind == FileStatus::Kind::directory ? "it is a directory" : "it is not a regular file";
  }
  const auto part = store::parse_part_path(path);
  if (part && files.status(store::index_path(path), deadline).kind != FileStatus::Kind::none) {
    return fmt::format("it is a part of {}, see glean-join(1)", std::filesystem::path(part->path).filename().string());
  }
  if (store::is_unclosed_path(path)) return "not all ranks had closed it, see glean-recover(1)";
  std::optional<store::Sidecar> sidecar;
  const FileStatus beside = files.status(store::sidecar_path(found.path), deadline);
  if (beside.kind == FileStatus::Kind::file) {
    sidecar = store::Sidecar::decode(store::InputFile(std::make_unique<StagersFile>(files, beside)).read_all());
  }
  return store::why_incomplete(store::InputFile(std::make_unique<StagersFile>(files, found)), sidecar);
}

}  // namespace glean::session
