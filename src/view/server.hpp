// SPDX-License-Identifier: BSD-3-Clause
//
// Serves a view: one page, and a WebSocket over which the page asks for what it shows. Without the token of the URL nothing is served.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "view/desk.hpp"
#include "view/source.hpp"

namespace glean::view {

class Server {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";
    std::string token;                    // empty: one is made
    std::string host;                     // a name by which browsers may reach it beside those of is_own_host()
    std::size_t viewers_max = 32;
    std::size_t strangers_max = 64;       // connections that have not asked for anything yet, or are given the page
    std::size_t request_bytes_max = 16 * 1024;
    double stranger_seconds = 10;         // until it has asked, and taken what it gets
    double idle_seconds = 60;             // of a viewer that says nothing, not even to pings
    double take_seconds = 20;             // for an answer
    Desk::Limits desk{};
  };

  // Listens and serves from now on, with two threads of its own. `source` must outlive it. Throws base::Error.
  Server(const Options& options, Source& source);
  ~Server();   // stops it
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:41234/?token=…": of all interfaces the name of this machine.
  [[nodiscard]] const std::string& url() const;
  // Something is new. Any thread; does not wait.
  void wake();

  struct Counts {
    std::size_t viewers = 0, strangers = 0, refused = 0;   // refused: since the start
    Bytes answers_bytes = 0;
  };
  [[nodiscard]] Counts counts() const;
  void stop();   // not from the source

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace glean::view
