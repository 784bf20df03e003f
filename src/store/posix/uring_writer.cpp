// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/writer.hpp"

#ifdef GLEAN_HAVE_LIBURING

#include <liburing.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <vector>

#include "base/error.hpp"
#include "store/posix/write_part.hpp"

namespace glean::store {

namespace {

class UringWriter final : public Writer {
 public:
  // `ring` is initialised, with room for every part of `depth` requests.
  UringWriter(SystemCalls& calls, const io_uring& ring, int depth)
      : calls_(calls), ring_(ring), slots_(static_cast<std::size_t>(depth)) {
    for (Slot& slot : slots_) free_.push_back(&slot);
  }

  // The kernel reads the callers' buffers until the last write has ended.
  ~UringWriter() override {
    try {
      while (in_flight() > 0) reap(Reap::block, [](const WriteCompletion&) {});
    } catch (const base::Error&) {
      // The ring itself is broken; io_uring_queue_exit cancels what is left.
    }
    io_uring_queue_exit(&ring_);
  }
  UringWriter(const UringWriter&) = delete;
  UringWriter& operator=(const UringWriter&) = delete;

  [[nodiscard]] bool has_room() const override { return !free_.empty(); }
  [[nodiscard]] std::size_t in_flight() const override { return slots_.size() - free_.size(); }
  [[nodiscard]] WriteCounters counters() const override { return counters_; }

  void submit(const WriteRequest& request) override {
    assert(has_room());
    Slot& slot = *free_.back();
    free_.pop_back();
    slot = Slot{.tag = request.tag, .parts = split(request)};
    slot.open_parts = slot.parts.count;
    if (slot.open_parts == 0) finished_.push_back(&slot);
    for (int i = 0; i < slot.parts.count; ++i) queue(slot, i);
    enter(0);
  }

  void reap(Reap how, const std::function<void(const WriteCompletion&)>& completed) override {
    collect();
    while (how == Reap::block && finished_.empty() && in_flight() > 0) {
      enter(1);
      collect();
    }
    // `completed` may submit the next request, which may take the slot: so the slots are freed first.
    std::vector<WriteCompletion> completions;
    for (Slot* slot : finished_) {
      completions.push_back({slot->tag, slot->error});
      free_.push_back(slot);
    }
    finished_.clear();
    for (const WriteCompletion& completion : completions) completed(completion);
  }

 private:
  struct Slot {
    std::uint64_t tag = 0;
    WriteParts parts;
    int open_parts = 0;
    int error = 0;
  };

  // The number that comes back with the completion is 4 * slot + part.
  void queue(Slot& slot, int part_index) {
    const WritePart& part = slot.parts.part[part_index];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    assert(entry != nullptr);   // every part has at most one write queued
    const auto segments = part.segments();   // the slot keeps them until the completion
    io_uring_prep_writev(entry, part.descriptor(), segments.data(), static_cast<unsigned>(segments.size()), part.offset());
    const auto slot_index = static_cast<std::uint64_t>(&slot - slots_.data());
    io_uring_sqe_set_data64(entry, slot_index * 4 + static_cast<std::uint64_t>(part_index));
  }

  // Gives the kernel what is queued, and waits for that many completions.
  void enter(unsigned wait_for) {
    for (;;) {
      const int result = wait_for > 0 ? io_uring_submit_and_wait(&ring_, wait_for) : io_uring_submit(&ring_);
      if (result >= 0) return;
      if (result == -EINTR) continue;
      // Short of memory or of room for completions: what is queued goes with the next call.
      if ((result == -EAGAIN || result == -EBUSY) && (wait_for == 0 || io_uring_cq_ready(&ring_) > 0)) return;
      if (result == -EAGAIN || result == -EBUSY) continue;
      throw base::system_error(-result, "io_uring does not accept writes");
    }
  }

  // Takes in all completed writes, and continues those that fell short.
  void collect() {
    bool queued = false;
    io_uring_cqe* completed = nullptr;
    while (io_uring_peek_cqe(&ring_, &completed) == 0) {
      const std::uint64_t data = io_uring_cqe_get_data64(completed);
      const ssize_t result = completed->res;
      io_uring_cqe_seen(&ring_, completed);
      queued |= take_in(slots_[data / 4], static_cast<int>(data % 4), result);
    }
    if (queued) enter(0);
  }

  // Returns whether the part was queued again.
  bool take_in(Slot& slot, int part_index, ssize_t kernel_result) {
    WritePart& part = slot.parts.part[part_index];
    const ssize_t result = calls_.result_of_write(part.descriptor(), part.size(),
                                                  static_cast<off_t>(part.offset()), kernel_result);
    switch (part.advance(result, counters_)) {
      case WritePart::Next::write: queue(slot, part_index); return true;
      case WritePart::Next::done: break;
      case WritePart::Next::failed:
        if (slot.error == 0) slot.error = part.error();
        break;
    }
    if (--slot.open_parts == 0) finished_.push_back(&slot);
    return false;
  }

  SystemCalls& calls_;
  io_uring ring_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<Slot*> finished_;   // not handed over yet
  WriteCounters counters_;
};

}  // namespace

std::unique_ptr<Writer> make_uring_writer(SystemCalls& calls, int depth) {
  depth = std::clamp(depth, 1, 1024);
  const auto entries = static_cast<unsigned>(depth * parts_max);
  io_uring ring{};
  // With these the kernel does not interrupt the thread for every completion, and polling still sees them; they
  // need Linux 5.19. SINGLE_ISSUER would tie the ring to the thread that makes it, which need not be the one
  // that writes, and gains nothing with requests of megabytes.
  for (const unsigned flags : {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0U}) {
    if (io_uring_queue_init(entries, &ring, flags) == 0) return std::make_unique<UringWriter>(calls, ring, depth);
  }
  return nullptr;
}

}  // namespace glean::store

#else

namespace glean::store {

std::unique_ptr<Writer> make_uring_writer(SystemCalls&, int) { return nullptr; }

}  // namespace glean::store

#endif
