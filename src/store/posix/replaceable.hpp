// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a file can be replaced by a new one without a trace: so that links, owner, group, permissions, access control list and
// attributes are those that it would have if it had been cut to nothing and written again. Such a file is replaced when the new one is
// complete; any other one is written in place.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>

namespace glean::store {

// Name → value. What the file system says of every file, and differs for each, is not among them.
using Attributes = std::map<std::string, std::string>;

// A file, its directory, and what this process would make there.
struct FileInPlace {
  struct stat file {}, directory {};
  uid_t user = 0;                // of new files
  gid_t group = 0;               // of new files, unless the directory hands its own on
  bool can_write_directory = true;
  Attributes attributes{};
  Attributes of_new_file{};      // that has the same permission bits
};

// What would not be as it was, in words that follow "because"; nothing where no trace is left. Local, pure.
[[nodiscard]] std::optional<std::string> trace_of_replacing(const FileInPlace& place);

// Why the file to which `path` leads, links followed, is written in place; nothing where none is there. Local, a few system calls. Where
// the file has extended attributes it makes a file without a name in the same directory, to see which ones a new file gets.
[[nodiscard]] std::optional<std::string> why_written_in_place(const std::string& path);

// What is the same for all files that are laid out alike on a Lustre file system, of the attribute in which a file's layout is: extents,
// pattern, size and number of stripes, and their pool. An attribute of another kind is returned as it is. Local, pure.
[[nodiscard]] std::string stripe_layout(const std::string& attribute);

}  // namespace glean::store
