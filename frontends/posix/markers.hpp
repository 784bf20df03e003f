// SPDX-License-Identifier: BSD-3-Clause
//
// Names of files by which programs tell others that a file is complete: "plt0.done" speaks of "plt0" or of "plt0.bin".
//
// Nothing here takes a lock or, but for the constructor, memory: a program may make such a file in a signal handler.
#pragma once

#include <string>
#include <string_view>

namespace glean::posix {

// What a file speaks of that has this path: the path without `.`, `-` or `_` and one of done, ok, ready, complete, success, md5…, sha…
// and sum, in any case. Empty where that is no marker's name.
[[nodiscard]] std::string_view marked_by(std::string_view path) noexcept;

// Whether the shell pattern matches all of the text: `*`, `?`, `[…]`, `[!…]` and `\`. A slash is a character as any other.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

// The setting `markers`.
class MarkerPatterns {
 public:
  MarkerPatterns() = default;
  explicit MarkerPatterns(std::string listed) : listed_(std::move(listed)) {}   // with commas between them
  [[nodiscard]] const std::string& listed() const { return listed_; }
  [[nodiscard]] bool any() const noexcept { return !listed_.empty(); }
  // One of them matches the name of the file, or its path.
  [[nodiscard]] bool match(std::string_view path) const noexcept;

 private:
  std::string listed_;
};

}  // namespace glean::posix
