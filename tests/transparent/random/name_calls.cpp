// SPDX-License-Identifier: BSD-3-Clause
// What a scenario does around its files, and what a rank then sees by plain calls of the system.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "execution.hpp"

namespace transparent {
namespace {

int errno_of(int result) { return result == 0 ? 0 : errno; }

int make_plain(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return errno;
  const bool written = std::fputs(marker_text, file) >= 0;
  return std::fclose(file) == 0 && written ? 0 : errno;
}

int cut_by_open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_TRUNC);
  if (descriptor < 0) return errno;
  return errno_of(close(descriptor));
}

// Past the C library, so that no library under the program sees it: what another host would find.
std::string read_as_others(const std::string& path, bool& is_there) {
  std::string bytes;
  const long descriptor = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY);
  is_there = descriptor >= 0;
  char buffer[65536];
  for (long count; is_there && (count = syscall(SYS_read, descriptor, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  if (is_there) syscall(SYS_close, descriptor);
  return bytes;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* entries = opendir(directory.c_str());
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries)) names.emplace_back(entry->d_name);
  if (entries != nullptr) closedir(entries);
  return names;
}

// Past the C library, too.
std::string listed_as_others(const std::string& directory) {
  std::string listed;
  const long descriptor = syscall(SYS_openat, AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return std::strerror(errno);
  alignas(dirent64) char buffer[8192];
  for (long count; (count = syscall(SYS_getdents64, descriptor, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; at < count; at += reinterpret_cast<const dirent64*>(buffer + at)->d_reclen) {
      const std::string name = reinterpret_cast<const dirent64*>(buffer + at)->d_name;
      if (name != "." && name != "..") listed += (listed.empty() ? "" : " ") + name;
    }
  }
  syscall(SYS_close, descriptor);
  return listed.empty() ? "nothing" : listed;
}

// GLEAN does not know a file that is written in place by its other hard links: what walks through names waits for all files.
void wait_for_all(const std::string& directory) {
  glob_t found{};
  if (glob((directory + "/*").c_str(), 0, nullptr, &found) == 0) globfree(&found);
}

}  // namespace

std::string Execution::there() const { return "; there is " + listed_as_others(directory_); }

void Execution::close(int file, int number) {
  Opened& opened = this->opened(file);
  tell(number, step_begun);
  ok(MPI_File_close(&opened.handle), -1, "close");
  tell(number, closed);
  MPI_Barrier(opened.comm);
  model_.close(file);
}

void Execution::names(const Step& step, int number) {
  Opened& opened = this->opened(step.file);
  const NamesPlan& plan = step.names;
  const int colours = static_cast<int>(model_.file(step.file).nodes.size());
  int size = 1;
  MPI_Comm_size(opened.comm, &size);
  if (plan.while_open) {
    tell(number, step_begun);
    synchronize(step.file);
    for (int colour = 0; colour < colours; ++colour) {   // what a look finds
      const ModelFile& file = model_.file(step.file);
      model_.directory().contents(file.nodes[static_cast<std::size_t>(colour)]) = file.contents[static_cast<std::size_t>(colour)];
    }
  } else {
    close(step.file, number);
  }
  int last = -1, event = first_call;
  for (const NameCall& call : plan.calls) {
    const int place = call.place % size;
    if (last >= 0 && place != last) MPI_Barrier(opened.comm);
    last = place;
    for (int colour = 0; colour < colours; ++colour) {
      const std::string from = model_.name_of(step.file, colour, call.from), to = model_.name_of(step.file, colour, call.to);
      const int expected = model_.directory().expect(call, from, to);
      if (expected < 0) continue;
      if (colour == colour_of(step.file) && place == place_of(step.file)) {
        tell(number, event);
        const int found = make(call, from, to);
        if (where_.witness != nullptr) where_.witness->tell(number, event + 1, found);
        const bool as_expected = call.kind == NameCallKind::remove_by_mpi ? (found == 0) == (expected == 0) : found == expected;
        if (!as_expected) {
          failed(number, text_of(call) + ": " + (found == 0 ? "no error" : std::strerror(found)) + " instead of " +
                             (expected == 0 ? "no error" : std::strerror(expected)));
        }
      }
      if (expected == 0) model_.directory().apply(call, from, to);
      if (call.kind == NameCallKind::link) model_.file(step.file).has_been_linked = true;
    }
    event += 2;
    if (call.kind == NameCallKind::make && place == place_of(step.file)) compare_published(step.file, number);
    if (call.look == Look::none) continue;
    MPI_Barrier(opened.comm);
    if (place_of(step.file) == call.looker % size) look(step.file, call.look, number);
    MPI_Barrier(opened.comm);
  }
  MPI_Barrier(opened.comm);
  if (plan.while_open) return;
  tell(number, opening_again);
  model_.open(step.file, plan.open_as);
  open(step.file);
  tell(number, opened_again);
  if (!plan.cut_first) return;
  ok(MPI_File_set_size(opened.handle, 0), number, "set_size");
  model_.set_size(step.file, 0);
}

int Execution::make(const NameCall& call, const std::string& from, const std::string& to) {
  const std::string old = path_of(from), path = path_of(to);
  switch (call.kind) {
    case NameCallKind::remove: return errno_of(unlink(old.c_str()));
    case NameCallKind::remove_by_mpi: return MPI_File_delete(old.c_str(), MPI_INFO_NULL) == MPI_SUCCESS ? 0 : EIO;
    case NameCallKind::move: return errno_of(rename(old.c_str(), path.c_str()));
    case NameCallKind::link: return errno_of(::link(old.c_str(), path.c_str()));
    case NameCallKind::symbolic_link: return errno_of(symlink(from.c_str(), path.c_str()));
    case NameCallKind::cut: return errno_of(truncate(old.c_str(), call.bytes));
    case NameCallKind::cut_by_open: return cut_by_open(old);
    case NameCallKind::make: return make_plain(path);
  }
  return EINVAL;
}

void Execution::look(int file, Look look, int number) {
  const std::string base = base_name(file, colour_of(file));
  const auto& entries = model_.directory().entries();
  // Under GLEAN on several nodes, a rank that lists a directory, or waits for all, waits for files of other communicators that are closed
  // on this node only: two nodes may wait for each other.
  const Members members = scenario_.files[static_cast<std::size_t>(file)].members;
  const bool others_wait = members == Members::world || number < 0;
  if (model_.file(file).has_been_linked) {
    if (members == Members::self && number >= 0) return;   // the ranks of another communicator wait in each step for each other
    wait_for_all(directory_);
  }
  if (look == Look::list && others_wait) {
    std::vector<std::string> found = names_in(directory_);
    std::sort(found.begin(), found.end());
    for (const std::string& name : found) {
      if (name.starts_with(base) && !entries.contains(name)) failed(number, name + " is listed, and should not be there");
      if (name.ends_with(".removed")) failed(number, name + " is listed");
    }
    for (const auto& [name, entry] : entries) {
      const ModelFile& model = model_.file(file);   // an open one is listed by a working name
      const bool is_open = opened(file).handle != MPI_FILE_NULL;
      if (!name.starts_with(base) || (is_open && model.nodes[static_cast<std::size_t>(colour_of(file))] == entry.node)) continue;
      if (!std::binary_search(found.begin(), found.end(), name)) failed(number, name + " is not listed");
    }
  }
  for (int i = 0; i < static_cast<int>(suffixes.size()); ++i) {
    const std::string name = name_of(file, colour_of(file), i);
    const auto entry = entries.find(name);
    struct stat status{};
    if (entry != entries.end()) {
      look_at(file, name, entry->second, look != Look::ask, number);
    } else if (lstat(path_of(name).c_str(), &status) == 0) {
      failed(number, name + " is there, and should not be");
    }
  }
}

void Execution::look_at(int file, const std::string& name, const Entry& entry, bool read, int number) {
  const std::string path = path_of(name);
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return failed(number, name + " is not there: " + std::strerror(errno));
  if (S_ISLNK(status.st_mode) != (entry.node < 0)) {
    return failed(number, name + " should be " + (entry.node < 0 ? "a symbolic link" : "a file"));
  }
  if (entry.node < 0) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(path, error).string();
    if (target != entry.target) failed(number, name + " leads to " + target + " instead of " + entry.target);
    return;
  }
  Contents& contents = model_.directory().contents(entry.node);
  const int links = model_.directory().links(entry.node);
  if (static_cast<int>(status.st_nlink) != links) {
    failed(number, name + " has " + std::to_string(status.st_nlink) + " links instead of " + std::to_string(links));
  }
  if (status.st_size != static_cast<off_t>(contents.bytes.size())) {
    failed(number, name + " has " + std::to_string(status.st_size) + " bytes, says stat, instead of " +
                       std::to_string(contents.bytes.size()));
  }
  if (!read) return;
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  bytes_compared_ += static_cast<std::int64_t>(bytes.size());
  if (const auto wrong = contents.difference(bytes)) {
    failed(number, (opened(file).handle == MPI_FILE_NULL ? "the closed file " : "the open file ") + name + " " + *wrong);
  }
}

void Execution::compare_published(int file, int number) {
  const std::string base = base_name(file, colour_of(file));
  for (const auto& [name, entry] : model_.directory().entries()) {
    if (!name.starts_with(base) || entry.node < 0) continue;
    bool is_there = false;
    const std::string bytes = read_as_others(path_of(name), is_there);
    if (!is_there) {
      failed(number, name + " is not there for others, though its marker is");
    } else if (const auto wrong = model_.directory().contents(entry.node).difference(bytes)) {
      failed(number, "others, which have the marker, see that " + name + " " + *wrong);
    }
  }
}

void Execution::second_handle(const Step& step, int number) {
  const SecondHandle& second = step.second;
  const int place = place_of(step.file);
  Opened& opened = this->opened(step.file);
  int size = 1;
  MPI_Comm_size(opened.comm, &size);
  if (!model_.may_open_twice(second, step.file)) return;   // another file, or none; the same in all communicators
  synchronize(step.file);
  const bool takes_part = second.comm == SecondComm::all || (second.comm == SecondComm::half && place % 2 == 0) ||
                          (second.comm == SecondComm::self && place == second.place % size);
  MPI_Comm comm;
  MPI_Comm_split(opened.comm, takes_part ? 0 : MPI_UNDEFINED, place, &comm);
  if (comm != MPI_COMM_NULL) {
    use_second_handle(comm, step, number);
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(opened.comm);
  model_.write_twice(step, number);
  if (second.write) synchronize(step.file);
}

void Execution::use_second_handle(MPI_Comm comm, const Step& step, int number) {
  const SecondHandle& second = step.second;
  const Contents& contents = model_.contents(step.file, rank_);
  const int colour = colour_of(step.file);
  const std::string path = path_of(model_.name_of(step.file, colour, second.name));
  MPI_File file;
  const int mode = second.write ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  const int code = MPI_File_open(comm, path.c_str(), mode, MPI_INFO_NULL, &file);
  ok(code, number, "open of a second handle");
  if (code != MPI_SUCCESS) return;
  std::string bytes(contents.bytes.size(), '\0');
  MPI_Status status;
  int count = 0;
  ok(MPI_File_read_at(file, 0, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, &status), number, "read by a second handle");
  MPI_Get_count(&status, MPI_BYTE, &count);
  bytes.resize(static_cast<std::size_t>(count));
  bytes_compared_ += count;
  if (const auto wrong = contents.difference(bytes)) failed(number, "the file, as a second handle reads it, " + *wrong);
  MPI_Barrier(comm);
  int place = 0;
  MPI_Comm_rank(comm, &place);
  if (second.write && place == 0) {
    const std::vector<std::uint8_t> data = second_data(scenario_, step, number, colour);
    ok(MPI_File_write_at(file, second.offset, data.data(), second.bytes, MPI_BYTE, MPI_STATUS_IGNORE), number, "write by a second handle");
  }
  ok(MPI_File_close(&file), number, "close of a second handle");
}

}  // namespace transparent
