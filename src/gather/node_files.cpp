// SPDX-License-Identifier: BSD-3-Clause
#include "gather/node_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <filesystem>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gather/directory_names.hpp"

namespace glean::gather {
namespace {

constexpr const char* shared_memory = "/dev/shm/";
constexpr Bytes left_to_others = 64 * base::MiB;   // of shared memory that is free

std::string prefix_of_user() { return fmt::format("glean-files.{}.", getuid()); }

std::string read_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw base::system_error(errno, "cannot read '" + path + "'");
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(descriptor, part.data(), part.size())) > 0;) text.append(part.data(), static_cast<std::size_t>(size));
  close(descriptor);
  return text;
}

// Under its name at once with all that is in it.
void write_file(const std::string& path, const std::string& text) {
  const std::string working = fmt::format("{}.{}.{}", path, getpid(), base::now_ns());
  const int descriptor = open(working.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) throw base::system_error(errno, "cannot make '" + path + "'");
  const bool is_whole = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(descriptor);
  if (is_whole && rename(working.c_str(), path.c_str()) == 0) return;
  unlink(working.c_str());
  throw base::system_error(is_whole ? errno : error, "cannot write '" + path + "'");
}

std::string print(const NodeSettings& settings) {
  std::string text = fmt::format("budget\t{}\nnode\t{}\nranks\t{}\nspill\t{}\nrun\t{}\n", settings.budget_bytes, settings.node,
                                 settings.ranks, settings.spill_directory, settings.run_directory);
  for (const RuleText& rule : settings.rules) text += fmt::format("rule\t{}\t{}\n", rule.pattern, rule.into);
  return text;
}

template <class Number>
void parse_number(const std::string& text, Number& number) { std::from_chars(text.data(), text.data() + text.size(), number); }

NodeSettings parse(const std::string& text) {
  NodeSettings settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    const std::string key = line.substr(0, tab), value = line.substr(tab + 1);
    if (key == "budget") parse_number(value, settings.budget_bytes);
    else if (key == "node") parse_number(value, settings.node);
    else if (key == "ranks") parse_number(value, settings.ranks);
    else if (key == "spill") settings.spill_directory = value;
    else if (key == "run") settings.run_directory = value;
    else if (const std::size_t second = value.find('\t'); key == "rule" && second != value.npos) {
      settings.rules.push_back({value.substr(0, second), value.substr(second + 1)});
    }
  }
  return settings;
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

Family read_family(const std::string& directory) {
  const std::string text = read_file(directory + "/container");
  const std::size_t tab = text.find('\t');
  std::size_t rule = 0;
  parse_number(text.substr(0, tab), rule);
  return {directory, tab == text.npos ? text : text.substr(tab + 1), rule};
}

// A number is where a link leads: it is there as a whole or not at all.
std::optional<Bytes> noted_length(const std::string& link) {
  std::optional<Bytes> found;
  std::array<char, 32> text{};
  const ssize_t size = readlink(link.c_str(), text.data(), text.size() - 1);
  if (size > 0) parse_number(std::string(text.data(), static_cast<std::size_t>(size)), found.emplace(0));
  return found;
}

}  // namespace

NodeFiles NodeFiles::make(const NodeSettings& settings) {
  const std::string root = fmt::format("{}{}{}.{}", shared_memory, prefix_of_user(), getpid(), base::now_ns());
  if (mkdir(root.c_str(), 0700) != 0) throw base::system_error(errno, "cannot make the directory '" + root + "'");
  // A record lock ends with its process, and no process that is forked has it. The descriptor stays open for that.
  const int owner = open((root + "/owner").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  auto lock = whole_file(F_WRLCK);
  if (owner < 0 || fcntl(owner, F_SETLK, &lock) != 0) throw base::system_error(errno, "cannot lock '" + root + "'");
  write_file(root + "/settings", print(settings));
  return NodeFiles(root);
}

NodeFiles::NodeFiles(std::string root) : root_(std::move(root)) {
  struct stat status {};
  if (lstat(root_.c_str(), &status) != 0) throw base::system_error(errno, "there is no '" + root_ + "'");
  if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 077) != 0) {
    throw base::Error(base::Errc::io, "'" + root_ + "' is not this user's alone");
  }
  settings_ = parse(read_file(root_ + "/settings"));
}

bool NodeFiles::is_owned() const {
  const int descriptor = open((root_ + "/owner").c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  auto lock = whole_file(F_WRLCK);
  const bool is_asked = fcntl(descriptor, F_GETLK, &lock) == 0;
  close(descriptor);
  return is_asked && lock.l_type != F_UNLCK;
}

std::vector<std::string> NodeFiles::roots() {
  std::vector<std::string> found;
  for (const std::string& name : entries_of(shared_memory)) {
    struct stat status {};
    const std::string root = shared_memory + name;
    if (!name.starts_with(prefix_of_user()) || lstat(root.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode) && status.st_uid == getuid()) found.push_back(root);   // any user can make one of that name
  }
  return found;
}

// glean-files.USER.PROCESS.TIME
pid_t NodeFiles::process_of(const std::string& root) {
  const std::string job = root.substr(root.rfind('/') + 1);
  pid_t process = 0;
  parse_number(job.substr(job.find('.', job.find('.') + 1) + 1), process);
  return process;
}

bool NodeFiles::is_begun(const std::string& root) {
  return faccessat(AT_FDCWD, (root + "/settings").c_str(), F_OK, 0) == 0 || errno != ENOENT;
}

bool NodeFiles::remove_emptied(const std::string& root) {
  std::error_code problem;
  std::filesystem::remove_all(root, problem);
  return !problem;
}

std::string NodeFiles::directory_of(const std::string& container) const {
  return fmt::format("{}/{:016x}", root_, hash_of(container));
}

std::optional<Family> NodeFiles::find_family(const std::string& container) const {
  const std::string directory = directory_of(container);
  if (faccessat(AT_FDCWD, (directory + "/container").c_str(), F_OK, 0) != 0) return std::nullopt;
  return read_family(directory);
}

Family NodeFiles::family(const RankFile& file) const {
  if (auto found = find_family(file.container)) return *found;
  const std::string directory = directory_of(file.container);
  if (!make_directories(directory)) throw base::system_error(errno, "cannot make the directory '" + directory + "'");
  write_file(directory + "/container", fmt::format("{}\t{}", file.rule, file.container));
  return {directory, file.container, file.rule};
}

std::vector<Family> NodeFiles::families() const {
  std::vector<Family> found;
  for (const std::string& name : entries_of(root_)) {
    const std::string directory = root_ + "/" + name;
    if (faccessat(AT_FDCWD, (directory + "/container").c_str(), F_OK, 0) == 0) found.push_back(read_family(directory));
  }
  return found;
}

Tally::Count NodeFiles::count() const {
  Tally::Count counted;
  Bytes longest_here = 0;
  std::vector<std::pair<Bytes, std::optional<Bytes>>> open;   // how long a file is, and may become
  for (const Family& family : families()) {
    const auto of_rule = longest(family.rule());
    for (const State state : all_states) {
      for (const std::string& name : family.names(state)) {
        struct stat status {};
        ++counted.entries;
        if (lstat(family.entry(state, name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        const Bytes bytes = static_cast<Bytes>(status.st_blocks) * 512;
        longest_here = std::max(longest_here, bytes);
        if (state == State::open) open.emplace_back(bytes, of_rule);
        else counted.used += bytes;
      }
    }
  }
  counted.open_files = open.size();
  for (const auto& [bytes, of_rule] : open) counted.used += std::max(bytes, of_rule.value_or(longest_here));
  return counted;
}

Bytes NodeFiles::used_bytes() const {
  Tally tally(root_);
  if (tally.is_to_be_counted(1)) tally.set(count());
  return tally.used();
}

// The sum may be too large: before a file has no room, they are counted a little sooner.
bool NodeFiles::has_room(Bytes expected) const {
  constexpr std::uint64_t when_full = 16;
  Tally tally(root_);
  const auto fits = [&] { return tally.used() + expected <= settings_.budget_bytes; };
  if (tally.is_to_be_counted(1) || (!fits() && tally.is_to_be_counted(when_full))) tally.set(count());
  return fits();
}

void NodeFiles::forget_used_bytes() const { Tally(root_).forget_count(); }

bool NodeFiles::settle(const Family& family, const std::string& name, Family::Otherwise otherwise) const {
  const auto held = family.find(State::open, name);
  if (!held) return true;
  if (!family.settle(name, otherwise)) return false;
  struct stat status {};
  if (fstatat(AT_FDCWD, family.entry(State::closed, name).c_str(), &status, 0) != 0) return true;
  const auto bytes = static_cast<Bytes>(status.st_size), before = longest(family.rule()).value_or(0);
  note_length(family.rule(), bytes);
  Tally(root_).closed(bytes - std::min(bytes, before), held->data == held->entry);
  return true;
}

bool NodeFiles::open_again(const Family& family, const Held& held, const std::string& name) const {
  if (!family.move(held, State::open, name)) return false;
  if (held.data == held.entry) Tally(root_).opened(longest(family.rule()).value_or(0));
  return true;
}

void NodeFiles::remove(const Family& family, const Held& held) const {
  struct stat status {};
  const bool is_here = lstat(held.entry.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  family.remove(held);
  if (is_here) Tally(root_).removed(static_cast<Bytes>(status.st_blocks) * 512);
}

std::string NodeFiles::overflow_directory(const Family& family) const {
  const std::filesystem::path container(family.container());
  const std::string job = std::filesystem::path(root_).filename().string();
  const std::string beside = (container.parent_path() / fmt::format(".{}.{}", container.filename().string(), job)).string();
  const std::string spill = settings_.spill_directory.empty() ? beside : settings_.spill_directory + "/" + job;
  for (const std::string& path : {spill, beside}) {
    if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return path;
  }
  return {};
}

void NodeFiles::note_length(std::size_t rule, Bytes bytes) const {
  const std::string name = fmt::format("{}/longest.{}", root_, rule), working = fmt::format("{}.{}", name, base::now_ns());
  if (const auto noted = noted_length(name); noted && bytes <= *noted) return;
  if (symlink(std::to_string(bytes).c_str(), working.c_str()) == 0) rename(working.c_str(), name.c_str());
}

std::optional<Bytes> NodeFiles::longest(std::size_t rule) const { return noted_length(fmt::format("{}/longest.{}", root_, rule)); }

std::string NodeFiles::place(const Family& family, State state, const std::string& name, std::optional<Bytes> expected) const {
  const std::string entry = family.entry(state, name);
  struct statvfs room {};
  const bool is_full = !expected || (statvfs(shared_memory, &room) == 0 && room.f_bavail * room.f_frsize < *expected + left_to_others);
  const auto takes = [&] {
    if (state == State::open) Tally(root_).opened(std::max(*expected, longest(family.rule()).value_or(0)));
    else Tally(root_).brought_out(*expected);
    return entry;
  };
  if (!is_full && has_room(*expected)) return takes();
  if (!is_full) {
    for (const Family& each : families()) {
      for (const std::string& clean : each.names(State::clean)) {
        if (const auto held = each.find(State::clean, clean)) remove(each, *held);
      }
    }
    if (has_room(*expected)) return takes();
  }
  const std::string directory = overflow_directory(family);
  // What is only read may be more than the budget: it goes when there is no room.
  if (directory.empty() && state == State::open) throw base::system_error(errno, "there is no room on the node, nor a place beside");
  const std::string data = fmt::format("{}/{}.{}", directory, getpid(), base::now_ns());
  if (directory.empty() || data.size() >= PATH_MAX || symlink(data.c_str(), entry.c_str()) != 0) return entry;
  return data;
}

void NodeFiles::discard() const {
  for (const Family& family : families()) family.remove_all();
}

bool NodeFiles::remove_if_empty() const {
  const std::string job = std::filesystem::path(root_).filename().string();
  for (const Family& family : families()) {
    const std::filesystem::path container(family.container());
    rmdir((container.parent_path() / fmt::format(".{}.{}", container.filename().string(), job)).c_str());
    if (!family.remove_if_empty()) return false;
  }
  if (!settings_.spill_directory.empty()) rmdir((settings_.spill_directory + "/" + job).c_str());
  return remove_emptied(root_);
}

}  // namespace glean::gather
