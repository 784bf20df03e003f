// SPDX-License-Identifier: BSD-3-Clause
#include "cli/completeness.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/verification.hpp"
#include "store/completeness.hpp"
#include "store/format/hdf5/superblock.hpp"
#include "store/sums/verify.hpp"

namespace glean::cli {
namespace {

using base::Bytes;

// What a file without checksums has to be like.
enum class FileKind { netcdf, hdf5, other };

FileKind kind_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(4, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin.starts_with("CDF") && (begin[3] == 1 || begin[3] == 2 || begin[3] == 5)) return FileKind::netcdf;
  store::SystemCalls calls;
  return store::find_hdf5_superblock(store::InputFile(calls, path)) ? FileKind::hdf5 : FileKind::other;
}

// Empty: nothing is wrong as far as the header and the length tell.
std::string wrong_by_header(const std::string& path, Bytes bytes, HeaderReader& headers) {
  if (bytes == 0) return "it is empty";
  switch (kind_of(path)) {
    case FileKind::netcdf: {
      const store::Header header = headers.read(path);
      return store::wrong_length(header.layout, header.records, bytes).value_or("");
    }
    case FileKind::hdf5: {
      store::SystemCalls calls;
      return store::why_incomplete_hdf5(store::InputFile(calls, path), std::nullopt).value_or("");
    }
    case FileKind::other: break;
  }
  return "it is not a NetCDF file (CDF-1, CDF-2, CDF-5), no HDF5 file, and has no checksums";
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
  if (const auto why = store::why_no_candidate(path)) return {false, {}, *why, {}};
  Judgement judgement;
  try {
    const Bytes bytes = std::filesystem::file_size(path);
    std::optional<store::Sidecar> sidecar;
    try {
      store::SystemCalls calls;
      sidecar = store::read_sidecar(calls, path);
    } catch (const base::Error& error) {
      judgement.note = error.what();
    }
    if (sidecar) return by_sums(path, *sidecar, bytes, depth);
    judgement.reason = sums_required ? "it has no checksums" : wrong_by_header(path, bytes, headers);
    judgement.complete = judgement.reason.empty();
    if (judgement.complete) judgement.by = "header";
  } catch (const std::exception& error) {
    judgement.reason = error.what();
  }
  return judgement;
}

}  // namespace glean::cli
