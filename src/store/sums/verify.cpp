// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/verify.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/posix/input_file.hpp"

namespace glean::store {
namespace {

constexpr Bytes chunk_bytes = 8 * base::MiB;

// A sum on its way through the file.
class Running {
 public:
  explicit Running(const StridedSum& sum) : sum_(&sum) {}

  // Takes its bytes out of a chunk: they are added, and zeros in the buffer afterwards, so that what is left there
  // belongs to no sum. Two sums of one byte would differ.
  void take(Extent chunk, std::byte* buffer) {
    for (; run_ < sum_->runs; ++run_, done_ = 0) {
      const Bytes begin = sum_->run_begin(run_) + done_;
      if (begin >= chunk.end) return;
      const Bytes bytes = std::min(sum_->length - done_, chunk.end - begin);
      std::byte* first = buffer + (begin - chunk.begin);
      streaming_.add({first, bytes});
      std::memset(first, 0, bytes);
      done_ += bytes;
      if (done_ < sum_->length) return;
    }
  }
  [[nodiscard]] bool finished() const { return run_ == sum_->runs; }
  [[nodiscard]] bool differs() const { return streaming_.value() != sum_->sum; }
  [[nodiscard]] const StridedSum& sum() const { return *sum_; }

 private:
  const StridedSum* sum_;
  StreamingSum streaming_;
  std::uint64_t run_ = 0;
  Bytes done_ = 0;   // of that run
};

bool is_zero(const std::byte* bytes, Bytes size) {
  return size == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

void find_leftovers(Extent chunk, const std::byte* buffer, std::vector<Difference>& differences) {
  const Bytes size = chunk.size();
  if (is_zero(buffer, size)) return;
  Bytes first = 0, last = size - 1;
  while (buffer[first] == std::byte{0}) ++first;
  while (buffer[last] == std::byte{0}) --last;
  differences.push_back({Difference::Kind::not_zero, {chunk.begin + first, chunk.begin + last + 1}, {}});
}

}  // namespace

Verification verify(SystemCalls& calls, const std::string& path, const Sidecar& sidecar) {
  const InputFile file(calls, path);
  Verification result;
  result.expected_bytes = sidecar.file_bytes;
  result.found_bytes = file.bytes();
  for (const StridedSum& sum : sidecar.sums) {
    result.summed_bytes += sum.bytes();
    if (sum.read_back) result.read_back_bytes += sum.bytes();
  }
  const Bytes readable_bytes = std::min(result.expected_bytes, result.found_bytes);
  std::vector<std::byte> buffer(std::min(chunk_bytes, readable_bytes));
  std::vector<Running> running;
  auto next = sidecar.sums.begin();
  for (Extent chunk{0, 0}; chunk.end < readable_bytes;) {
    chunk = {chunk.end, std::min(chunk.end + chunk_bytes, readable_bytes)};
    for (; next != sidecar.sums.end() && next->begin < chunk.end; ++next) running.emplace_back(*next);
    if (running.empty() && file.is_hole(chunk)) continue;
    file.read_with_zeros({buffer.data(), chunk.size()}, chunk.begin);
    for (Running& sum : running) {
      sum.take(chunk, buffer.data());
      if (!sum.finished() || !sum.differs()) continue;
      result.differences.push_back({Difference::Kind::changed, {sum.sum().begin, sum.sum().end()}, sum.sum()});
    }
    std::erase_if(running, [](const Running& sum) { return sum.finished(); });
    find_leftovers(chunk, buffer.data(), result.differences);
  }
  // What lies behind the end of a file that was cut is not there, however much a sidecar says that it is.
  const auto cut_from = result.differences.size();
  const auto is_cut = [&](const StridedSum& sum) {
    result.differences.push_back({Difference::Kind::changed, {sum.begin, sum.end()}, sum});
  };
  for (const Running& sum : running) is_cut(sum.sum());
  std::for_each(next, sidecar.sums.end(), is_cut);
  std::sort(result.differences.begin() + static_cast<std::ptrdiff_t>(cut_from), result.differences.end(),
            [](const Difference& a, const Difference& b) { return a.extent.end < b.extent.end; });
  return result;
}

std::string place_in(const FileLayout& layout, Bytes offset) {
  if (offset < layout.header_bytes) return "header";
  for (const VariableLayout& variable : layout.variables) {
    if (offset < variable.begin_bytes) continue;
    const Bytes distance = offset - variable.begin_bytes;
    const std::uint64_t record = variable.per_step() ? distance / variable.record_stride_bytes : 0;
    if (distance - record * variable.record_stride_bytes >= variable.record_bytes()) continue;
    return (variable.per_step() ? "record " + std::to_string(record) + " of " : "") + "'" + variable.name + "'";
  }
  return {};
}

}  // namespace glean::store
