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
    if (sums_required) judgement.reason = "it has no checksums";
    else if (bytes == 0) judgement.reason = "it is empty";
    else judgement.reason = foreign(path);
    if (judgement.reason.empty()) {
      const store::Header header = headers.read(path);
      judgement.reason = store::wrong_length(header.layout, header.records, bytes).value_or("");
    }
    judgement.complete = judgement.reason.empty();
    if (judgement.complete) judgement.by = "header";
  } catch (const std::exception& error) {
    judgement.reason = error.what();
  }
  return judgement;
}

}  // namespace glean::cli
