// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/writer.hpp"

#include <optional>

#include "store/posix/write_part.hpp"

namespace glean::store {

namespace {

class PwriteWriter final : public Writer {
 public:
  explicit PwriteWriter(SystemCalls& calls) : calls_(calls) {}

  [[nodiscard]] bool has_room() const override { return !completion_; }
  [[nodiscard]] std::size_t in_flight() const override { return completion_ ? 1 : 0; }
  [[nodiscard]] WriteCounters counters() const override { return counters_; }

  void submit(const WriteRequest& request) override {
    WriteParts parts = split(request);
    int error = 0;
    for (int i = 0; i < parts.count && error == 0; ++i) error = write(parts.part[i]);
    completion_ = WriteCompletion{request.tag, error};
  }

  void reap(Reap, const std::function<void(const WriteCompletion&)>& completed) override {
    if (!completion_) return;
    // The caller may submit the next request from inside `completed`.
    const WriteCompletion completion = *completion_;
    completion_.reset();
    completed(completion);
  }

 private:
  int write(WritePart& part) {
    for (;;) {
      const ssize_t result =
          calls_.pwritev(part.descriptor(), part.segments(), static_cast<off_t>(part.offset()));
      switch (part.advance(result, counters_)) {
        case WritePart::Next::write: continue;
        case WritePart::Next::done: return 0;
        case WritePart::Next::failed: return part.error();
      }
    }
  }

  SystemCalls& calls_;
  WriteCounters counters_;
  std::optional<WriteCompletion> completion_;
};

}  // namespace

Bytes WriteRequest::size() const {
  Bytes bytes = 0;
  for (const auto& segment : segments) bytes += segment.size();
  return bytes;
}

WriteCounters& WriteCounters::operator+=(const WriteCounters& other) {
  direct_requests += other.direct_requests;
  direct_bytes += other.direct_bytes;
  buffered_requests += other.buffered_requests;
  buffered_bytes += other.buffered_bytes;
  return *this;
}

std::unique_ptr<Writer> make_pwrite_writer(SystemCalls& calls) { return std::make_unique<PwriteWriter>(calls); }

}  // namespace glean::store
