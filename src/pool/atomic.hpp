// SPDX-License-Identifier: BSD-3-Clause
//
// The words of the pool that several processes change. A test that chooses which process runs next puts its own in their place:
// tests/schedule/.
#pragma once

#ifdef GLEAN_POOL_ATOMIC
#include GLEAN_POOL_ATOMIC
#else

#include <atomic>

namespace glean::pool {

template <class T>
using Atomic = std::atomic<T>;

}  // namespace glean::pool

#endif
