// SPDX-License-Identifier: BSD-3-Clause
//
// Who may come in: the token, and what browsers say of the page that a request comes from. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glean::view {

// 192 random bits as text. Throws where the system has no random numbers.
[[nodiscard]] std::string make_token();

// Takes as long wherever they differ.
[[nodiscard]] bool same_token(std::string_view given, std::string_view token);

// The value of `name` in "/path?a=1&b=2"; nothing where it is not there, or there twice. Values are taken as they are: tokens need no
// escapes.
[[nodiscard]] std::optional<std::string_view> query_value(std::string_view target, std::string_view name);
[[nodiscard]] std::string_view path_of(std::string_view target);

// A page of elsewhere whose name was made to lead here sends that name: only addresses, `localhost`, the names of this machine and
// `also` are this server's. With any port: it may be reached through a tunnel.
[[nodiscard]] bool is_own_host(std::string_view host_header, std::string_view also);

// A browser says which page opens a socket. `origin` empty: it is no browser.
[[nodiscard]] bool is_own_origin(std::string_view origin, std::string_view host_header);

struct ListenAddress {
  std::string host;   // without brackets
  unsigned short port = 0;
};
// "127.0.0.1:8080", "[::1]:0", "localhost:0". Throws invalid_argument.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

}  // namespace glean::view
