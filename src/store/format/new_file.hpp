// SPDX-License-Identifier: BSD-3-Clause
//
// A file as it is before anything has been put into it.
#pragma once

#include <span>

#include "store/format/file_image.hpp"
#include "store/posix/file.hpp"

namespace glean::store {

// Makes the working file, which may be there from an earlier attempt, and writes the metadata. It gets the permission bits of the file
// that it will replace. What is written in place is emptied first. What was made is removed again when it throws, unless it is written
// in place. Local, blocks.
void make_new_file(SystemCalls& calls, const FileNames& names, std::span<const Patch> metadata);

}  // namespace glean::store
