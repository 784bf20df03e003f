// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a file is a complete one, as far as its header and its length tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/layout.hpp"
#include "store/posix/input_file.hpp"
#include "store/posix/system_calls.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {

// What GLEAN keeps beside the files of a program: files that are still written, sidecars, indexes of parts. By the name alone.
[[nodiscard]] bool is_kept_beside(const std::string& path);

// Why there is no need to open the file: it is not there, is no regular file, is a part of several or one that not all ranks
// had closed. Nothing: it may be complete. Blocks.
[[nodiscard]] std::optional<std::string> why_no_candidate(const std::string& path);

// What is wrong with the length of a file that has such a header and so many records; nothing if it is right.
//
// Files are not padded at their end, by PnetCDF at least; others may round up to 4 bytes. A file whose last variable was put only in part
// cannot be told from one that was cut short.
[[nodiscard]] std::optional<std::string> wrong_length(const FileLayout& layout, std::uint64_t records, Bytes bytes);

// Why a classic NetCDF file is not complete: by the length in its sidecar, or without one by its header. Nothing if it is. Reads the header
// and no data. Throws io when it is damaged or no such file, and what the system says. Blocks.
[[nodiscard]] std::optional<std::string> why_incomplete_cdf(SystemCalls& calls, const std::string& path);
// The same of a file and its sidecar, if it has one, wherever they are.
[[nodiscard]] std::optional<std::string> why_incomplete_cdf(const InputFile& file, const std::optional<Sidecar>& sidecar);

// As above, of an HDF5 file: by the length in its sidecar, or the one that its superblock states. Reads nothing else of the file.
[[nodiscard]] std::optional<std::string> why_incomplete_hdf5(const InputFile& file, const std::optional<Sidecar>& sidecar);
// Of either.
[[nodiscard]] std::optional<std::string> why_incomplete(SystemCalls& calls, const std::string& path);
[[nodiscard]] std::optional<std::string> why_incomplete(const InputFile& file, const std::optional<Sidecar>& sidecar);

}  // namespace glean::store
