// SPDX-License-Identifier: BSD-3-Clause
//
// What a call of the public classes throws.
#pragma once

#include "base/error.hpp"
#include "glean/glean.hpp"

namespace glean::session {

// Runs `call`; base::Error becomes glean::Error.
template <class Call>
auto translated(Call call) {
  try {
    return call();
  } catch (const base::Error& error) {
    throw Error(static_cast<Errc>(error.code()), error.what(), error.hint());
  }
}

}  // namespace glean::session
