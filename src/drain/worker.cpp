// SPDX-License-Identifier: BSD-3-Clause
#include "drain/worker.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

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

Worker::Worker(const plan::NodePlan& plan, store::SystemCalls& calls, std::unique_ptr<store::Writer> writer,
               Inspect inspect, Done done, SpillFiles* spill)
    : calls_(calls), inspect_(std::move(inspect)), done_(std::move(done)), spill_(spill), writer_(std::move(writer)) {
  const Bytes bytes = static_cast<Bytes>(plan.depth) * plan.request_bytes;
  memory_ = {map_memory(bytes), Unmap{bytes}};
  for (int i = 0; i < plan.depth; ++i) {
    free_buffers_.push_back(memory_.get() + static_cast<Bytes>(i) * plan.request_bytes);
  }
}

store::Assembled Worker::assemble_job(const Job& job, std::byte* buffer) {
  return store::assemble(*job.window, buffer, [&](const store::TypedPiece& typed) {
    const PendingPiece& pending = PendingPiece::of(typed);
    try {
      return spill_->read(*pending.record, pending.journal->rank(), spilled_);
    } catch (const DamagedSpill& error) {
      throw lost_payload(error, pending.variable->name, job.output->about().description.display_path, pending.step);
    }
  });
}

namespace {

// The header is read back when it is complete: attributes come late into it.
std::vector<Extent> behind_header(std::vector<Extent> runs, const store::FileLayout& layout) {
  if (!layout.attributes.empty()) std::erase_if(runs, [&](const Extent& run) { return run.begin < layout.header_bytes; });
  return runs;
}

}  // namespace

void Worker::write(const Job& job) {
  while (free_buffers_.empty()) reap(store::Writer::Reap::block);
  std::byte* buffer = free_buffers_.back();
  store::Assembled assembled;
  try {
    assembled = assemble_job(job, buffer);
  } catch (const base::Error& error) {
    return done_(job, &error);
  }
  if (!inspect_(job, assembled)) return done_(job, nullptr);

  const store::OutputDescription& description = job.output->about().description;
  if (description.checksums && job.output->stream() == nullptr) {   // which are written again and by others: they are read back
    job.window->sums = store::checksums_of(behind_header(assembled.runs, description.layout), buffer, job.window->extent.begin);
  }
  free_buffers_.pop_back();
  const std::uint64_t tag = next_tag_++;
  in_flight_.emplace(tag, InFlight{job, buffer, assembled.runs.size()});
  const Stream* const stream = job.output->stream();
  const bool through_cache = stream != nullptr && stream->is_read_soon();
  for (const Extent& run : assembled.runs) {
    while (in_flight_.contains(tag) && !writer_->has_room()) reap(store::Writer::Reap::block);
    if (!in_flight_.contains(tag)) return;   // the writer broke down
    ++sizes_[static_cast<std::size_t>(size_class(run.size()))];
    try {
      writer_->submit({job.output->file().get(), {buffer + (run.begin - job.window->extent.begin), run.size()}, run.begin, tag,
                       through_cache});
    } catch (const base::Error& error) {
      return replace_writer(error);
    }
  }
}

// The means of writing has failed, not a write: what is in flight is lost with it, what comes does without.
void Worker::replace_writer(const base::Error& error) {
  earlier_ = counters();
  writer_ = store::make_pwrite_writer(calls_);
  const auto lost = std::exchange(in_flight_, {});
  for (const auto& [tag, write] : lost) {
    free_buffers_.push_back(write.buffer);
    done_(write.job, &error);
  }
}

store::WriteCounters Worker::counters() const {
  store::WriteCounters sum = earlier_;
  const store::WriteCounters now = writer_->counters();
  sum.direct_requests += now.direct_requests;
  sum.direct_bytes += now.direct_bytes;
  sum.buffered_requests += now.buffered_requests;
  sum.buffered_bytes += now.buffered_bytes;
  return sum;
}

void Worker::wait() { reap(store::Writer::Reap::block); }

void Worker::poll() { reap(store::Writer::Reap::poll); }

void Worker::reap(store::Writer::Reap how) {
  std::vector<InFlight> ended;
  try {
    writer_->reap(how, [&](const store::WriteCompletion& completion) {
      const auto it = in_flight_.find(completion.tag);
      if (completion.error != 0 && it->second.error == 0) it->second.error = completion.error;
      if (--it->second.unfinished != 0) return;
      ended.push_back(std::move(it->second));
      in_flight_.erase(it);
    });
  } catch (const base::Error& error) {
    replace_writer(error);
  }
  for (const InFlight& write : ended) {
    free_buffers_.push_back(write.buffer);
    if (write.error == 0) {
      done_(write.job, nullptr);
    } else {
      const base::Error error =
          base::system_error(write.error, "cannot write '" + write.job.output->about().description.display_path + "'");
      done_(write.job, &error);
    }
  }
}

}  // namespace glean::drain
