// SPDX-License-Identifier: BSD-3-Clause
//
// What a job asks a staging service for, and the answers: docs/formats/staging-control.md, "Jobs".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "wire/key.hpp"

namespace glean::staging {

// The job has nodes 0 to clients - 1, and its stagers are the nodes from there on; this service is to be the one with that index.
struct JoinRequest {
  std::string session;       // the same in all requests of the job, and no other's
  std::string label;         // for people
  int clients = 0, stagers = 0, index = 0;
  std::uint64_t chunk_bytes = 0;     // of the clients' pools: no block is longer
  std::uint64_t request_bytes = 0;   // of a write
  double restart_seconds = 0;        // for which nodes of the job wait for another process in the place of a stager that was killed
};
struct JoinAnswer {
  std::string door;                  // where the stager waits for its neighbours: transport::TcpDoor::addresses()
  std::uint64_t chunk_bytes = 0;     // not above those asked for: what the stager can take
};
// When all stagers have joined: where this one finds those of its neighbours that have higher numbers.
struct BeginRequest {
  std::string session;
  std::map<int, std::string> doors;   // by node
};

[[nodiscard]] nlohmann::json to_json(const JoinRequest& request);
[[nodiscard]] nlohmann::json to_json(const JoinAnswer& answer);
[[nodiscard]] nlohmann::json to_json(const BeginRequest& request);
// Throw base::Error(invalid_argument) when something is missing or cannot be.
[[nodiscard]] JoinRequest join_request_from(const nlohmann::json& json);
[[nodiscard]] JoinAnswer join_answer_from(const nlohmann::json& json);
[[nodiscard]] BeginRequest begin_request_from(const nlohmann::json& json);

// The key with which the nodes of a job prove themselves to each other: it follows from that of the service, and is not sent.
[[nodiscard]] wire::Key key_of_job(const wire::Key& of_service, const std::string& session);
// What a stager's pool has of the key: it says to a process whether its key is the same, and nothing else.
[[nodiscard]] std::array<std::byte, 16> mark_of_key(const wire::Key& of_service, const std::string& session);

}  // namespace glean::staging
