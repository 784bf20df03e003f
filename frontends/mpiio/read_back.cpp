// SPDX-License-Identifier: BSD-3-Clause
#include "read_back.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/log.hpp"

namespace glean::mpiio {
namespace {

constexpr std::uint64_t worth_a_look_ns = 1'000'000;
constexpr double worth_a_look = 0.2;    // of the time in calls, that readers waited
constexpr double clearly_faster = 0.95;
constexpr int compared_files = 3;   // while the first of them are written, the drain is still busy with a captured one
constexpr std::size_t families_at_most = 4096;

double seconds_per_gib(double ns_per_byte) { return ns_per_byte * 1.073741824; }

std::string family_of(const std::string& path) {
  std::string family;
  for (const char c : path) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) family += c;
    else if (family.empty() || family.back() != '#') family += '#';
  }
  return family;
}

}  // namespace

void ReadBack::Family::end_file() {
  if (file.bytes != 0) {
    next_may_be_read = file.is_read;
    Account& account = file.is_captured ? captured : original;
    ++account.files;
    account.ns_per_byte = std::min(account.ns_per_byte, static_cast<double>(file.blocked_ns) / static_cast<double>(file.bytes));
  }
  file = File{};
}

bool ReadBack::passes_through(const std::string& path) {
  const std::lock_guard lock(lock_);
  const std::string name = family_of(path);
  const auto found = families_.find(name);
  if (found == families_.end()) return false;
  Family& family = found->second;
  const File last = family.file;
  family.end_file();
  if (family.choice == Choice::none && last.bytes != 0 && last.waited_ns > worth_a_look_ns &&
      static_cast<double>(last.waited_ns) > worth_a_look * static_cast<double>(last.blocked_ns)) {
    base::log(base::LogLevel::info, "'{}': the program reads such files as soon as it has written them: {} pass through, to compare", path,
              compared_files);
    family.choice = Choice::comparing;
  } else if (family.choice == Choice::comparing && family.original.files >= compared_files) {
    const double captured = family.captured.ns_per_byte, original = family.original.ns_per_byte;
    const bool is_faster = original < clearly_faster * captured;
    family.choice = is_faster ? Choice::original : Choice::captured;
    base::log(is_faster ? base::LogLevel::warning : base::LogLevel::info,
              "'{}': the program reads such files as soon as it has written them; captured, their calls took {:.3f} s/GiB, passed through "
              "{:.3f}: those whose paths differ from this one in numbers only {}", path, seconds_per_gib(captured),
              seconds_per_gib(original), is_faster ? "pass through from now on" : "are captured");
  }
  return family.choice == Choice::comparing || family.choice == Choice::original;
}

void ReadBack::begin(const std::string& path, bool is_captured) {
  const std::lock_guard lock(lock_);
  const std::string name = family_of(path);
  if (families_.size() >= families_at_most && !families_.contains(name)) return;
  Family& family = families_[name];
  family.end_file();
  family.file.is_captured = is_captured;
}

void ReadBack::add(const std::string& path, std::uint64_t blocked_ns, std::uint64_t waited_ns, base::Bytes bytes) {
  const std::lock_guard lock(lock_);
  const auto found = families_.find(family_of(path));
  if (found == families_.end()) return;
  File& file = found->second.file;
  file.blocked_ns += blocked_ns;
  file.waited_ns += waited_ns;
  file.bytes += bytes;
}

bool ReadBack::may_be_read(const std::string& path) {
  const std::lock_guard lock(lock_);
  const auto found = families_.find(family_of(path));
  if (found == families_.end()) return true;
  found->second.end_file();
  return found->second.next_may_be_read;
}

bool ReadBack::note_read(const std::string& path) {
  const std::lock_guard lock(lock_);
  const auto found = families_.find(family_of(path));
  if (found == families_.end()) return false;
  return found->second.file.is_read = true;
}

}  // namespace glean::mpiio
