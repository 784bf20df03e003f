// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of the C library by which a program looks at files, for interposition.hpp. Each waits, if it has to, and calls the
// next function of its name. Those that list directories are in listing_calls.cpp.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "call_arguments.hpp"
#include "files_of_stagers.hpp"
#include "gathered_files.hpp"
#include "interposition.hpp"
#include "retiring.hpp"

using glean::posix::brought_here;
using glean::posix::changes;
using glean::posix::copy_status;
using glean::posix::cuts;
using glean::posix::failed;
using glean::posix::flags_there;
using glean::posix::found_there;
using glean::posix::gathered_names;
using glean::posix::has_name;
using glean::posix::intent;
using glean::posix::is_own;
using glean::posix::is_there_already;
using glean::posix::Led;
using glean::posix::Look;
using glean::posix::looks;
using glean::posix::loses_hidden_files;
using glean::posix::makes;
using glean::posix::makes_anew;
using glean::posix::may_access_there;
using glean::posix::may_link;
using glean::posix::may_make;
using glean::posix::Next;
using glean::posix::only_reads;
using glean::posix::open_there;
using glean::posix::opened;
using glean::posix::removed_there;
using glean::posix::removes_gathered;
using glean::posix::removes_now;
using glean::posix::renamed_there;
using glean::posix::renames_gathered;
using glean::posix::renames_now;
using glean::posix::wait_to_cut;
using glean::posix::Wanted;

// The call is led to where the file is.
#define GLEAN_LOOK(name, directory, path, wanted)                                                 \
  const Look look(name, directory, is_own(__builtin_return_address(0)) ? nullptr : path, wanted); \
  if (look.path() != nullptr) path = look.path()

// The call is led to where a file is that is gathered.
#define GLEAN_LEAD(directory, path, intent)                                           \
  Led led(directory, is_own(__builtin_return_address(0)) ? nullptr : path, intent);   \
  if (led.path() != nullptr) path = led.path()

// What was closed before is durable before that file is cut.
#define GLEAN_CUT(name, directory, path, cuts) \
  if ((cuts) && !is_own(__builtin_return_address(0))) wait_to_cut(name, directory, path)
// Before a file is made, by any of the calls that make one: it may say of others that they are complete.
#define GLEAN_MAKE(result, name, directory, path, makes) \
  if ((makes) && !is_own(__builtin_return_address(0)) && !may_make(#name, directory, path)) return failed<result>()

// A call that may be about a file that only stagers see: `otherwise` is done where it has failed, and may return.
#define GLEAN_INTERPOSE_OR(result, name, parameters, exceptions, arguments, otherwise, ...) \
  GLEAN_NEXT(result, name, parameters, exceptions)                                          \
  result name parameters exceptions {                                                       \
    __VA_ARGS__;                                                                            \
    const auto done = next_##name.find(#name) arguments;                                    \
    if (done == failed<result>() && !is_own(__builtin_return_address(0))) { otherwise; }    \
    return done;                                                                            \
  }
// It opens a file, perhaps one that is gathered.
#define GLEAN_OPENS(result, name, parameters, exceptions, arguments, otherwise, ...)        \
  GLEAN_NEXT(result, name, parameters, exceptions)                                          \
  result name parameters exceptions {                                                       \
    __VA_ARGS__;                                                                            \
    const auto done = opened(led, next_##name.find(#name) arguments);                       \
    if (done == failed<result>() && !is_own(__builtin_return_address(0))) { otherwise; }    \
    return done;                                                                            \
  }
#define GLEAN_STATUS_THERE(directory)                             \
  struct stat there {};                                           \
  if (found_there(directory, path, there)) return copy_status(there, status), 0

// Path first.
#define GLEAN_PATH(result, name, parameters, exceptions, arguments) \
  GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, GLEAN_LOOK(#name, AT_FDCWD, path, Wanted::file); \
                  GLEAN_LEAD(AT_FDCWD, path, looks))
#define GLEAN_LINK(result, name, parameters, exceptions, arguments) \
  GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, GLEAN_LOOK(#name, AT_FDCWD, path, Wanted::link); \
                  GLEAN_LEAD(AT_FDCWD, path, looks))
// Descriptor of a directory, path, and flags.
#define GLEAN_AT(result, name, parameters, exceptions, arguments)  \
  GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, \
                  GLEAN_LOOK(#name, directory, path, (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Wanted::link : Wanted::file); \
                  GLEAN_LEAD(directory, path, looks))
#define GLEAN_STATUS(name, parameters, arguments, wanted)                                        \
  GLEAN_INTERPOSE_OR(int, name, parameters, noexcept, arguments, GLEAN_STATUS_THERE(AT_FDCWD),   \
                     GLEAN_LOOK(#name, AT_FDCWD, path, wanted); GLEAN_LEAD(AT_FDCWD, path, looks))
#define GLEAN_STATUS_AT(name, parameters, arguments)                                                                       \
  GLEAN_INTERPOSE_OR(int, name, parameters, noexcept, arguments, GLEAN_STATUS_THERE(directory),                            \
                     GLEAN_LOOK(#name, directory, path, (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Wanted::link : Wanted::file); \
                     GLEAN_LEAD(directory, path, looks))
#define GLEAN_ACCESS(name, parameters, arguments, directory)                                              \
  GLEAN_INTERPOSE_OR(int, name, parameters, noexcept, arguments,                                          \
                     if (may_access_there(directory, path, mode)) return 0,                               \
                     GLEAN_LOOK(#name, directory, path, Wanted::file); GLEAN_LEAD(directory, path, looks))
// For calls that a directory is opened with.
#define GLEAN_PATH_OR_DIRECTORY(result, name, parameters, exceptions, arguments)                  \
  GLEAN_OPENS(result, name, parameters, exceptions, arguments,                                    \
              return open_there(AT_FDCWD, path, flags),                                           \
              GLEAN_LOOK(#name, AT_FDCWD, path, opened(flags)); GLEAN_LEAD(AT_FDCWD, path, intent(flags)); \
              flags = flags_there(led, flags))
#define GLEAN_AT_OR_DIRECTORY(result, name, parameters, exceptions, arguments)                    \
  GLEAN_OPENS(result, name, parameters, exceptions, arguments,                                    \
              return open_there(directory, path, flags),                                          \
              GLEAN_LOOK(#name, directory, path, opened(flags)); GLEAN_LEAD(directory, path, intent(flags)); \
              flags = flags_there(led, flags))
#define GLEAN_MAKING(result, name, parameters, arguments, makes, cuts, intent) \
  GLEAN_OPENS(result, name, parameters, , arguments, ,                         \
              GLEAN_MAKE(result, name, AT_FDCWD, path, makes);                 \
              GLEAN_LOOK(#name, AT_FDCWD, path, Wanted::file);                 \
              GLEAN_CUT(#name, AT_FDCWD, path, cuts);                          \
              GLEAN_LEAD(AT_FDCWD, path, intent))
// Calls that make something else, and fail where there is a file.
#define GLEAN_NEW(name, parameters, arguments, directory, wanted, ...) \
  GLEAN_INTERPOSE(int, name, parameters, noexcept, arguments, __VA_ARGS__; GLEAN_LOOK(#name, directory, path, wanted))
// Calls that are about the name: they are not led elsewhere.
#define GLEAN_PLACE(result, name, parameters, exceptions, arguments, directory) \
  GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, GLEAN_WAIT(#name, directory, path, Wanted::file))
namespace {

// Its directory would go without them.
bool has_gathered_files(int directory, const char* path) {
  if (gathered_names(directory, path).empty()) return false;
  errno = ENOTEMPTY;
  return true;
}

}  // namespace

// What a file that is open under another name would have replaced goes first, and then that.
#define GLEAN_REMOVAL(result, name, parameters, exceptions, arguments, directory, is_file, is_directory)                   \
  GLEAN_NEXT(result, name, parameters, exceptions)                                                                         \
  result name parameters exceptions {                                                                                      \
    const auto call = [&] { return next_##name.find(#name) arguments; };                                                   \
    if (is_own(__builtin_return_address(0))) return call();                                                                \
    if ((is_file) && removes_gathered(directory, path)) return 0;                                                          \
    if ((is_directory) && has_gathered_files(directory, path)) return -1;                                                  \
    if (removes_now(#name, directory, path)) return 0;                                                                     \
    const Look look(#name, directory, path, Wanted::removed);                                                              \
    if (look.path() != path) {                                                                                             \
      static_cast<void>(call());                                                                                           \
      path = look.path();                                                                                                  \
    }                                                                                                                      \
    const int removed = call();                                                                                            \
    if (removed != 0 && removed_there(#name, directory, path)) return 0;                                                   \
    if (removed == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return removed;                                           \
    return loses_hidden_files(#name, directory, path) ? call() : removed;                                                  \
  }
// Two paths.
#define GLEAN_RENAME(result, name, parameters, exceptions, arguments, from_directory, to_directory, flags)                \
  GLEAN_INTERPOSE_OR(result, name, parameters, exceptions, arguments,                                                     \
                  if ((flags) == 0 && renamed_there(#name, from_directory, from, to_directory, to)) return 0,             \
                  GLEAN_MAKE(result, name, to_directory, to, true);                                                       \
                  const bool is_program = !is_own(__builtin_return_address(0));                                           \
                  if (int error = 0; is_program && (flags) == 0 && renames_gathered(from_directory, from, to_directory, to, error)) { \
                    if (error != 0) errno = error;                                                                        \
                    return error == 0 ? 0 : -1;                                                                           \
                  }                                                                                                       \
                  if (is_program && (flags) == 0 && renames_now(#name, from_directory, from, to_directory, to)) return 0; \
                  GLEAN_WAIT(#name, from_directory, from, Wanted::file_or_directory);                                     \
                  GLEAN_WAIT(#name, to_directory, to, Wanted::file_or_directory))
// Another name of a file that is open is one of its working file, which gets its own later. The name of one that is open is taken.
#define GLEAN_LINKING(name, parameters, arguments, from_directory, to_directory, wanted)                        \
  GLEAN_INTERPOSE(int, name, parameters, noexcept, arguments, GLEAN_MAKE(int, name, to_directory, to, true);    \
                  const bool is_program = !is_own(__builtin_return_address(0));                                 \
                  const bool is_taken = is_program && Look(#name, to_directory, to, Wanted::link).path() != to; \
                  const Look look(#name, from_directory, is_program ? from : nullptr, wanted);                  \
                  if (look.path() != nullptr) from = look.path();                                               \
                  if (is_taken && has_name(from_directory, from)) return is_there_already())

// Those that make a file have one argument more.
#define GLEAN_OPENING(name, prototype, parameters, directory, ...)                 \
  namespace {                                                                      \
  constinit Next<int prototype> next_##name;                                       \
  [[gnu::constructor]] void find_##name() { next_##name.find(#name); }             \
  }                                                                                \
  extern "C" [[gnu::visibility("default")]] int name parameters {                  \
    mode_t mode = 0;                                                               \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {              \
      va_list rest;                                                                \
      va_start(rest, flags);                                                       \
      mode = va_arg(rest, mode_t);                                                 \
      va_end(rest);                                                                \
    }                                                                              \
    GLEAN_MAKE(int, name, directory, path, makes(flags));                          \
    GLEAN_LOOK(#name, directory, path, opened(flags));                             \
    GLEAN_CUT(#name, directory, path, cuts(flags));                                \
    GLEAN_LEAD(directory, path, intent(flags));                                    \
    flags = flags_there(led, flags);                                               \
    const int opened_here = opened(led, next_##name.find(#name)(__VA_ARGS__, mode)); \
    if (opened_here >= 0 || makes(flags)) return opened_here;                      \
    if (is_own(__builtin_return_address(0))) return opened_here;                   \
    return open_there(directory, path, flags);                                     \
  }
#define GLEAN_OPEN(name) \
  GLEAN_OPENING(name, (const char*, int, ...), (const char* path, int flags, ...), AT_FDCWD, path, flags)
#define GLEAN_OPENAT(name)                                                                                            \
  GLEAN_OPENING(name, (int, const char*, int, ...), (int directory, const char* path, int flags, ...), directory, directory, path, flags)

GLEAN_OPEN(open)
GLEAN_OPEN(open64)
GLEAN_OPENAT(openat)
GLEAN_OPENAT(openat64)
// A file that only stagers see is removed when it is cut to nothing: whatever opens it to write makes it anew.
#define GLEAN_CUTTING(result, name, parameters, exceptions, arguments, cuts)                                           \
  GLEAN_INTERPOSE_OR(result, name, parameters, exceptions, arguments,                                                  \
                     if (length == 0 && removed_there(#name, AT_FDCWD, path)) return 0,                                \
                     GLEAN_LOOK(#name, AT_FDCWD, path, Wanted::file); GLEAN_CUT(#name, AT_FDCWD, path, cuts);          \
                     GLEAN_LEAD(AT_FDCWD, path, changes))
// What the four become in programs that were compiled with _FORTIFY_SOURCE.
GLEAN_PATH_OR_DIRECTORY(int, __open_2, (const char* path, int flags), , (path, flags))
GLEAN_PATH_OR_DIRECTORY(int, __open64_2, (const char* path, int flags), , (path, flags))
GLEAN_AT_OR_DIRECTORY(int, __openat_2, (int directory, const char* path, int flags), , (directory, path, flags))
GLEAN_AT_OR_DIRECTORY(int, __openat64_2, (int directory, const char* path, int flags), , (directory, path, flags))
GLEAN_MAKING(int, creat, (const char* path, mode_t mode), (path, mode), true, true, makes_anew)
GLEAN_MAKING(int, creat64, (const char* path, mode_t mode), (path, mode), true, true, makes_anew)
#define GLEAN_FOPEN(name)                                                                                                       \
  GLEAN_OPENS(FILE*, name, (const char* path, const char* mode), , (path, mode),                                                \
              const std::string copy = only_reads(mode) ? brought_here(AT_FDCWD, path) : std::string();                         \
              if (!copy.empty()) return next_##name.find(#name)(copy.c_str(), mode),                                            \
              GLEAN_MAKE(FILE*, name, AT_FDCWD, path, makes(mode)); GLEAN_LOOK(#name, AT_FDCWD, path, Wanted::file);            \
              GLEAN_CUT(#name, AT_FDCWD, path, cuts(mode)); GLEAN_LEAD(AT_FDCWD, path, intent(mode)))
GLEAN_FOPEN(fopen)
GLEAN_FOPEN(fopen64)
GLEAN_MAKING(FILE*, freopen, (const char* path, const char* mode, FILE* stream), (path, mode, stream), makes(mode),
             path != nullptr && cuts(mode), intent(mode))
GLEAN_MAKING(FILE*, freopen64, (const char* path, const char* mode, FILE* stream), (path, mode, stream), makes(mode),
             path != nullptr && cuts(mode), intent(mode))

GLEAN_STATUS(stat, (const char* path, struct stat* status), (path, status), Wanted::file)
GLEAN_STATUS(stat64, (const char* path, struct stat64* status), (path, status), Wanted::file)
GLEAN_STATUS(lstat, (const char* path, struct stat* status), (path, status), Wanted::link)
GLEAN_STATUS(lstat64, (const char* path, struct stat64* status), (path, status), Wanted::link)
GLEAN_STATUS_AT(fstatat, (int directory, const char* path, struct stat* status, int flags),
                (directory, path, status, flags))
GLEAN_STATUS_AT(fstatat64, (int directory, const char* path, struct stat64* status, int flags),
                (directory, path, status, flags))
GLEAN_STATUS_AT(statx, (int directory, const char* path, int flags, unsigned mask, struct statx* status),
                (directory, path, flags, mask, status))
// What they were in programs that were linked with glibc before 2.33.
GLEAN_STATUS(__xstat, (int version, const char* path, struct stat* status), (version, path, status), Wanted::file)
GLEAN_STATUS(__xstat64, (int version, const char* path, struct stat64* status), (version, path, status), Wanted::file)
GLEAN_STATUS(__lxstat, (int version, const char* path, struct stat* status), (version, path, status), Wanted::link)
GLEAN_STATUS(__lxstat64, (int version, const char* path, struct stat64* status), (version, path, status), Wanted::link)
GLEAN_STATUS_AT(__fxstatat, (int version, int directory, const char* path, struct stat* status, int flags),
                (version, directory, path, status, flags))
GLEAN_STATUS_AT(__fxstatat64, (int version, int directory, const char* path, struct stat64* status, int flags),
                (version, directory, path, status, flags))

GLEAN_ACCESS(access, (const char* path, int mode), (path, mode), AT_FDCWD)
GLEAN_ACCESS(eaccess, (const char* path, int mode), (path, mode), AT_FDCWD)
GLEAN_ACCESS(euidaccess, (const char* path, int mode), (path, mode), AT_FDCWD)
GLEAN_ACCESS(faccessat, (int directory, const char* path, int mode, [[maybe_unused]] int flags), (directory, path, mode, flags), directory)
GLEAN_PATH(int, chmod, (const char* path, mode_t mode), noexcept, (path, mode))
GLEAN_AT(int, fchmodat, (int directory, const char* path, mode_t mode, int flags), noexcept, (directory, path, mode, flags))
GLEAN_PATH(int, chown, (const char* path, uid_t user, gid_t group), noexcept, (path, user, group))
GLEAN_AT(int, fchownat, (int directory, const char* path, uid_t user, gid_t group, int flags), noexcept,
         (directory, path, user, group, flags))
GLEAN_AT(int, utimensat, (int directory, const char* path, const struct timespec times[2], int flags), noexcept,
         (directory, path, times, flags))
GLEAN_LINK(int, lchown, (const char* path, uid_t user, gid_t group), noexcept, (path, user, group))
GLEAN_PATH(int, utime, (const char* path, const struct utimbuf* times), noexcept, (path, times))
GLEAN_PATH(int, utimes, (const char* path, const struct timeval times[2]), noexcept, (path, times))
GLEAN_LINK(int, lutimes, (const char* path, const struct timeval times[2]), noexcept, (path, times))
GLEAN_PATH(int, statfs, (const char* path, struct statfs* status), noexcept, (path, status))
GLEAN_PATH(int, statfs64, (const char* path, struct statfs64* status), noexcept, (path, status))
GLEAN_PATH(int, statvfs, (const char* path, struct statvfs* status), noexcept, (path, status))
GLEAN_PATH(int, statvfs64, (const char* path, struct statvfs64* status), noexcept, (path, status))
GLEAN_PATH(long, pathconf, (const char* path, int name), noexcept, (path, name))
GLEAN_PATH(ssize_t, getxattr, (const char* path, const char* name, void* value, std::size_t size), noexcept, (path, name, value, size))
GLEAN_PATH(ssize_t, listxattr, (const char* path, char* names, std::size_t size), noexcept, (path, names, size))
GLEAN_PATH(int, setxattr, (const char* path, const char* name, const void* value, std::size_t size, int flags), noexcept,
           (path, name, value, size, flags))
GLEAN_PATH(int, removexattr, (const char* path, const char* name), noexcept, (path, name))
GLEAN_CUTTING(int, truncate, (const char* path, off_t length), noexcept, (path, length), true)
GLEAN_CUTTING(int, truncate64, (const char* path, off64_t length), noexcept, (path, length), true)
GLEAN_LINK(ssize_t, lgetxattr, (const char* path, const char* name, void* value, std::size_t size), noexcept, (path, name, value, size))
GLEAN_LINK(ssize_t, llistxattr, (const char* path, char* names, std::size_t size), noexcept, (path, names, size))
GLEAN_LINK(int, lsetxattr, (const char* path, const char* name, const void* value, std::size_t size, int flags), noexcept,
           (path, name, value, size, flags))
GLEAN_LINK(int, lremovexattr, (const char* path, const char* name), noexcept, (path, name))

GLEAN_REMOVAL(int, remove, (const char* path), noexcept, (path), AT_FDCWD, true, true)
GLEAN_REMOVAL(int, unlink, (const char* path), noexcept, (path), AT_FDCWD, true, false)
GLEAN_REMOVAL(int, unlinkat, (int directory, const char* path, int flags), noexcept, (directory, path, flags), directory,
              (flags & AT_REMOVEDIR) == 0, (flags & AT_REMOVEDIR) != 0)
GLEAN_NEXT(int, rmdir, (const char* path), noexcept)
int rmdir(const char* path) noexcept {
  const auto call = [&] { return next_rmdir.find("rmdir")(path); };
  if (is_own(__builtin_return_address(0))) return call();
  if (has_gathered_files(AT_FDCWD, path)) return -1;
  static_cast<void>(Look("rmdir", AT_FDCWD, path, Wanted::directory_entries));
  const int removed = call();
  if (removed == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return removed;
  return loses_hidden_files("rmdir", AT_FDCWD, path) ? call() : removed;
}
GLEAN_RENAME(int, rename, (const char* from, const char* to), noexcept, (from, to), AT_FDCWD, AT_FDCWD, 0)
GLEAN_RENAME(int, renameat, (int old_directory, const char* from, int new_directory, const char* to), noexcept,
             (old_directory, from, new_directory, to), old_directory, new_directory, 0)
GLEAN_RENAME(int, renameat2, (int old_directory, const char* from, int new_directory, const char* to, unsigned flags), noexcept,
             (old_directory, from, new_directory, to, flags), old_directory, new_directory, flags)
GLEAN_LINKING(link, (const char* from, const char* to), (from, to), AT_FDCWD, AT_FDCWD, Wanted::link)
GLEAN_LINKING(linkat, (int old_directory, const char* from, int new_directory, const char* to, int flags),
              (old_directory, from, new_directory, to, flags), old_directory, new_directory,
              (flags & AT_SYMLINK_FOLLOW) != 0 ? Wanted::file : Wanted::link)
// A process that finds the link may look for what it leads to.
GLEAN_NEW(symlink, (const char* text, const char* path), (text, path), AT_FDCWD, Wanted::link,
          if (!is_own(__builtin_return_address(0)) && !may_link("symlink", text, AT_FDCWD, path)) return -1)
GLEAN_NEW(symlinkat, (const char* text, int directory, const char* path), (text, directory, path), directory, Wanted::link,
          if (!is_own(__builtin_return_address(0)) && !may_link("symlinkat", text, directory, path)) return -1)

GLEAN_PLACE(char*, realpath, (const char* path, char* resolved), noexcept, (path, resolved), AT_FDCWD)
GLEAN_PLACE(char*, __realpath_chk, (const char* path, char* resolved, std::size_t size), noexcept, (path, resolved, size), AT_FDCWD)
GLEAN_PLACE(char*, canonicalize_file_name, (const char* path), noexcept, (path), AT_FDCWD)
GLEAN_NEW(mkdir, (const char* path, mode_t mode), (path, mode), AT_FDCWD, Wanted::file)
GLEAN_NEW(mkdirat, (int directory, const char* path, mode_t mode), (directory, path, mode), directory, Wanted::file)
GLEAN_NEW(mknod, (const char* path, mode_t mode, dev_t device), (path, mode, device), AT_FDCWD, Wanted::file,
          GLEAN_MAKE(int, mknod, AT_FDCWD, path, (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == 0))
GLEAN_NEW(mknodat, (int directory, const char* path, mode_t mode, dev_t device), (directory, path, mode, device), directory, Wanted::file,
          GLEAN_MAKE(int, mknodat, directory, path, (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == 0))
