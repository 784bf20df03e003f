// SPDX-License-Identifier: BSD-3-Clause
//
// Huge pages for shared memory, where the kernel makes them on demand (MADV_COLLAPSE, Linux 6.1): whatever the system's settings are, no
// privilege is needed. The memory is there sooner, and each process that maps it needs a 512th of the page tables.
#pragma once

#include <cstddef>

#include "base/bytes.hpp"

namespace glean::pool {

inline constexpr base::Bytes huge_page = 2 * base::MiB;

// Maps a file from its beginning so that huge pages of it can be mapped as such. Null, and errno, if it cannot be. Local.
[[nodiscard]] std::byte* map_for_huge_pages(int descriptor, base::Bytes bytes, int protection);

// Makes the pages [begin, end) of that file huge ones where it can; what is in them stays. `memory` is where `begin` is mapped, both at
// whole huge pages. Pages may be missing afterwards. Local, blocks.
void make_huge_pages(int descriptor, std::byte* memory, base::Bytes begin, base::Bytes end) noexcept;

}  // namespace glean::pool
