// SPDX-License-Identifier: BSD-3-Clause
#include "gathered_entries.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gathered_files.hpp"

namespace glean::posix {
namespace {

// A stream of a directory that has gathered files.
struct Stream {
  enum class At { begin, gathered, own };   // begin: not behind "." and ".." yet
  std::vector<gather::ListedName> names;
  At at = At::begin;
  std::size_t next = 0;        // of the names
  std::vector<long> begins;    // positions of the C library's in At::begin; the last one is that behind "." and ".."
  dirent entry{};
};

std::mutex streams_lock;
std::atomic<std::size_t> streams_open = 0;
// Never destroyed: a program may list a directory while it ends.
std::unordered_map<DIR*, std::unique_ptr<Stream>>& streams() {
  static auto* const all = new std::unordered_map<DIR*, std::unique_ptr<Stream>>;
  return *all;
}

Stream* find_stream(DIR* stream) {
  if (streams_open.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::unique_lock lock(streams_lock);
  const auto found = streams().find(stream);
  return found == streams().end() ? nullptr : found->second.get();
}

Stream& add_stream(DIR* stream, std::vector<gather::ListedName> names) {
  const std::unique_lock lock(streams_lock);
  auto& added = streams()[stream] = std::make_unique<Stream>();
  added->names = std::move(names);
  streams_open = streams().size();
  return *added;
}

bool is_dot(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// After n of the names; no file system has negative positions.
long position_after(std::size_t names) { return -1 - static_cast<long>(names); }

dirent* entry_of(Stream& stream) {
  const gather::ListedName& listed = stream.names[stream.next++];
  const std::size_t length = std::min(listed.name.size(), sizeof stream.entry.d_name - 1);
  stream.entry = {};
  stream.entry.d_ino = listed.inode;
  stream.entry.d_type = DT_REG;
  stream.entry.d_reclen = sizeof stream.entry;
  stream.entry.d_off = position_after(stream.next);
  std::memcpy(stream.entry.d_name, listed.name.data(), length);
  return &stream.entry;
}

}  // namespace

dirent* next_entry(DIR* stream, const StreamCalls& calls) {
  Stream* found = find_stream(stream);
  if (found == nullptr) {
    if (!is_gathering() || calls.tell(stream) != 0) return calls.read(stream);
    auto names = gathered_names(dirfd(stream), ".");
    if (names.empty()) return calls.read(stream);
    found = &add_stream(stream, std::move(names));
  }
  if (found->at == Stream::At::begin) {
    const long before = calls.tell(stream);
    if (std::find(found->begins.begin(), found->begins.end(), before) == found->begins.end()) found->begins.push_back(before);
    if (dirent* const own = calls.read(stream); own != nullptr && is_dot(own->d_name)) return own;
    calls.seek(stream, before);
    found->at = Stream::At::gathered;
    found->next = 0;
  }
  if (found->at == Stream::At::gathered && found->next < found->names.size()) return entry_of(*found);
  found->at = Stream::At::own;
  return calls.read(stream);
}

long position_of(DIR* stream, const StreamCalls& calls) {
  const Stream* const found = find_stream(stream);
  return found != nullptr && found->at == Stream::At::gathered ? position_after(found->next) : calls.tell(stream);
}

void set_position(DIR* stream, long position, const StreamCalls& calls) {
  Stream* const found = find_stream(stream);
  if (found == nullptr) return calls.seek(stream, position);
  const bool is_gathered = position <= position_after(1) && position >= position_after(found->names.size());
  const bool is_begin = std::find(found->begins.begin(), found->begins.end(), position) != found->begins.end();
  found->at = is_gathered ? Stream::At::gathered : is_begin ? Stream::At::begin : Stream::At::own;
  if (is_gathered) found->next = static_cast<std::size_t>(-1 - position);
  calls.seek(stream, is_gathered ? found->begins.back() : position);
}

void forget_entries(DIR* stream) noexcept {
  if (streams_open.load(std::memory_order_relaxed) == 0) return;
  const std::unique_lock lock(streams_lock);
  streams().erase(stream);
  streams_open = streams().size();
}

}  // namespace glean::posix
