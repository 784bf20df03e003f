// SPDX-License-Identifier: BSD-3-Clause
#include "directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transparent {

std::string base_name(int file, int colour) { return "f" + std::to_string(file) + "-" + std::to_string(colour); }

std::string name_of(int file, int colour, int name) { return base_name(file, colour) + suffixes[static_cast<std::size_t>(name)]; }

std::string Directory::follow(const std::string& name) const {
  std::string at = name;
  for (std::size_t i = 0; i <= suffixes.size(); ++i) {
    const auto entry = entries_.find(at);
    if (entry == entries_.end() || entry->second.node >= 0) return at;
    at = entry->second.target;
  }
  return {};
}

int Directory::find(const std::string& name) const {
  const auto entry = entries_.find(follow(name));
  return entry == entries_.end() ? -1 : entry->second.node;
}

int Directory::find_or_make(const std::string& name) {
  const auto [entry, is_new] = entries_.try_emplace(follow(name));
  if (is_new) {
    entry->second.node = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
  }
  return entry->second.node;
}

int Directory::links(int node) const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.second.node == node; }));
}

bool Directory::goes_round(const NameCall& call, const std::string& from, const std::string& to) const {
  Directory after = *this;
  after.apply(call, from, to);
  return after.follow(to).empty();
}

int Directory::expect(const NameCall& call, const std::string& from, const std::string& to) const {
  const auto old = entries_.find(from);
  switch (call.kind) {
    case NameCallKind::remove:
    case NameCallKind::remove_by_mpi: return old == entries_.end() ? ENOENT : 0;
    case NameCallKind::move:
      if (old == entries_.end()) return ENOENT;
      return goes_round(call, from, to) ? -1 : 0;
    case NameCallKind::link:
      if (old == entries_.end()) return ENOENT;
      return old->second.node < 0 ? -1 : entries_.contains(to) ? EEXIST : 0;
    case NameCallKind::symbolic_link:
      if (entries_.contains(to)) return EEXIST;
      return goes_round(call, from, to) ? -1 : 0;
    case NameCallKind::cut:
    case NameCallKind::cut_by_open: return find(from) < 0 ? ENOENT : 0;
    case NameCallKind::make: return 0;
  }
  return -1;
}

void Directory::apply(const NameCall& call, const std::string& from, const std::string& to) {
  switch (call.kind) {
    case NameCallKind::remove:
    case NameCallKind::remove_by_mpi: entries_.erase(from); break;
    case NameCallKind::move: {
      const Entry moved = entries_.at(from);
      const auto there = entries_.find(to);
      if (from == to || (there != entries_.end() && moved.node >= 0 && there->second.node == moved.node)) break;   // stays as it is
      entries_.erase(from);
      entries_[to] = moved;
      break;
    }
    case NameCallKind::link: entries_[to] = entries_.at(from); break;
    case NameCallKind::symbolic_link: entries_[to] = {-1, from}; break;
    case NameCallKind::cut: contents(find(from)).cut(call.bytes, true); break;
    case NameCallKind::cut_by_open: contents(find(from)).cut(0, true); break;
    case NameCallKind::make: {
      Contents& made = contents(find_or_make(to));
      made.cut(0, true);
      made.cut(static_cast<std::int64_t>(std::strlen(marker_text)), true);
      std::copy_n(marker_text, made.bytes.size(), made.bytes.begin());
      break;
    }
  }
}

}  // namespace transparent
