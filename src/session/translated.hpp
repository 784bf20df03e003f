// SPDX-License-Identifier: BSD-3-Clause
//
// What a call of the public classes throws.
#pragma once

#include "base/error.hpp"
#include "glean/glean.hpp"
#include "session/collective_calls.hpp"

namespace glean::session {

// Runs `call`; base::Error and Broken become glean::Error.
template <class Call>
auto translated(Call call) {
  try {
    return call();
  } catch (const base::Error& error) {
    throw Error(static_cast<Errc>(error.code()), error.what(), error.hint());
  } catch (const Broken& broken) {
    throw Error(static_cast<Errc>(broken.error.code()), broken.error.what(), broken.error.hint());
  }
}

}  // namespace glean::session
