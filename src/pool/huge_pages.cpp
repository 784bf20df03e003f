// SPDX-License-Identifier: BSD-3-Clause
#include "pool/huge_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>

namespace glean::pool {

using base::Bytes;

namespace {

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

constexpr Bytes small_page = 4096;

}  // namespace

std::byte* map_for_huge_pages(int descriptor, Bytes bytes, int protection) {
  // More than is needed, of which the rest goes back.
  void* const room = mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(room);
  const Bytes before = base::align_up(reinterpret_cast<std::uintptr_t>(begin), huge_page) - reinterpret_cast<std::uintptr_t>(begin);
  const Bytes mapped = base::align_up(bytes, small_page);
  if (mmap(begin + before, bytes, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(begin, bytes + huge_page);
    errno = error;
    return nullptr;
  }
  if (before != 0) munmap(begin, before);
  if (const Bytes rest = bytes + huge_page - before; rest > mapped) munmap(begin + before + mapped, rest - mapped);
  return begin + before;
}

void make_huge_pages(int descriptor, std::byte* memory, Bytes begin, Bytes end) noexcept {
  const Bytes bytes = (end - begin) / huge_page * huge_page;
  struct statvfs room {};
  if (bytes == 0 || fstatvfs(descriptor, &room) != 0) return;
  const bool has_limit = room.f_blocks != 0;
  if (has_limit && room.f_bavail < bytes / room.f_frsize) return;   // to find that out takes long
  // The kernel makes none where there is nothing at all.
  for (Bytes at = begin; at < begin + bytes; at += huge_page) {
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(descriptor, static_cast<off_t>(at), small_page);
    if (error != 0) return;
  }
  madvise(memory, bytes, MADV_COLLAPSE);
}

}  // namespace glean::pool
