// SPDX-License-Identifier: BSD-3-Clause
#include "drain/worker.hpp"

#include <sys/mman.h>

#include <algorithm>
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
               Inspect inspect, Done done, SpillFiles* spill, From from)
    : calls_(calls), inspect_(std::move(inspect)), done_(std::move(done)), spill_(spill), from_(from), writer_(std::move(writer)) {
  const Bytes bytes = static_cast<Bytes>(plan.depth) * plan.request_bytes;
  memory_ = {map_memory(bytes), Unmap{bytes}};
  for (int i = 0; i < plan.depth; ++i) {
    free_buffers_.push_back(memory_.get() + static_cast<Bytes>(i) * plan.request_bytes);
  }
}

store::Assembled Worker::assemble_job(const Job& job, std::byte* buffer, const store::MayStay& may_stay) {
  const auto load = [&](const store::TypedPiece& typed) {
    const PendingPiece& pending = PendingPiece::of(typed);
    try {
      return spill_->read(*pending.record, pending.journal->rank(), spilled_);
    } catch (const DamagedSpill& error) {
      throw lost_payload(error, pending.variable->name, job.output->about().description.display_path, pending.step);
    }
  };
  return store::assemble(*job.window, buffer, load, may_stay);
}

namespace {

// The header is read back when it is complete: attributes come late into it.
std::vector<Extent> behind_header(std::vector<Extent> runs, const store::FileLayout& layout) {
  if (!layout.attributes.empty()) std::erase_if(runs, [&](const Extent& run) { return run.begin < layout.header_bytes; });
  return runs;
}

// Below, a copy costs less than what the system does for each stretch.
constexpr Bytes least_in_place = 64 * base::KiB;

// Requests, one for each run: from the buffer, and from where something lies elsewhere.
std::vector<store::WriteRequest> requests_of(const store::Assembled& assembled, const std::byte* buffer, Bytes window_begin) {
  std::vector<store::WriteRequest> requests;
  auto stays = assembled.in_place.begin();
  for (const Extent& run : assembled.runs) {
    store::WriteRequest& request = requests.emplace_back();
    request.offset = run.begin;
    const auto add_from_buffer = [&](Bytes begin, Bytes end) {
      if (begin != end) request.segments.emplace_back(buffer + (begin - window_begin), end - begin);
    };
    Bytes done = run.begin;
    for (; stays != assembled.in_place.end() && stays->extent.begin < run.end; ++stays) {
      const Bytes begin = std::max(done, stays->extent.begin), end = stays->extent.end;   // in a damaged pool they may meet
      if (begin >= end) continue;
      add_from_buffer(done, begin);
      request.segments.emplace_back(stays->data + (begin - stays->extent.begin), end - begin);
      done = end;
    }
    add_from_buffer(done, run.end);
  }
  return requests;
}

}  // namespace

void Worker::write(const Job& job) {
  while (free_buffers_.empty()) reap(store::Writer::Reap::block);
  std::byte* buffer = free_buffers_.back();
  const store::OutputDescription& description = job.output->about().description;
  const Stream* const stream = job.output->stream();
  const bool has_sums = description.checksums && stream == nullptr;   // streams are written again and by others: they are read back
  const bool through_cache = stream != nullptr && stream->is_read_soon();
  const bool may_stay_in_pool = from_ == From::pool && !has_sums;
  const bool goes_direct = !through_cache && job.output->file().get()->direct_descriptor() >= 0;
  const store::MayStay may_stay{.least_bytes = may_stay_in_pool ? least_in_place : 0,
                                .block_bytes = goes_direct ? job.output->file().get()->block_bytes() : 1};
  store::Assembled assembled;
  try {
    assembled = assemble_job(job, buffer, may_stay);
  } catch (const base::Error& error) {
    return done_(job, &error);
  }
  if (!inspect_(job, assembled)) return done_(job, nullptr);

  if (has_sums) {
    job.window->sums = store::checksums_of(behind_header(assembled.runs, description.layout), buffer, job.window->extent.begin);
  }
  free_buffers_.pop_back();
  const std::uint64_t tag = next_tag_++;
  std::vector<store::WriteRequest> requests = requests_of(assembled, buffer, job.window->extent.begin);
  Bytes from_pool = 0;
  for (const store::InPlace& in_place : assembled.in_place) from_pool += in_place.extent.size();
  in_flight_.emplace(tag, InFlight{job, buffer, requests.size(), from_pool});
  for (store::WriteRequest& request : requests) {
    while (in_flight_.contains(tag) && !writer_->has_room()) reap(store::Writer::Reap::block);
    if (!in_flight_.contains(tag)) return;   // the writer broke down
    ++sizes_[static_cast<std::size_t>(size_class(request.size()))];
    request.file = job.output->file().get(), request.tag = tag, request.through_cache = through_cache;
    try {
      writer_->submit(request);
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
  sum += writer_->counters();
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
      from_pool_bytes_ += write.from_pool;
      done_(write.job, nullptr);
    } else {
      const base::Error error =
          base::system_error(write.error, "cannot write '" + write.job.output->about().description.display_path + "'");
      done_(write.job, &error);
    }
  }
}

}  // namespace glean::drain
