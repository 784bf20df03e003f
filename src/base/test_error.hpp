// SPDX-License-Identifier: BSD-3-Clause
//
// The error that a call throws. For tests.
#pragma once

#include "base/error.hpp"

namespace glean::base {

// One that says "no error" if it throws none.
template <class Call>
Error error_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return error;
  }
  return {Errc::invalid_state, "no error"};
}

}  // namespace glean::base
