// SPDX-License-Identifier: BSD-3-Clause
#include "cli/executable.hpp"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace glean::cli {
namespace {

// The dynamic linker that the file asks for: empty if it asks for none. Nothing: it is no program of this kind of machine.
std::optional<std::string> interpreter_of(std::ifstream& file) {
  Elf64_Ehdr header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + static_cast<std::uint64_t>(i) * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return std::nullopt;
    if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > 4096) continue;
    std::string name(segment.p_filesz - 1, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(name.data(), static_cast<std::streamsize>(name.size()))) return std::nullopt;
    return name;
  }
  return "";
}

// What a command prints on standard output. The environment without what is preloaded, whose libraries would be listed too.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LD_PRELOAD=")) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; error == 0 && (count = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return text;
}

// Other dynamic linkers might run the program.
std::vector<std::string> libraries_of(const std::string& path, const std::string& interpreter) {
  std::vector<std::string> libraries;
  const std::string linker = interpreter.substr(interpreter.rfind('/') + 1);
  if (!linker.starts_with("ld-linux") && !linker.starts_with("ld64.so")) return libraries;
  std::istringstream lines(output_of({interpreter, "--list", path}));
  for (std::string line; std::getline(lines, line);) {
    std::string name;
    if (std::istringstream(line) >> name) libraries.push_back(name.substr(name.rfind('/') + 1));
  }
  return libraries;
}

}  // namespace

std::string find_program(const std::string& word) {
  const auto can_be_run = [](const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (word.empty()) return "";
  if (word.find('/') != std::string::npos) return can_be_run(word) ? word : "";
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + word;
    if (can_be_run(candidate)) return candidate;
  }
  return "";
}

Executable examine(const std::string& path) {
  Executable found{.path = path, .libraries = {}};
  struct stat status {};
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> magic{};
  if (stat(path.c_str(), &status) != 0 || !file.read(magic.data(), magic.size())) return found;
  found.changes_user = (status.st_mode & (S_ISUID | S_ISGID)) != 0 || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (magic[0] == '#' && magic[1] == '!') {
    found.kind = Executable::Kind::script;
    return found;
  }
  const auto interpreter = interpreter_of(file);
  if (!interpreter) return found;
  found.kind = interpreter->empty() ? Executable::Kind::statically_linked : Executable::Kind::dynamic;
  found.libraries = libraries_of(path, *interpreter);
  return found;
}

Executable examine_library(const std::string& path) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  return {.path = path, .kind = Executable::Kind::dynamic, .libraries = libraries_of(path, interpreter_of(self).value_or(""))};
}

// libmpi.so.12 is MPICH's name of old, and that of libraries with its binary interface.
MpiLibrary mpi_of(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (library == "libmpi.so.12" || library.starts_with("libmpich.so") || library.starts_with("libmpichfort.so")) return MpiLibrary::mpich;
    if (library.starts_with("libmpi.so")) return MpiLibrary::open_mpi;
  }
  return MpiLibrary::none;
}

const char* name_of(MpiLibrary mpi) {
  switch (mpi) {
    case MpiLibrary::open_mpi: return "Open MPI";
    case MpiLibrary::mpich: return "MPICH";
    case MpiLibrary::none: break;
  }
  return "no MPI";
}

}  // namespace glean::cli
