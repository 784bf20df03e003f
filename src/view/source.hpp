// SPDX-License-Identifier: BSD-3-Clause
//
// What a view shows, as the server asks for it: the files of a directory, or the steps that are in a drain's pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace glean::view {

// What viewers get: a description, and numbers as a browser takes them (float32 or uint32, little-endian) if it speaks of any.
struct Answer {
  nlohmann::json about = nlohmann::json::object();
  std::vector<std::byte> values{};
};

// One thread calls it.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Looks whether anything is new. Returns a number that grows whenever something is. Blocks for as long as looking takes.
  [[nodiscard]] virtual std::uint64_t look() = 0;
  // `request["what"]` says what is asked for; `docs/view.md` has the requests. Throws base::Error for what cannot be shown. Blocks.
  [[nodiscard]] virtual Answer answer(const nlohmann::json& request) = 0;
};

}  // namespace glean::view
