// SPDX-License-Identifier: BSD-3-Clause
//
// Reads descriptions of outputs, layouts and sidecars that may be anything. What is accepted means one thing, and that can
// be written down again.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "store/description.hpp"
#include "store/sums/sidecar.hpp"
#include "store/sums/verify.hpp"

namespace glean::fuzz {
using base::Bytes;

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void put_checksum(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t checksum) {
  std::memcpy(bytes.data() + at, &checksum, sizeof checksum);
}

// As a description of an output has them: of the names with what is said of them, and of the layout.
void repair_description(std::vector<std::byte>& bytes) {
  constexpr std::size_t header_bytes = 16;
  std::uint32_t names_bytes = 0;
  if (bytes.size() < header_bytes) return;
  std::memcpy(&names_bytes, bytes.data() + 8, sizeof names_bytes);
  if (names_bytes > bytes.size() - header_bytes) return;
  put_checksum(bytes, 0, 0);
  put_checksum(bytes, 0, XXH3_64bits_withSeed(bytes.data() + header_bytes, names_bytes, XXH3_64bits(bytes.data(), header_bytes)));
  const std::size_t layout = header_bytes + names_bytes;
  if (bytes.size() - layout < 8) return;
  put_checksum(bytes, layout, XXH3_64bits(bytes.data() + layout + 8, bytes.size() - layout - 8));
}

void repair_sidecar(std::vector<std::byte>& bytes) {
  if (bytes.size() >= 8) put_checksum(bytes, bytes.size() - 8, XXH3_64bits(bytes.data(), bytes.size() - 8));
}

void read_description(const std::vector<std::byte>& bytes) {
  const auto description = store::OutputDescription::decode(bytes);
  auto again = description.encode_names();
  const auto layout = description.encode_layout();
  again.insert(again.end(), layout.begin(), layout.end());
  expect(store::OutputDescription::decode(again) == description, "a description changes when it is written down");
}

void read_layout(const std::vector<std::byte>& bytes) {
  const auto layout = store::FileLayout::decode(bytes);
  expect(layout.encode() == bytes, "a layout changes when it is written down");
  for (const Bytes offset : {Bytes{0}, Bytes{1000}, ~Bytes{0}}) static_cast<void>(store::place_in(layout, offset));
  static_cast<void>(store::whole_size(layout, 3));
}

struct SmallFile : store::SystemCalls {
  int open(const char*, int, mode_t) override {
    const int descriptor = memfd_create("glean-fuzz", MFD_CLOEXEC);
    expect(ftruncate(descriptor, 4096) == 0 && write(descriptor, "GLEAN", 5) == 5, "no memory for a file");
    return descriptor;
  }
  int ftruncate(int descriptor, off_t size) override { return ::ftruncate(descriptor, size); }
};

void read_sidecar(const std::vector<std::byte>& bytes) {
  const auto sidecar = store::Sidecar::decode(bytes);
  expect(sidecar.encode() == bytes, "a sidecar changes when it is written down");
  SmallFile calls;
  static_cast<void>(store::verify(calls, "file", sidecar));
}

}  // namespace

void read(std::span<const std::uint8_t> program) {
  if (program.empty()) return;
  const std::uint8_t what = program.front();
  const auto rest = std::as_bytes(program.subspan(1));
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  const bool repaired = what / 3 % 2 == 1;
  try {
    switch (what % 3) {
      case 0:
        if (repaired) repair_description(bytes);
        return read_description(bytes);
      case 1: return read_layout(bytes);
      case 2:
        if (repaired) repair_sidecar(bytes);
        return read_sidecar(bytes);
    }
  } catch (const base::Error&) {
    // Refused, which is all that is asked.
  }
}

}  // namespace glean::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glean::fuzz::read({data, size});
  return 0;
}
