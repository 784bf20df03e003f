// SPDX-License-Identifier: BSD-3-Clause
#include "wire/key.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cstdlib>

#include "base/error.hpp"
#include "wire/private_file.hpp"

namespace glean::wire {
namespace {

constexpr std::size_t key_file_bytes_max = 256;
constexpr std::string_view spaces = " \t\r\n";

}  // namespace

void require_random_numbers() {
  if (sodium_init() < 0) throw base::Error(base::Errc::io, "the system gives no random numbers, which keys and proofs need");
}

void fill_randomly(std::span<std::byte> bytes) {
  require_random_numbers();
  randombytes_buf(bytes.data(), bytes.size());
}

Key make_key() {
  Key key;
  fill_randomly(key);
  return key;
}

Key derive_key(const Key& from, std::string_view purpose) {
  Key key;
  crypto_generichash(reinterpret_cast<unsigned char*>(key.data()), key.size(), reinterpret_cast<const unsigned char*>(purpose.data()),
                     purpose.size(), reinterpret_cast<const unsigned char*>(from.data()), from.size());
  return key;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

Key key_from_hex(std::string_view text, const std::string& what) {
  const auto begin = text.find_first_not_of(spaces);
  text = begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
  Key key;
  std::size_t bytes = 0;
  const char* end = nullptr;
  auto* target = reinterpret_cast<unsigned char*>(key.data());
  const int result = sodium_hex2bin(target, key.size(), text.data(), text.size(), nullptr, &bytes, &end);
  if (result != 0 || bytes != key.size() || end != text.data() + text.size()) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("{} is no key: a key is 64 hexadecimal digits", what),
                      "take a key that the service has made");
  }
  return key;
}

Key find_key(const std::string& path) {
  const char* digits = std::getenv(key_variable);
  return digits == nullptr || *digits == '\0' ? read_key_file(path) : key_from_hex(digits, key_variable);
}

Key read_key_file(const std::string& path) {
  const std::string hint = fmt::format("take the key file of the service, or set {}", key_variable);
  return key_from_hex(read_private_file(path, "the key file", key_file_bytes_max, hint), fmt::format("the key file '{}'", path));
}

Key make_key_file(const std::string& path) {
  const Key key = make_key();
  write_private_file(path, to_hex(key) + '\n', IfItExists::fails);
  return key;
}

}  // namespace glean::wire
