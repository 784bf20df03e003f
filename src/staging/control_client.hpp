// SPDX-License-Identifier: BSD-3-Clause
//
// Asks a staging service. Blocks; any thread, and several at once; no MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "staging/control_messages.hpp"
#include "wire/key.hpp"

namespace glean::staging {

class ControlClient {
 public:
  // Connects to the service, which may be reached at any of these addresses, and proves the key to it as it does to the client. Tries again
  // while the service is too busy. Throws base::Error, naming the addresses: timeout; permission if the service has another key;
  // not_found, io, unsupported, invalid_argument.
  ControlClient(const std::vector<std::string>& addresses, const wire::Key& key, double deadline_seconds,
                std::size_t message_bytes_max = default_message_bytes_max);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // Throws base::Error: what the service's handler threw; timeout, after which others may still be asked; io when the connection is lost,
  // as from then on every call does: whether the service has done what it was asked is not known.
  [[nodiscard]] nlohmann::json ask(const nlohmann::json& request, double deadline_seconds);
  // Asks all at once, and waits for all answers, at most so long: in the order of the requests. Throws as ask() does, what was the first of
  // them to fail.
  [[nodiscard]] std::vector<Answer> ask_all(const std::vector<nlohmann::json>& requests, double deadline_seconds);
  // False once the connection is lost.
  [[nodiscard]] bool is_connected() const;
  // The one of the addresses that it is connected to.
  [[nodiscard]] const std::string& address() const;

 private:
  class Link;
  std::unique_ptr<Link> link_;
};

}  // namespace glean::staging
