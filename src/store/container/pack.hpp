// SPDX-License-Identifier: BSD-3-Clause
//
// Files become the tasks of a new container, and the logical files of a container become files again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/container/container.hpp"

namespace glean::store {

// A name that a container may be extracted to: relative, without "." and "..", without empty parts.
[[nodiscard]] bool is_safe_name(const std::string& name);

struct PackSource {
  std::string path;
  std::string name;                       // in the container
  const Container* container = nullptr;   // it is `file` of this container, and not the file at `path`
  LogicalFile file = {};
};

struct PackOptions {
  Bytes block_bytes = 4 * base::KiB;
  std::optional<Bytes> chunk_bytes;   // of each task, at least; nothing: each file is one chunk
  std::uint32_t files = 1;            // physical files, of about the same length
  std::uint64_t id = 0;               // of the container: any number, another one for each
};

struct Packed {
  std::uint64_t tasks = 0;
  Bytes bytes = 0;        // of the sources
  Bytes file_bytes = 0;   // of all physical files
};

// One task of each source, in their order, from rank 0 on. Each physical file appears under its name when all are complete and durable, the
// first one, `path`, last of all; of several that replace others, some may be replaced when a crash comes in between, which readers see.
// Throws invalid_argument with all that is wrong with names and sizes, and what the system says. Local, blocks.
Packed pack(SystemCalls& calls, const std::string& path, const std::vector<PackSource>& sources, const PackOptions& options,
            const Progress& progress);

struct Extracted {
  std::uint64_t files = 0;
  Bytes bytes = 0;
};

// Makes `files` of the container below `directory`, which is there. Each appears when it is complete and durable, and takes the place of
// one of that name. Nothing is written outside of `directory`: names such as "../x", and symbolic links on the way, are refused, all of
// them before anything is written. Throws invalid_argument, and what the system says. Local, blocks.
Extracted extract(SystemCalls& calls, const Container& container, const std::vector<LogicalFile>& files, const std::string& directory,
                  const Progress& progress);

}  // namespace glean::store
