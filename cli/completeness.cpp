// SPDX-License-Identifier: BSD-3-Clause
#include "cli/completeness.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/verification.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/unclosed.hpp"
#include "store/sums/verify.hpp"

namespace glean::cli {
namespace {

using base::Bytes;

// Why a file cannot be judged by a header; empty: it begins like a classic NetCDF file.
std::string foreign(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(8, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (!file && file.gcount() == 0) return "it cannot be read";
  if (begin == "\x89HDF\r\n\x1a\n") return "it is an HDF5 file, which is not validated without checksums";
  const bool classic = begin.starts_with("CDF") && (begin[3] == 1 || begin[3] == 2 || begin[3] == 5);
  return classic ? "" : "it is not a NetCDF file (CDF-1, CDF-2, CDF-5), and has no checksums";
}

// Files are not padded at their end, by PnetCDF at least; others may round up to 4 bytes. Without checksums a file whose
// last variable was put only in part cannot be told from one that was cut short.
std::string wrong_length(const store::Header& header, Bytes bytes) {
  const auto per_step = [](const auto& variable) { return variable.per_step(); };
  const auto& variables = header.layout.variables;
  if (header.records == 0 && std::any_of(variables.begin(), variables.end(), per_step)) {
    return "its header counts no records: it was not finished, or no step was written";
  }
  const Bytes whole = store::whole_size(header.layout, header.records);
  if (bytes < whole) {
    return fmt::format("it ends {} bytes before its last variable does: it was cut short, or that variable was put only "
                       "in part, which checksums could tell",
                       whole - bytes);
  }
  if (bytes > base::align_up(whole, 4)) {
    return fmt::format("{} bytes lie behind its last variable: it was not finished, or something was appended",
                       bytes - whole);
  }
  return {};
}

Judgement by_sums(const std::string& path, const store::Sidecar& sidecar, Bytes bytes, Depth depth) {
  Judgement judgement{false, depth == Depth::all_sums ? "checksums" : "length", {}, {}};
  std::vector<std::string> wrong;
  if (depth == Depth::all_sums && bytes == sidecar.file_bytes) {
    store::SystemCalls calls;
    wrong = lines_of(store::verify(calls, path, sidecar), sidecar);
  } else if (bytes != sidecar.file_bytes) {
    wrong.push_back(fmt::format("it has {} bytes instead of {}", bytes, sidecar.file_bytes));
  }
  judgement.complete = wrong.empty();
  if (wrong.empty()) return judgement;
  judgement.reason = "it differs from its checksums: " + wrong.front();
  if (wrong.size() > 1) judgement.reason += fmt::format(", and {} more", wrong.size() - 1);
  return judgement;
}

}  // namespace

Judgement judge(const std::string& path, Depth depth, bool sums_required, HeaderReader& headers) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {false, {}, base::system_error(errno, "it cannot be read").what(), {}};
  if (!S_ISREG(status.st_mode)) return {false, {}, S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file", {}};
  const auto bytes = static_cast<Bytes>(status.st_size);
  Judgement judgement;
  if (const auto part = store::parse_part_path(path); part && std::filesystem::exists(store::index_path(path))) {
    judgement.reason = fmt::format("it is a part of {}, see glean-join(1)", std::filesystem::path(part->path).filename().string());
    return judgement;
  }
  if (store::is_unclosed_path(path)) {
    judgement.reason = "not all ranks had closed it, see glean-recover(1)";
    return judgement;
  }
  try {
    std::optional<store::Sidecar> sidecar;
    try {
      store::SystemCalls calls;
      sidecar = store::read_sidecar(calls, path);
    } catch (const base::Error& error) {
      judgement.note = error.what();
    }
    if (sidecar) return by_sums(path, *sidecar, bytes, depth);
    if (sums_required) judgement.reason = "it has no checksums";
    else if (bytes == 0) judgement.reason = "it is empty";
    else judgement.reason = foreign(path);
    if (judgement.reason.empty()) judgement.reason = wrong_length(headers.read(path), bytes);
    judgement.complete = judgement.reason.empty();
    if (judgement.complete) judgement.by = "header";
  } catch (const base::Error& error) {
    judgement.reason = error.what();
  }
  return judgement;
}

}  // namespace glean::cli
