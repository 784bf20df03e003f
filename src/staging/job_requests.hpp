// SPDX-License-Identifier: BSD-3-Clause
//
// What a job asks a staging service for, and the answers: docs/formats/staging-control.md, "Jobs".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

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
  bool keeps = false;                // its nodes keep what is not on the storage: another process can take the place of a lost stager
};
struct JoinAnswer {
  std::string door;                  // where the stager waits for its neighbours: transport::TcpDoor::addresses()
  std::uint64_t chunk_bytes = 0;     // not above those asked for: what the stager can take
};
// All that a process has to know of a job whose nodes keep what is not durable, to take the place of one of its stagers.
struct JobPlaces {
  JoinRequest join;                                  // as of the first stager
  std::vector<std::string> doors;                    // of all stagers
  std::vector<std::vector<std::string>> services;    // where each is asked
  std::string address_file;                          // that names others
};
// For which nodes look for a process that takes the place of a stager, when the time is over in which it could have come back.
[[nodiscard]] inline double seconds_to_take_a_place(double restart_seconds) {
  return restart_seconds == 0 ? 0 : std::max(restart_seconds, 10.0);
}
// The service is to take the place of the stager with that index, whose process and memory are gone. The answer is its door.
struct TakeRequest {
  JobPlaces job;
  int index = 0;
};
// When all stagers have joined: where this one finds those of its neighbours that have higher numbers.
struct BeginRequest {
  std::string session;
  std::map<int, std::string> doors;   // by node
  std::optional<JobPlaces> places{};  // of a job that keeps
};

[[nodiscard]] nlohmann::json to_json(const JoinRequest& request);
[[nodiscard]] nlohmann::json to_json(const JoinAnswer& answer);
[[nodiscard]] nlohmann::json to_json(const BeginRequest& request);
[[nodiscard]] nlohmann::json to_json(const JobPlaces& places);
[[nodiscard]] nlohmann::json to_json(const TakeRequest& request);
// Throw base::Error(invalid_argument) when something is missing or cannot be.
[[nodiscard]] JoinRequest join_request_from(const nlohmann::json& json);
[[nodiscard]] JoinAnswer join_answer_from(const nlohmann::json& json);
[[nodiscard]] BeginRequest begin_request_from(const nlohmann::json& json);
[[nodiscard]] JobPlaces job_places_from(const nlohmann::json& json);
[[nodiscard]] TakeRequest take_request_from(const nlohmann::json& json);
[[nodiscard]] nlohmann::json taken_place(const std::string& door);
[[nodiscard]] std::string taken_place_from(const nlohmann::json& json);

// The key with which the nodes of a job prove themselves to each other: it follows from that of the service, and is not sent.
[[nodiscard]] wire::Key key_of_job(const wire::Key& of_service, const std::string& session);
// What a stager's pool has of the key: it says to a process whether its key is the same, and nothing else.
[[nodiscard]] std::array<std::byte, 16> mark_of_key(const wire::Key& of_service, const std::string& session);

}  // namespace glean::staging
