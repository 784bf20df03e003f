// SPDX-License-Identifier: BSD-3-Clause
#include "staging/job_requests.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/error.hpp"

namespace glean::staging {
namespace {

constexpr int nodes_max = 1 << 20, stagers_max = 4096;
constexpr double restart_seconds_max = 3600;
constexpr std::size_t text_max = 256;
constexpr std::string_view context = "glean, key of a job", mark_context = "glean, mark of a job's stager";

template <class Value>
Value get(const nlohmann::json& json, const char* key) {
  try {
    return json.at(key).get<Value>();
  } catch (const nlohmann::json::exception&) {
    throw base::Error(base::Errc::invalid_argument, std::string("the request has no usable '") + key + "'");
  }
}

std::string text_in(const nlohmann::json& json, const char* key) {
  auto text = get<std::string>(json, key);
  if (text.size() > text_max) throw base::Error(base::Errc::invalid_argument, std::string("'") + key + "' is too long");
  return text;
}

}  // namespace

nlohmann::json to_json(const JoinRequest& request) {
  return {{"ask", "join"}, {"session", request.session}, {"label", request.label}, {"clients", request.clients},
          {"stagers", request.stagers}, {"index", request.index}, {"chunk_bytes", request.chunk_bytes},
          {"request_bytes", request.request_bytes}, {"restart_seconds", request.restart_seconds}, {"keeps", request.keeps}};
}

nlohmann::json to_json(const JoinAnswer& answer) { return {{"door", answer.door}, {"chunk_bytes", answer.chunk_bytes}}; }

nlohmann::json to_json(const BeginRequest& request) {
  nlohmann::json doors = nlohmann::json::object();
  for (const auto& [node, door] : request.doors) doors[std::to_string(node)] = door;
  nlohmann::json json = {{"ask", "begin"}, {"session", request.session}, {"doors", doors}};
  if (request.places) json["places"] = to_json(*request.places);
  return json;
}

nlohmann::json to_json(const JobPlaces& places) {
  return {{"join", to_json(places.join)}, {"doors", places.doors}, {"services", places.services}, {"address_file", places.address_file}};
}

nlohmann::json to_json(const TakeRequest& request) {
  return {{"ask", "take"}, {"job", to_json(request.job)}, {"index", request.index}};
}

nlohmann::json taken_place(const std::string& door) { return {{"door", door}}; }

JoinRequest join_request_from(const nlohmann::json& json) {
  JoinRequest request{.session = text_in(json, "session"), .label = text_in(json, "label"), .clients = get<int>(json, "clients"),
                      .stagers = get<int>(json, "stagers"), .index = get<int>(json, "index"),
                      .chunk_bytes = get<std::uint64_t>(json, "chunk_bytes"), .request_bytes = get<std::uint64_t>(json, "request_bytes"),
                      .restart_seconds = get<double>(json, "restart_seconds"), .keeps = get<bool>(json, "keeps")};
  const bool is_possible = request.clients > 0 && request.clients <= nodes_max && request.stagers > 0 && request.stagers <= stagers_max &&
                           request.index >= 0 && request.index < request.stagers && request.chunk_bytes > 0 && request.request_bytes > 0 &&
                           request.restart_seconds >= 0 && request.restart_seconds <= restart_seconds_max;
  if (!is_possible || request.session.empty()) throw base::Error(base::Errc::invalid_argument, "there is no such job");
  return request;
}

JoinAnswer join_answer_from(const nlohmann::json& json) {
  return {.door = get<std::string>(json, "door"), .chunk_bytes = get<std::uint64_t>(json, "chunk_bytes")};
}

BeginRequest begin_request_from(const nlohmann::json& json) {
  BeginRequest request{.session = text_in(json, "session"), .doors = {}};
  for (const auto& [node, door] : get<std::map<std::string, std::string>>(json, "doors")) {
    char* end = nullptr;
    const long number = std::strtol(node.c_str(), &end, 10);
    if (node.empty() || *end != '\0' || number < 0 || number > nodes_max) {
      throw base::Error(base::Errc::invalid_argument, "'" + node + "' is no node");
    }
    request.doors[static_cast<int>(number)] = door;
  }
  if (json.contains("places")) request.places = job_places_from(json["places"]);
  return request;
}

JobPlaces job_places_from(const nlohmann::json& json) {
  JobPlaces places{.join = join_request_from(get<nlohmann::json>(json, "join")), .doors = get<std::vector<std::string>>(json, "doors"),
                   .services = get<std::vector<std::vector<std::string>>>(json, "services"),
                   .address_file = get<std::string>(json, "address_file")};
  const auto stagers = static_cast<std::size_t>(places.join.stagers);
  if (places.doors.size() != stagers || places.services.size() != stagers) {
    throw base::Error(base::Errc::invalid_argument, "the request does not say where all stagers are");
  }
  return places;
}

TakeRequest take_request_from(const nlohmann::json& json) {
  TakeRequest request{job_places_from(get<nlohmann::json>(json, "job")), get<int>(json, "index")};
  if (request.index < 0 || request.index >= request.job.join.stagers) {
    throw base::Error(base::Errc::invalid_argument, "the job has no such stager");
  }
  return request;
}

std::string taken_place_from(const nlohmann::json& json) { return get<std::string>(json, "door"); }

wire::Key key_of_job(const wire::Key& of_service, const std::string& session) {
  return wire::derive_key(of_service, std::string(context) + session);
}

std::array<std::byte, 16> mark_of_key(const wire::Key& of_service, const std::string& session) {
  const wire::Key derived = wire::derive_key(of_service, std::string(mark_context) + session);
  std::array<std::byte, 16> mark{};
  std::copy_n(std::as_bytes(std::span(derived)).begin(), mark.size(), mark.begin());
  return mark;
}

}  // namespace glean::staging
