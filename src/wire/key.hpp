// SPDX-License-Identifier: BSD-3-Clause
//
// The key that both sides of a connection have, and the file that keeps it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace glean::wire {

// The secret of a job or of a service: a process that has it may connect.
using Key = std::array<std::byte, 32>;

// What follows needs libsodium's random numbers. Throws base::Error(io) if there are none. Any thread, any number of times.
void require_random_numbers();
void fill_randomly(std::span<std::byte> bytes);

[[nodiscard]] Key make_key();   // random
// Another key that only those who have this one can know. Pure.
[[nodiscard]] Key derive_key(const Key& from, std::string_view purpose);
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
// 64 hexadecimal digits, spaces around them. Throws base::Error(invalid_argument): "<what> is not ..."; it does not repeat the text.
[[nodiscard]] Key key_from_hex(std::string_view text, const std::string& what);

inline constexpr const char* key_variable = "GLEAN_STAGE_KEY";   // the digits; it wins over the file

// The key of the environment or of the file. Throws base::Error: not_found, permission (the file is another user's, or others may look
// into it), invalid_argument, io.
[[nodiscard]] Key find_key(const std::string& path);
// The file only.
[[nodiscard]] Key read_key_file(const std::string& path);
// A new key in a new file with mode 0600, all at once: no reader finds half of it. Throws base::Error: exists, or of the system's call.
Key make_key_file(const std::string& path);

}  // namespace glean::wire
