// SPDX-License-Identifier: BSD-3-Clause
#include "convert/copy.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "store/convert.hpp"

namespace glean::convert {
namespace {

static_assert(std::endian::native == std::endian::little, "what is native is written as it is");

constexpr Bytes window_bytes = 8 * base::MiB;

// The processor's rounding, as a program does it: infinity stays what it is, and NetCDF's rule, which makes fill values of it, is not
// asked. Returns how many finite values became infinite.
std::uint64_t narrow(const std::byte* big, std::byte* little, std::size_t count) {
  std::uint64_t became_infinite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, big + i * sizeof bits, sizeof bits);
    const auto value = std::bit_cast<double>(__builtin_bswap64(bits));
    const auto single = static_cast<float>(value);
    became_infinite += static_cast<std::uint64_t>(std::isinf(single)) & static_cast<std::uint64_t>(!std::isinf(value));
    std::memcpy(little + i * sizeof single, &single, sizeof single);
  }
  return became_infinite;
}

}  // namespace

void Copier::Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

Copier::Copier(store::SystemCalls& calls, Source& source, store::File& target)
    : source_(source), target_(target), writer_(store::make_uring_writer(calls, windows)) {
  if (!writer_) writer_ = store::make_pwrite_writer(calls);
  const Bytes of_window = window_bytes + target.block_bytes();
  const Bytes of_read = window_bytes + 2 * store::InputFile::block_bytes, bytes = windows * of_window + of_read;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw base::system_error(errno, "cannot allocate the buffers of a conversion");
  madvise(memory, bytes, MADV_HUGEPAGE);
  memory_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  for (std::size_t i = 0; i < windows; ++i) free_.push_back(memory_.get() + i * of_window);
  big_ = {memory_.get() + windows * of_window, of_read};
}

void Copier::copy(const ElementCopy& elements) {
  const mesh::Type type = source_.variable(elements.variable).external;
  const Bytes size = mesh::size_of(type), target_size = mesh::size_of(elements.external);
  const std::array<std::byte, 8> no_fill{};
  for (std::uint64_t done = 0; done < elements.count;) {
    const Bytes offset = elements.offset + done * target_size;
    const std::span<std::byte> room = room_at(offset, target_size);
    const std::uint64_t count = std::min({window_bytes / size, room.size() / target_size, elements.count - done});
    const base::Extent extent = source_.extent(elements.variable, elements.record, elements.first + done, count);
    if (source_.is_hole(extent)) {   // and is one in the target
      submit();
    } else {
      const std::span<const std::byte> big = source_.read_once(extent, big_);
      if (type != elements.external) {
        if (const auto lost = narrow(big.data(), room.data(), count)) copied_.became_infinite[elements.variable] += lost;
      } else {
        // What makes big-endian of native bytes makes native of big-endian ones.
        store::converter(type, type)(big.data(), room.data(), count, no_fill.data());
      }
      window_.end += count * target_size;
      copied_.read += count * size;
      copied_.written += count * target_size;
    }
    done += count;
  }
}

void Copier::finish() {
  submit();
  while (writer_->in_flight() > 0) reap(store::Writer::Reap::block);
}

std::span<std::byte> Copier::room_at(Bytes offset, Bytes element) {
  if (window_.buffer != nullptr && (window_.end != offset || window_.limit - window_.end < element)) submit();
  if (window_.buffer == nullptr) {
    while (free_.empty()) reap(store::Writer::Reap::block);
    // It ends between blocks, so that the next one begins there.
    window_ = {free_.back(), offset, offset, base::align_down(offset + window_bytes, target_.block_bytes())};
    free_.pop_back();
  }
  // The buffer has the place in its block that the bytes have in theirs.
  return {window_.buffer + window_.begin % target_.block_bytes() + (window_.end - window_.begin), window_.limit - window_.end};
}

void Copier::submit() {
  const Window window = std::exchange(window_, Window{});
  if (window.buffer == nullptr) return;
  if (window.begin == window.end) {
    free_.push_back(window.buffer);
    return;
  }
  while (!writer_->has_room()) reap(store::Writer::Reap::block);
  const auto tag = static_cast<std::uint64_t>(window.buffer - memory_.get());
  const std::byte* const data = window.buffer + window.begin % target_.block_bytes();
  writer_->submit({&target_, {{data, window.end - window.begin}}, window.begin, tag});
}

void Copier::reap(store::Writer::Reap how) {
  writer_->reap(how, [this](const store::WriteCompletion& completion) {
    free_.push_back(memory_.get() + completion.tag);
    if (error_ == 0) error_ = completion.error;
  });
  if (error_ != 0) throw base::system_error(error_, fmt::format("cannot write '{}'", target_.names().final_path));
}

}  // namespace glean::convert
