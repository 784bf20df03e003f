// SPDX-License-Identifier: BSD-3-Clause
#include "drain/checksums.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "store/posix/input_file.hpp"

namespace glean::drain {
namespace {

using base::Extent;
using store::StridedSum;

constexpr Bytes chunk_bytes = 8 * base::MiB;

// Reads back what no sum covers, and finds out what is in there; what reads as zeros stays a hole.
class ReadBack {
 public:
  ReadBack(const store::InputFile& file, const std::vector<StridedSum>& known) : file_(file) {
    for (const StridedSum& sum : known) left_.push_back({&sum, 0});
  }

  // Sums of [0, header_bytes) and, if `everything`, of all behind it.
  [[nodiscard]] std::vector<StridedSum> sums(Bytes header_bytes, Bytes file_bytes, bool everything) {
    std::vector<std::byte> buffer(std::min(chunk_bytes, file_bytes));
    std::vector<StridedSum> sums;
    const auto add = [&](const std::vector<StridedSum>& more) { sums.insert(sums.end(), more.begin(), more.end()); };
    for (Extent chunk{0, 0}; chunk.end < header_bytes;) {
      chunk = {chunk.end, std::min(chunk.end + chunk_bytes, header_bytes)};
      read(chunk, buffer.data());
      add(store::checksums_of({{chunk}}, buffer.data(), chunk.begin, true));
    }
    for (Extent chunk{0, header_bytes}; everything && chunk.end < file_bytes;) {
      chunk = {chunk.end, std::min(chunk.end + chunk_bytes, file_bytes)};
      const std::vector<Extent> unknown = uncovered(chunk);
      if (unknown.empty()) continue;
      read(chunk, buffer.data());
      std::vector<Extent> data;
      for (const Extent& run : unknown) {
        const std::byte* first = buffer.data() + (run.begin - chunk.begin);
        if (std::any_of(first, first + run.size(), [](std::byte b) { return b != std::byte{0}; })) data.push_back(run);
      }
      add(store::checksums_of(data, buffer.data(), chunk.begin, true));
    }
    return sums;
  }

 private:
  struct Left {
    const StridedSum* sum;
    std::uint64_t run;   // the first that has not ended
  };

  void read(Extent chunk, std::byte* buffer) const {
    if (file_.read({buffer, chunk.size()}, chunk.begin) == chunk.size()) return;
    throw base::Error(base::Errc::io, "it is shorter than what was written");
  }

  // Chunks come in order, as the sums do.
  std::vector<Extent> uncovered(Extent chunk) {
    std::vector<bool> covered(chunk.size());
    for (Left& left : left_) {
      const StridedSum& sum = *left.sum;
      if (sum.begin >= chunk.end) break;
      for (; left.run < sum.runs && sum.run_begin(left.run) < chunk.end; ++left.run) {
        const Bytes begin = std::max(sum.run_begin(left.run), chunk.begin), end = sum.run_begin(left.run) + sum.length;
        if (end <= chunk.begin) continue;
        std::fill(covered.begin() + static_cast<std::ptrdiff_t>(begin - chunk.begin),
                  covered.begin() + static_cast<std::ptrdiff_t>(std::min(end, chunk.end) - chunk.begin), true);
        if (end > chunk.end) break;
      }
    }
    std::erase_if(left_, [](const Left& left) { return left.run == left.sum->runs; });
    std::vector<Extent> runs;
    for (auto at = covered.begin(); (at = std::find(at, covered.end(), false)) != covered.end();) {
      const auto end = std::find(at, covered.end(), true);
      runs.push_back({chunk.begin + static_cast<Bytes>(at - covered.begin()),
                      chunk.begin + static_cast<Bytes>(end - covered.begin())});
      at = end;
    }
    return runs;
  }

  const store::InputFile& file_;
  std::vector<Left> left_;
};

}  // namespace

const char* name_of(SumsState state) {
  if (state == SumsState::recorded) return "recorded";
  return state == SumsState::failed ? "failed" : "off";
}

void Checksums::add_patches(const store::FileLayout& layout, const std::vector<store::Patch>& patches) {
  for (const store::Patch& patch : patches) {
    if (patch.offset >= layout.header_bytes) add(store::checksums_of({{patch.extent()}}, patch.bytes.data(), patch.offset));
  }
}

store::Sidecar Checksums::sidecar(store::SystemCalls& calls, const std::string& working_path,
                                  const store::FileLayout& layout, Bytes file_bytes) {
  const auto by_begin = [](const StridedSum& a, const StridedSum& b) { return a.begin < b.begin; };
  store::Sidecar sidecar{file_bytes, layout.encode(), std::move(sums_)};
  std::sort(sidecar.sums.begin(), sidecar.sums.end(), by_begin);
  const store::InputFile file(calls, working_path);
  const auto more = ReadBack(file, sidecar.sums).sums(std::min(layout.header_bytes, file_bytes), file_bytes, lost_);
  sidecar.sums.insert(sidecar.sums.end(), more.begin(), more.end());
  std::sort(sidecar.sums.begin(), sidecar.sums.end(), by_begin);
  return sidecar;
}

void forget_sums(store::SystemCalls& calls, const std::string& path) noexcept {
  try {
    store::remove_sidecar(calls, path);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::warning, "{}: until it is removed, `glean verify` will find that '{}' differs",
              error.what(), path);
  }
}

void Checksums::failed(const std::string& path, const char* why) {
  state_ = SumsState::failed;
  base::log(base::LogLevel::warning, "'{}' has no checksums: {}", path, why);
}

bool publish(store::SystemCalls& calls, store::File& file, const store::FileLayout& layout, Bytes file_bytes,
             Checksums& checksums, const TakeName& take_name) {
  const store::FileNames& names = file.names();
  std::unique_ptr<store::PreparedSidecar> prepared;
  try {
    if (checksums.state() != SumsState::off) {
      prepared = std::make_unique<store::PreparedSidecar>(
          calls, names.final_path, checksums.sidecar(calls, names.working_path, layout, file_bytes));
    }
  } catch (const std::exception& error) {
    checksums.failed(names.final_path, error.what());
  }
  forget_sums(calls, names.final_path);
  file.prepare_to_publish();
  if (!take_name(file)) return false;
  file.keep_name();
  try {
    if (prepared) prepared->publish();
    if (prepared && file.is_removed()) forget_sums(calls, names.final_path);   // by the program, since it has its name
  } catch (const std::exception& error) {
    checksums.failed(names.final_path, error.what());
  }
  return true;
}

}  // namespace glean::drain
