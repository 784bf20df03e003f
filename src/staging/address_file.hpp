// SPDX-License-Identifier: BSD-3-Clause
//
// The file by which clients find a staging service: docs/formats/staging-control.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glean::staging {

// One process of a staging service.
struct Stager {
  std::string identity;                 // 16 random bytes as hexadecimal digits; make_identity()
  std::string host;                     // for people
  std::int64_t pid = 0;
  std::int64_t started = 0;             // seconds since 1970
  std::vector<std::string> addresses;   // "HOST:PORT", "[IPv6]:PORT" with numbers, or "unix:PATH"; the one to try first comes first
  friend bool operator==(const Stager&, const Stager&) = default;
};

[[nodiscard]] std::string make_identity();
// This process, started now, with a new identity.
[[nodiscard]] Stager this_stager(std::vector<std::string> addresses);

// All at once, with mode 0600; replaces what is there. Throws base::Error.
void write_address_file(const std::string& path, const std::vector<Stager>& stagers);
// Throws base::Error: not_found, permission, invalid_argument if it is no address file, unsupported if it is of another version, io.
[[nodiscard]] std::vector<Stager> read_address_file(const std::string& path);
// Removes the file if it is still the one of a service that this stager is of; another service may have replaced it. Whether it has.
// Throws base::Error.
bool remove_address_file(const std::string& path, const std::string& identity);

}  // namespace glean::staging
