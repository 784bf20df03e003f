// SPDX-License-Identifier: BSD-3-Clause
#include "view/door.hpp"

#include <arpa/inet.h>
#include <sodium.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/error.hpp"

namespace glean::view {
namespace {

bool is_same_name(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

// Without its port and brackets.
std::string_view host_of(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == host.npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
  const std::string text(host);
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string make_token() {
  if (sodium_init() < 0) throw base::Error(base::Errc::unsupported, "the view cannot be served: the system has no random numbers");
  std::array<unsigned char, 24> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 2 * bytes.size() + 1> text{};
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return text.data();
}

bool same_token(std::string_view given, std::string_view token) {
  return !token.empty() && given.size() == token.size() && sodium_memcmp(given.data(), token.data(), token.size()) == 0;
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<std::string_view> query_value(std::string_view target, std::string_view name) {
  const auto begin = target.find('?');
  if (begin == target.npos) return std::nullopt;
  std::optional<std::string_view> found;
  std::string_view rest = target.substr(begin + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (equals == pair.npos || pair.substr(0, equals) != name) continue;
    if (found) return std::nullopt;
    found = pair.substr(equals + 1);
  }
  return found;
}

bool is_own_host(std::string_view host_header, std::string_view also) {
  const std::string_view host = host_of(host_header);
  if (host.empty()) return false;
  if (is_address(host) || is_same_name(host, "localhost") || is_same_name(host, also)) return true;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return false;
  const std::string_view own(name.data());
  return !own.empty() && (is_same_name(host, own) || is_same_name(host, own.substr(0, own.find('.'))));
}

bool is_own_origin(std::string_view origin, std::string_view host_header) {
  if (origin.empty()) return true;
  constexpr std::string_view scheme = "http://";
  return origin.starts_with(scheme) && is_same_name(origin.substr(scheme.size()), host_header);
}

ListenAddress parse_listen_address(std::string_view text) {
  const auto refuse = [&](const std::string& why) -> base::Error {
    return {base::Errc::invalid_argument, "the view cannot listen at '" + std::string(text) + "': " + why,
            "an address looks like 127.0.0.1:0 or [::1]:8080; port 0 is a free one, and 0.0.0.0 are all interfaces"};
  };
  const auto colon = text.rfind(':');
  if (colon == text.npos) throw refuse("it has no port");
  const std::string_view port = text.substr(colon + 1);
  ListenAddress address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) throw refuse("'" + std::string(port) + "' is no port");
  address.host = host_of(text.substr(0, colon));
  if (is_same_name(address.host, "localhost")) address.host = "127.0.0.1";
  if (!is_address(address.host)) throw refuse("'" + address.host + "' is no address of an interface");
  return address;
}

}  // namespace glean::view
