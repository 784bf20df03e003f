// SPDX-License-Identifier: BSD-3-Clause
//
// Where a staging service is asked: it listens, lets in clients that have its key, and has a handler answer their requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "staging/control_messages.hpp"
#include "wire/key.hpp"

namespace glean::staging {

// The client that asks.
struct Peer {
  std::uint64_t connection = 0;   // its number; a server uses none twice
  std::string address;            // for people
};

class ControlServer {
 public:
  // Called by several threads at once. A base::Error reaches the client as it is, another exception with code io.
  using Handler = std::function<Answer(const nlohmann::json& request, const Peer& peer)>;

  struct Options {
    std::vector<std::string> listen;   // "HOST:PORT", "[IPv6]:PORT", "unix:PATH"; port 0: a free one
    wire::Key key{};
    int threads = 4;                   // that run handlers
    std::size_t connections_max = 8192;
    std::size_t unproved_max = 128;    // connections that have not proved themselves; the oldest goes first
    double proof_seconds = 10;         // until a client must have done so
    std::size_t message_bytes_max = default_message_bytes_max;
    int requests_max = 16;             // of one connection at once; more wait in its socket
    double untaken_seconds = 60;       // in which a client must have taken something of its answers: then it is sent away, and they with it
    // A connection is gone. It must not block, throw or call the server. Handlers may still run for it: it is called again after each.
    std::function<void(std::uint64_t connection)> gone = [](std::uint64_t) {};
  };

  // Listens, and answers from now on. Throws base::Error.
  ControlServer(const Options& options, Handler handler);
  ~ControlServer();   // stops it
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Where it listens, hosts as numbers; for all interfaces their addresses, loopback last.
  [[nodiscard]] const std::vector<std::string>& addresses() const;

  struct Counts {
    std::size_t connections = 0, unproved = 0;
    std::uint64_t requests = 0;   // answered since the start
    std::size_t answer_bytes = 0; // of answers that clients have not taken yet
  };
  [[nodiscard]] Counts counts() const;   // any thread, also from a handler

  // Takes no more connections and requests; returns when running handlers are done and clients have their answers, or did not take them
  // for two seconds. Not from a handler. A second call does nothing.
  void stop();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace glean::staging
