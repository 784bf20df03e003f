// SPDX-License-Identifier: BSD-3-Clause
//
// The one exception of the library's inside: what failed, and what the user can do about it.
#pragma once

#include <stdexcept>
#include <string>

namespace glean::base {

// Same order as glean::Errc; the session checks it.
enum class Errc {
  invalid_argument,
  invalid_state,
  invalid_config,
  overlap,
  out_of_range,
  timeout,
  no_space,
  permission,
  exists,
  not_found,
  io,
  unsupported,
};

class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& what, std::string hint = {})
      : std::runtime_error(what), code_(code), hint_(std::move(hint)) {}
  [[nodiscard]] Errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  Errc code_;
  std::string hint_;
};

// The Error for a failed system call: "cannot open 'x.nc': No space left on device".
// `errno_value` is a positive errno. Chooses the code and, where there is one, the hint.
[[nodiscard]] Error system_error(int errno_value, const std::string& what);

}  // namespace glean::base
