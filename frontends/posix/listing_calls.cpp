// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of the C library by which a program lists directories, for interposition.hpp and gathered_entries.hpp. The C library's own
// calls of them do not come here: scandir() and glob() are done for themselves, and wordexp(), ftw() and fts_open() list what the file
// system has.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "call_arguments.hpp"
#include "gathered_entries.hpp"
#include "gathered_files.hpp"
#include "interposition.hpp"
#include "retiring.hpp"

using glean::posix::forget_entries;
using glean::posix::gathered_names;
using glean::posix::is_gathered;
using glean::posix::is_gathering;
using glean::posix::is_hidden;
using glean::posix::is_own;
using glean::posix::Look;
using glean::posix::next_entry;
using glean::posix::position_of;
using glean::posix::set_position;
using glean::posix::StreamCalls;
using glean::posix::Wanted;

static_assert(sizeof(dirent) == sizeof(dirent64) && offsetof(dirent, d_name) == offsetof(dirent64, d_name), "one is given for the other");

// Entries of a directory.
GLEAN_INTERPOSE(DIR*, opendir, (const char* path), , (path), GLEAN_WAIT("opendir", AT_FDCWD, path, Wanted::directory_entries))

GLEAN_NEXT(dirent*, readdir, (DIR * stream), )
GLEAN_NEXT(dirent64*, readdir64, (DIR * stream), )
GLEAN_NEXT(int, readdir_r, (DIR * stream, dirent* entry, dirent** found), )
GLEAN_NEXT(int, readdir64_r, (DIR * stream, dirent64* entry, dirent64** found), )
GLEAN_NEXT(long, telldir, (DIR * stream), noexcept)
GLEAN_NEXT(void, seekdir, (DIR * stream, long position), noexcept)
GLEAN_NEXT(void, rewinddir, (DIR * stream), noexcept)
GLEAN_NEXT(int, closedir, (DIR * stream), )

namespace {

// Files that live on without their names are not listed.
template <class Entry>
Entry* without_hidden(Entry* (*read)(DIR*), DIR* stream) {
  Entry* found = nullptr;
  do {
    found = read(stream);
  } while (found != nullptr && is_hidden(found->d_name));
  return found;
}

dirent* read_one(DIR* stream) { return without_hidden(next_readdir.find("readdir"), stream); }
dirent64* read_one64(DIR* stream) { return without_hidden(next_readdir64.find("readdir64"), stream); }
const StreamCalls& stream_calls() {
  static constinit StreamCalls calls{read_one, [](DIR* stream) { return next_telldir.find("telldir")(stream); },
                                     [](DIR* stream, long position) { next_seekdir.find("seekdir")(stream, position); }};
  return calls;
}

template <class Entry>
int read_into(DIR* stream, Entry* entry, Entry** found) {
  const int before = errno;
  errno = 0;
  const dirent* const next = next_entry(stream, stream_calls());
  const int error = errno;
  errno = before;
  *found = nullptr;
  if (next == nullptr) return error;
  std::memcpy(entry, next, std::min<std::size_t>(sizeof *entry, next->d_reclen));
  *found = entry;
  return 0;
}

}  // namespace

dirent* readdir(DIR* stream) { return is_own(__builtin_return_address(0)) ? read_one(stream) : next_entry(stream, stream_calls()); }
dirent64* readdir64(DIR* stream) {
  if (is_own(__builtin_return_address(0))) return read_one64(stream);
  return reinterpret_cast<dirent64*>(next_entry(stream, stream_calls()));
}
int readdir_r(DIR* stream, dirent* entry, dirent** found) { return read_into(stream, entry, found); }
int readdir64_r(DIR* stream, dirent64* entry, dirent64** found) { return read_into(stream, entry, found); }
long telldir(DIR* stream) noexcept { return position_of(stream, stream_calls()); }
void seekdir(DIR* stream, long position) noexcept { set_position(stream, position, stream_calls()); }
void rewinddir(DIR* stream) noexcept {
  forget_entries(stream);
  next_rewinddir.find("rewinddir")(stream);
}
int closedir(DIR* stream) {
  forget_entries(stream);
  return next_closedir.find("closedir")(stream);
}

namespace {

template <class Entry>
using Select = int (*)(const Entry*);
template <class Entry>
using Compare = int (*)(const Entry**, const Entry**);

template <class Entry>
int without_hidden(int count, Entry** entries) {
  int left = 0;
  for (int i = 0; i < count; ++i) {
    if (is_hidden(entries[i]->d_name)) std::free(entries[i]);
    else entries[left++] = entries[i];
  }
  return left;
}

// In memory that the program frees; the result is their number, or -1 with errno.
template <class Entry>
int add_gathered(int count, Entry*** entries, const std::vector<glean::gather::ListedName>& names, Select<Entry> select,
                 Compare<Entry> compare) {
  std::vector<Entry*> all;
  for (const auto& listed : names) {
    auto* const entry = static_cast<Entry*>(std::calloc(1, sizeof(Entry)));
    if (entry == nullptr) break;
    entry->d_ino = listed.inode;
    entry->d_type = DT_REG;
    entry->d_reclen = sizeof(Entry);
    std::memcpy(entry->d_name, listed.name.data(), std::min(listed.name.size(), sizeof entry->d_name - 1));
    if (select == nullptr || select(entry) != 0) all.push_back(entry);
    else std::free(entry);
  }
  if (all.empty()) return count;
  all.insert(all.end(), *entries, *entries + count);
  auto** const list = static_cast<Entry**>(std::realloc(*entries, all.size() * sizeof(Entry*)));
  if (list == nullptr) {
    for (std::size_t i = 0; i + static_cast<std::size_t>(count) < all.size(); ++i) std::free(all[i]);
    return count;
  }
  const auto is_before = [&](const Entry* one, const Entry* other) { return compare(&one, &other) < 0; };
  if (compare != nullptr) std::stable_sort(all.begin(), all.end(), is_before);
  std::copy(all.begin(), all.end(), list);
  *entries = list;
  return static_cast<int>(all.size());
}

// glob() as it is, over these functions; what it finds by a whole name need not be brought out of its container.
template <class Status>
int status_of(const char* path, Status* status, int (*look)(const char*, Status*)) {
  const int failed = look(path, status);
  if (failed == 0 || errno != ENOENT || !is_gathered(AT_FDCWD, path)) return failed;
  *status = {};
  status->st_mode = S_IFREG | S_IRUSR | S_IWUSR;
  return 0;
}

template <class Entry, class Status, class Glob>
void list_gathered(Glob& found) {
  found.gl_opendir = [](const char* path) -> void* { return opendir(path); };
  found.gl_readdir = [](void* stream) { return reinterpret_cast<Entry*>(next_entry(static_cast<DIR*>(stream), stream_calls())); };
  found.gl_closedir = [](void* stream) { static_cast<void>(closedir(static_cast<DIR*>(stream))); };
  found.gl_lstat = [](const char* path, Status* status) {
    return status_of<Status>(path, status, [](const char* one, Status* of_it) {
      if constexpr (std::is_same_v<Status, struct stat>) return lstat(one, of_it);
      else return lstat64(one, of_it);
    });
  };
  found.gl_stat = [](const char* path, Status* status) {
    return status_of<Status>(path, status, [](const char* one, Status* of_it) {
      if constexpr (std::is_same_v<Status, struct stat>) return stat(one, of_it);
      else return stat64(one, of_it);
    });
  };
}

}  // namespace

#define GLEAN_SCAN(entry, name, prototype, parameters, arguments, directory)                                            \
  GLEAN_NEXT(int, name, prototype, )                                                                                    \
  int name parameters {                                                                                                 \
    const bool is_program = !is_own(__builtin_return_address(0));                                                       \
    if (is_program) static_cast<void>(Look(#name, directory, path, Wanted::directory_entries));                         \
    const int count = next_##name.find(#name) arguments;                                                                \
    if (count < 0) return count;                                                                                        \
    const int left = without_hidden(count, *entries);                                                                   \
    return is_program ? add_gathered(left, entries, gathered_names(directory, path), select, compare) : left;           \
  }
#define GLEAN_SCANNING(entry) entry*** entries, Select<entry> select, Compare<entry> compare
GLEAN_SCAN(dirent, scandir, (const char*, dirent***, Select<dirent>, Compare<dirent>), (const char* path, GLEAN_SCANNING(dirent)),
           (path, entries, select, compare), AT_FDCWD)
GLEAN_SCAN(dirent64, scandir64, (const char*, dirent64***, Select<dirent64>, Compare<dirent64>),
           (const char* path, GLEAN_SCANNING(dirent64)), (path, entries, select, compare), AT_FDCWD)
GLEAN_SCAN(dirent, scandirat, (int, const char*, dirent***, Select<dirent>, Compare<dirent>),
           (int directory, const char* path, GLEAN_SCANNING(dirent)), (directory, path, entries, select, compare), directory)
GLEAN_SCAN(dirent64, scandirat64, (int, const char*, dirent64***, Select<dirent64>, Compare<dirent64>),
           (int directory, const char* path, GLEAN_SCANNING(dirent64)), (directory, path, entries, select, compare), directory)

// They find directories on their way.
#define GLEAN_GLOB(name, entry, status, glob)                                                                        \
  GLEAN_NEXT(int, name, (const char* path, int flags, int (*failed)(const char*, int), glob* found), noexcept)       \
  int name(const char* path, int flags, int (*failed)(const char*, int), glob* found) noexcept {                     \
    const bool is_program = !is_own(__builtin_return_address(0));                                                    \
    if (is_program) static_cast<void>(Look(#name, AT_FDCWD, path, Wanted::any_file));                                \
    const bool has_own = (flags & GLOB_ALTDIRFUNC) != 0;                                                             \
    if (!is_program || has_own || !is_gathering()) return next_##name.find(#name)(path, flags, failed, found);       \
    list_gathered<entry, status>(*found);                                                                            \
    const int result = next_##name.find(#name)(path, flags | GLOB_ALTDIRFUNC, failed, found);                        \
    found->gl_flags &= ~GLOB_ALTDIRFUNC;                                                                             \
    return result;                                                                                                   \
  }
GLEAN_GLOB(glob, dirent, struct stat, glob_t)
GLEAN_GLOB(glob64, dirent64, struct stat64, glob64_t)
#define GLEAN_WALK(result, name, parameters, exceptions, arguments) \
  GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, GLEAN_WAIT(#name, AT_FDCWD, path, Wanted::any_file))
GLEAN_WALK(int, wordexp, (const char* path, wordexp_t* words, int flags), , (path, words, flags))
GLEAN_WALK(int, ftw, (const char* path, __ftw_func_t visit, int descriptors), , (path, visit, descriptors))
GLEAN_WALK(int, ftw64, (const char* path, __ftw64_func_t visit, int descriptors), , (path, visit, descriptors))
GLEAN_WALK(int, nftw, (const char* path, __nftw_func_t visit, int descriptors, int flags), , (path, visit, descriptors, flags))
GLEAN_WALK(int, nftw64, (const char* path, __nftw64_func_t visit, int descriptors, int flags), , (path, visit, descriptors, flags))
