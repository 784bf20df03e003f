// SPDX-License-Identifier: BSD-3-Clause
#include "store/completeness.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "store/format/cdf/header.hpp"
#include "store/format/hdf5/superblock.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/input_file.hpp"
#include "store/posix/unclosed.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {

namespace fs = std::filesystem;

bool is_kept_beside(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(".index")) {
    name.resize(name.size() - std::string_view(".index").size());
    if (parse_part_path(name)) return true;
  }
  return name.starts_with('.') &&
         ((name.find(".glean-") != std::string::npos && name.ends_with(".part")) || name.ends_with(".glean-sums"));
}

std::optional<std::string> why_no_candidate(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return base::system_error(errno, "it cannot be read").what();
  if (!S_ISREG(status.st_mode)) return S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file";
  if (const auto part = parse_part_path(path); part && fs::exists(index_path(path))) {
    return fmt::format("it is a part of {}, see glean-join(1)", fs::path(part->path).filename().string());
  }
  if (is_unclosed_path(path)) return "not all ranks had closed it, see glean-recover(1)";
  return std::nullopt;
}

std::optional<std::string> wrong_length(const FileLayout& layout, std::uint64_t records, Bytes bytes) {
  const auto per_step = [](const auto& variable) { return variable.per_step(); };
  if (records == 0 && std::any_of(layout.variables.begin(), layout.variables.end(), per_step)) {
    return "its header counts no records: it was not finished, or no step was written";
  }
  const Bytes whole = whole_size(layout, records);
  if (bytes < whole) {
    return fmt::format("it ends {} bytes before its last variable does: it was cut short, or that variable was put only "
                       "in part, which checksums could tell",
                       whole - bytes);
  }
  if (bytes > base::align_up(whole, 4)) {
    return fmt::format("{} bytes lie behind its last variable: it was not finished, or something was appended", bytes - whole);
  }
  return std::nullopt;
}

namespace {

std::optional<std::string> wrong_length(const Sidecar& sidecar, Bytes bytes) {
  if (sidecar.file_bytes == bytes) return std::nullopt;
  return fmt::format("it has {} bytes instead of the {} that its checksums are of", bytes, sidecar.file_bytes);
}

}  // namespace

std::optional<std::string> why_incomplete_cdf(SystemCalls& calls, const std::string& path) {
  return why_incomplete_cdf(InputFile(calls, path), read_sidecar(calls, path));
}

std::optional<std::string> why_incomplete_cdf(const InputFile& file, const std::optional<Sidecar>& sidecar) {
  const Bytes bytes = file.bytes();
  const CdfHeader header = read_cdf_header(file);
  if (!sidecar) return wrong_length(header.layout, header.records, bytes);
  return wrong_length(*sidecar, bytes);
}

std::optional<std::string> why_incomplete_hdf5(const InputFile& file, const std::optional<Sidecar>& sidecar) {
  const Bytes bytes = file.bytes();
  const auto superblock = find_hdf5_superblock(file);
  if (!superblock) throw base::Error(base::Errc::io, "it has no superblock of HDF5 that is known");
  if (bytes < superblock->end) {
    return fmt::format("it ends {} bytes before the end that its superblock states: it was cut short, or not closed",
                       superblock->end - bytes);
  }
  if (sidecar) return wrong_length(*sidecar, bytes);
  if (bytes > superblock->end) {
    return fmt::format("{} bytes lie behind the end that its superblock states: it was not closed, or something was appended",
                       bytes - superblock->end);
  }
  return std::nullopt;
}

std::optional<std::string> why_incomplete(SystemCalls& calls, const std::string& path) {
  return why_incomplete(InputFile(calls, path), read_sidecar(calls, path));
}

std::optional<std::string> why_incomplete(const InputFile& file, const std::optional<Sidecar>& sidecar) {
  if (find_hdf5_superblock(file)) return why_incomplete_hdf5(file, sidecar);
  std::array<std::byte, 3> start{};
  if (file.read(start, 0) == start.size() && std::memcmp(start.data(), "CDF", start.size()) == 0) return why_incomplete_cdf(file, sidecar);
  throw base::Error(base::Errc::io, "it is no NetCDF file (CDF-1, CDF-2, CDF-5), and no HDF5 file");
}

}  // namespace glean::store
