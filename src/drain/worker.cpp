// SPDX-License-Identifier: BSD-3-Clause
#include "drain/worker.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace glean::drain {
namespace {

int size_class(Bytes bytes) {
  int result = 0;
  while (result + 1 < DrainTrace::size_classes && bytes > DrainTrace::class_limit(result)) ++result;
  return result;
}

std::byte* map_memory(Bytes bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw base::system_error(errno, "cannot allocate the drain's buffers");
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

void Worker::Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

Worker::Worker(const plan::Plan& plan, store::SystemCalls& calls, Inspect inspect, Done done)
    : inspect_(std::move(inspect)), done_(std::move(done)) {
  const Bytes bytes = static_cast<Bytes>(plan.depth) * plan.request_bytes;
  memory_ = {map_memory(bytes), Unmap{bytes}};
  for (int i = 0; i < plan.depth; ++i) {
    free_buffers_.push_back(memory_.get() + static_cast<Bytes>(i) * plan.request_bytes);
  }
  writer_ = store::make_uring_writer(calls, plan.depth);
  uses_io_uring_ = writer_ != nullptr;
  if (!writer_) writer_ = store::make_pwrite_writer(calls);
}

void Worker::write(const Job& job) {
  while (free_buffers_.empty()) reap(store::Writer::Reap::block);
  std::byte* buffer = free_buffers_.back();
  const Assembled assembled = assemble(*job.window, buffer);
  if (!inspect_(job, assembled)) return done_(job, nullptr);

  free_buffers_.pop_back();
  const std::uint64_t tag = next_tag_++;
  in_flight_.emplace(tag, InFlight{job, buffer, assembled.runs.size()});
  for (const Extent& run : assembled.runs) {
    while (!writer_->has_room()) reap(store::Writer::Reap::block);
    ++sizes_[static_cast<std::size_t>(size_class(run.size()))];
    writer_->submit({job.output->file(), {buffer + (run.begin - job.window->extent.begin), run.size()}, run.begin, tag});
  }
}

void Worker::wait() { reap(store::Writer::Reap::block); }

void Worker::poll() { reap(store::Writer::Reap::poll); }

void Worker::reap(store::Writer::Reap how) {
  std::vector<InFlight> ended;
  writer_->reap(how, [&](const store::WriteCompletion& completion) {
    const auto it = in_flight_.find(completion.tag);
    if (completion.error != 0 && it->second.error == 0) it->second.error = completion.error;
    if (--it->second.unfinished != 0) return;
    ended.push_back(std::move(it->second));
    in_flight_.erase(it);
  });
  for (const InFlight& write : ended) {
    free_buffers_.push_back(write.buffer);
    if (write.error == 0) {
      done_(write.job, nullptr);
    } else {
      const base::Error error =
          base::system_error(write.error, "cannot write '" + write.job.output->description().display_path + "'");
      done_(write.job, &error);
    }
  }
}

}  // namespace glean::drain
