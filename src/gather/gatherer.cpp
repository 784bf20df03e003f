// SPDX-License-Identifier: BSD-3-Clause
#include "gather/gatherer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"

namespace glean::gather {
namespace {

constexpr auto look_every = std::chrono::milliseconds(100);
constexpr std::uint64_t quiet_ns = 30'000'000'000;    // after which files are gathered although others might come
constexpr std::uint64_t busy_ns = 2'000'000'000;      // after which they are gathered although others come
constexpr std::uint64_t retry_after_ns = 5'000'000'000;
constexpr unsigned long is_exiting = 0x4;             // PF_EXITING, of the flags in /proc/PID/stat

std::size_t count_ranks(const GatherRules& rules, const std::vector<std::string>& names) {
  std::set<std::string> ranks;
  for (const std::string& name : names) ranks.insert(rules.rank_of(name));
  return ranks.size();
}

}  // namespace

bool is_alive(pid_t process) {
  const int descriptor = open(fmt::format("/proc/{}/stat", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::array<char, 1024> text{};
  const ssize_t size = read(descriptor, text.data(), text.size() - 1);
  close(descriptor);
  // "PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS …"; the name may have anything in it.
  const char* rest = size > 0 ? std::strrchr(text.data(), ')') : nullptr;
  if (rest == nullptr || std::strlen(rest) < 4) return false;
  const char state = rest[2];
  rest += 3;
  for (int skipped = 0; skipped < 5; ++skipped) {
    char* end = nullptr;
    std::strtol(rest, &end, 10);
    rest = end;
  }
  return state != 'Z' && state != 'X' && (std::strtoul(rest, nullptr, 10) & is_exiting) == 0;
}

Gatherer::Gatherer(const NodeFiles& files, std::vector<pid_t> ranks)
    : files_(files), rules_(files.settings().rules, files.settings().node), ranks_(std::move(ranks)) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Gatherer::~Gatherer() { stop(); }

void Gatherer::stop() noexcept {
  {
    const std::unique_lock lock(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Gatherer::run() {
  for (;;) {
    {
      std::unique_lock lock(lock_);
      if (changed_.wait_for(lock, look_every, [&] { return ends_; })) return;
    }
    try {
      look();
    } catch (const std::exception& error) {
      base::log(base::LogLevel::debug, "files of ranks: {}", error.what());
    }
  }
}

// Whether nothing of it is open any more.
bool Gatherer::settle(const Family& family, Family::Otherwise otherwise) {
  const NodeLock lock(files_.root());
  const std::vector<std::string> open = family.names(State::open);
  if (open.empty()) return true;
  bool all = true;
  std::vector<std::string> settled;
  for (const std::string& name : open) {
    if (files_.settle(family, name, otherwise)) settled.push_back(name);
    else all = false;
  }
  if (settled.empty() || std::all_of(ranks_.begin(), ranks_.end(), is_alive)) return all;
  // A process that is killed closes its files, too: what they had open is not complete.
  for (const std::string& name : settled) {
    if (const auto held = family.find(State::closed, name)) family.move(*held, State::open, name);
  }
  return false;
}

// None of the files that the container has is of any use any more.
bool Gatherer::replaces_all(const Family& family, const std::vector<std::string>& closed, const std::vector<std::string>& removed) {
  const auto known = containers_.find(family.container()).container;
  if (!known) return false;
  const auto& files = known->container().files();
  if (files.size() > closed.size() + removed.size()) return false;
  std::set<std::string> gone(removed.begin(), removed.end());
  gone.insert(closed.begin(), closed.end());
  return std::all_of(files.begin(), files.end(), [&](const auto& file) { return gone.contains(file.name); });
}

// A container is when each rank of the node has closed a file of it and no more of them come, or all that it had before are written again,
// or the next one of its rule has begun, or nothing has happened for long. Each version has all files: while more and more come, the next
// one is made when there are half as many again, so that the cost of all versions grows as the files do.
bool Gatherer::is_complete(const Family& family, Progress& progress) {
  const std::vector<std::string> closed = family.names(State::closed), removed = family.removed();
  const std::uint64_t now = base::now_ns();
  // What is there still was not given back: a rank may be waiting for it.
  if (!family.names(State::packing).empty()) return now >= progress.retry_ns;
  if (closed.empty() && removed.empty()) return false;
  const bool has_changed = closed.size() + removed.size() != progress.changes;
  if (has_changed && progress.changes == 0) progress.begun_ns = now;
  if (has_changed) progress.changes = closed.size() + removed.size(), progress.changed_ns = now;
  if (now < progress.retry_ns) return false;
  const bool is_worth_it = now - progress.begun_ns >= busy_ns && closed.size() >= progress.in_container / 2;
  if (!closed.empty() && (!has_changed || is_worth_it) && count_ranks(rules_, closed) >= ranks_.size()) return true;
  const bool has_next = std::any_of(progress_.begin(), progress_.end(), [&](const auto& other) {
    return other.second.rule == progress.rule && other.second.order > progress.order;
  });
  if (has_next && !closed.empty()) return true;
  if (has_changed && replaces_all(family, closed, removed)) return true;
  return now - progress.changed_ns >= quiet_ns || (!closed.empty() && files_.used_bytes() > files_.settings().budget_bytes / 2);
}

void Gatherer::look() {
  std::vector<Family> emptied;
  for (const Family& family : files_.families()) {
    const auto [known, is_new] = progress_.try_emplace(family.container());
    if (is_new) known->second.order = ++order_, known->second.rule = family.rule();
    if (!settle(family, Family::Otherwise::open)) continue;
    bool complete = false, is_emptied = false;
    {
      const NodeLock lock(files_.root());
      if (!family.names(State::open).empty()) continue;
      complete = is_complete(family, known->second);
      is_emptied = family.names(State::closed).empty() && family.names(State::packing).empty();
    }
    if (!complete) continue;
    if (is_emptied) emptied.push_back(family);
    else static_cast<void>(try_to_gather(family, known->second));
  }
  // What the program has removed goes when what it has written before is there.
  for (const Family& family : emptied) {
    bool all_there = true;
    for (const Family& other : files_.families()) all_there &= other.names(State::closed).empty() && other.names(State::packing).empty();
    if (all_there) static_cast<void>(try_to_gather(family, progress_[family.container()]));
  }
}

std::string Gatherer::try_to_gather(const Family& family, Progress& progress) {
  try {
    const std::uint64_t began = base::now_ns();
    const Gathered gathered = gather(files_, family);
    progress.changes = 0;
    progress.in_container = gathered.in_container;
    progress.files += gathered.files;
    progress.bytes += gathered.bytes;
    progress.retry_ns = 0;
    if (gathered.in_container == 0 && gathered.files == 0) return {};
    base::log(base::LogLevel::info, "'{}' has {} files now; {} of them, {} bytes, were gathered in {:.2f} s", family.container(),
              gathered.in_container, gathered.files, gathered.bytes, base::seconds(base::now_ns() - began));
    return {};
  } catch (const std::exception& error) {
    if (progress.retry_ns == 0) {
      base::log(base::LogLevel::warning, "'{}' cannot be written, its files stay on the node: {}", family.container(), error.what());
    }
    progress.retry_ns = base::now_ns() + retry_after_ns;
    return fmt::format("'{}' is not complete: {}; its files are on the node, and `glean recover` gathers them", family.container(),
                       error.what());
  }
}

Gatherer::Totals Gatherer::totals() const {
  Totals all;
  for (const auto& [container, progress] : progress_) {
    all.files += progress.files;
    all.bytes += progress.bytes;
    all.containers += progress.files != 0 ? 1 : 0;
  }
  return all;
}

std::vector<std::string> Gatherer::finish() {
  stop();
  std::vector<std::string> failed;
  std::vector<Family> removed_from;
  for (const Family& family : files_.families()) {
    static_cast<void>(settle(family, Family::Otherwise::closed));
    bool has_closed = false, has_removed = false;
    {
      const NodeLock lock(files_.root());
      has_closed = !family.names(State::closed).empty() || !family.names(State::packing).empty();
      has_removed = !family.removed().empty();
    }
    if (!has_closed && has_removed) removed_from.push_back(family);
    if (!has_closed) continue;
    std::string why = try_to_gather(family, progress_[family.container()]);
    if (!why.empty()) failed.push_back(std::move(why));
  }
  if (!failed.empty()) return failed;
  for (const Family& family : removed_from) {
    std::string why = try_to_gather(family, progress_[family.container()]);
    if (!why.empty()) failed.push_back(std::move(why));
  }
  const NodeLock lock(files_.root());
  for (const Family& family : files_.families()) {
    for (const std::string& name : family.names(State::clean)) {
      if (const auto held = family.find(State::clean, name)) family.remove(*held);
    }
  }
  return failed;
}

}  // namespace glean::gather
