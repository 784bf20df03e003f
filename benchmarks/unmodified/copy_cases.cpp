// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include "capture/copy.hpp"
#include "unmodified/cases.hpp"

namespace glean::benchmarks {
namespace {

// What a rank copies into: all pages are there, huge ones where the kernel makes them, as the pool's are.
class Target {
 public:
  explicit Target(std::size_t bytes) : bytes_(bytes) {
    void* begin = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::runtime_error("no memory to copy into");
    begin_ = static_cast<std::byte*>(begin);
    madvise(begin_, bytes_, MADV_HUGEPAGE);
    std::fill(begin_, begin_ + bytes_, std::byte{1});
  }
  ~Target() { munmap(begin_, bytes_); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  [[nodiscard]] std::byte* begin() const { return begin_; }

 private:
  std::size_t bytes_;
  std::byte* begin_;
};

struct Shape {
  const char* name;
  std::size_t bytes;
  std::size_t copies;   // of each rank
  bool reduces;         // before each, as HDF5 does in a collective write
};

}  // namespace

std::vector<Case> copy_cases(const Ranks& ranks, bool quick) {
  static constexpr Shape shapes[] = {{"copies of 1 MiB", MiB, 32, false},
                                     {"copies of 8 MiB", 8 * MiB, 4, false},
                                     {"copies of 4 MiB, a reduction before each", 4 * MiB, 8, true}};
  const auto target = std::make_shared<Target>(32 * MiB);
  const auto source = std::make_shared<std::vector<std::byte>>(8 * MiB, std::byte{'x'});
  std::vector<Case> cases;
  for (const Shape& shape : shapes) {
    const std::size_t bytes = quick ? shape.bytes / 64 : shape.bytes;
    Case one;
    one.name = shape.name;
    one.bytes = bytes * shape.copies * static_cast<std::uint64_t>(ranks.count());
    one.run = [&ranks, shape, bytes, target, source](const std::string& /*directory*/) {
      const auto reduce = [&] { static_cast<void>(ranks.max(0)); };
      reduce();   // all begin, and end, together, as with a file
      for (std::size_t i = 0; i < shape.copies; ++i) {
        if (shape.reduces) reduce();
        capture::copy_bytes(target->begin() + i * bytes, source->data(), bytes);
      }
      reduce();
    };
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace glean::benchmarks
