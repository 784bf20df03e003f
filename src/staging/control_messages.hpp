// SPDX-License-Identifier: BSD-3-Clause
//
// What client and service say to each other on a control connection, when both have proved themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace glean::staging {

inline constexpr std::size_t default_message_bytes_max = std::size_t{1} << 20;

struct ControlMessage {
  enum class Kind : std::uint8_t { request, answer, error, answer_with_bytes };
  Kind kind = Kind::request;
  std::uint64_t number = 0;           // of the request; its answer has the same
  std::string_view text;              // JSON; in the bytes that it was decoded from, as is what follows
  std::span<const std::byte> bytes;   // of a file, say: of an answer_with_bytes only
};

// What such a message has besides its text and its bytes.
inline constexpr std::size_t control_message_overhead = 17;

// What a service says to a request.
struct Answer {
  Answer() = default;
  Answer(nlohmann::json of_text, std::vector<std::byte> of_bytes = {})   // not explicit: most have no bytes
      : text(std::move(of_text)), bytes(std::move(of_bytes)) {}
  nlohmann::json text;
  std::vector<std::byte> bytes;
};

// `bytes` go with an answer_with_bytes only.
[[nodiscard]] std::vector<std::byte> encode_control(ControlMessage::Kind kind, std::uint64_t number, std::string_view text,
                                                    std::span<const std::byte> bytes = {});
// Throws base::Error(io).
[[nodiscard]] ControlMessage decode_control(std::span<const std::byte> bytes);

// Both throw base::Error(invalid_argument): text that is not UTF-8; what is no JSON, or nested deeper than 64.
[[nodiscard]] std::string to_text(const nlohmann::json& value);
[[nodiscard]] nlohmann::json from_text(std::string_view text);

// An error as the other side gets it, and throws it again.
[[nodiscard]] std::string text_of(const base::Error& error);
[[nodiscard]] base::Error error_from_text(std::string_view text);

}  // namespace glean::staging
