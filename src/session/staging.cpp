// SPDX-License-Identifier: BSD-3-Clause
#include "session/staging.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "session/agreement.hpp"
#include "staging/job_requests.hpp"
#include "transport/tcp/messages.hpp"
#include "transport/tree.hpp"

namespace glean::session {
namespace {

constexpr double meeting_seconds = 30;   // to connect, once all have said where they are

std::string key_file(const base::StagingSettings& settings) {
  if (!settings.key.empty()) return settings.key;
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.glean/stage.key";
}

}  // namespace

// Says which stager it was.
template <class Call>
auto StagersOfJob::ask(std::size_t index, Call call) {
  try {
    return call();
  } catch (const base::Error& error) {
    const staging::Stager& stager = stagers_[index];
    throw base::Error(error.code(), fmt::format("the stager on {} (process {}): {}", stager.host, stager.pid, error.what()), error.hint());
  }
}

StagersOfJob::StagersOfJob(const base::StagingSettings& settings, double deadline_seconds)
    : deadline_seconds_(std::min(deadline_seconds, meeting_seconds)), restart_seconds_(settings.restart_seconds),
      keeps_(settings.keep == base::StagingKeep::durable), address_file_(std::filesystem::absolute(settings.address).string()),
      key_(wire::find_key(key_file(settings))),
      stagers_(staging::read_address_file(settings.address)) {
  if (stagers_.empty()) throw base::Error(base::Errc::not_found, "'" + settings.address + "' names no stager", "`glean stage` starts one");
  for (std::size_t index = 0; index < stagers_.size(); ++index) {
    ask(index, [&] {
      clients_.push_back(std::make_unique<staging::ControlClient>(stagers_[index].addresses, key_, deadline_seconds_));
    });
  }
  const auto directories = ask(0, [&] {
    return staging::directories_from(clients_.front()->ask(staging::directories_request(), deadline_seconds_));
  });
  for (const std::string& each : directories) directories_.push_back({each, ask(0, [&] { return inode_if_here(each); })});
}

// It is the same directory when it has the same inode and was changed at the same time. While files are made in it, that may take another
// look; in vain, and the stagers are asked for what is here.
std::uint64_t StagersOfJob::inode_if_here(const std::string& directory) {
  constexpr int looks = 3;
  for (int look = 0; look < looks; ++look) {
    struct stat here {};
    if (stat(directory.c_str(), &here) != 0) return 0;
    const auto request = staging::to_json(staging::StatusRequest{directory});
    const auto there = staging::file_status_from(clients_.front()->ask(request, deadline_seconds_));
    if (there.kind != staging::FileStatus::Kind::directory || there.inode != here.st_ino) return 0;
    const bool is_same = there.modified_seconds == here.st_mtim.tv_sec && there.modified_nanoseconds == here.st_mtim.tv_nsec;
    if (is_same) return here.st_ino;
  }
  return 0;
}

base::Bytes StagersOfJob::join(const std::string& session, const std::string& label, int clients, base::Bytes chunk_bytes,
                               base::Bytes request_bytes) {
  session_ = session;
  nodes_ = clients;
  key_of_job_ = staging::key_of_job(key_, session);
  for (std::size_t index = 0; index < clients_.size(); ++index) {
    const staging::JoinRequest request{session, label, clients, count(), static_cast<int>(index), chunk_bytes, request_bytes,
                                       restart_seconds_, keeps_};
    const auto answer =
        ask(index, [&] { return staging::join_answer_from(clients_[index]->ask(staging::to_json(request), deadline_seconds_)); });
    doors_.push_back(answer.door);
    chunk_bytes = std::min(chunk_bytes, answer.chunk_bytes);
  }
  joined_ = {session, label, clients, count(), 0, chunk_bytes, request_bytes, restart_seconds_, keeps_};
  return chunk_bytes;
}

std::optional<staging::JobPlaces> StagersOfJob::places() const {
  if (!keeps_ || restart_seconds_ == 0) return std::nullopt;
  staging::JobPlaces places{joined_, doors_, {}, address_file_};
  for (const staging::Stager& stager : stagers_) places.services.push_back(stager.addresses);
  return places;
}

void StagersOfJob::begin() {
  const transport::Tree tree(nodes_ + count(), count());
  for (std::size_t index = 0; index < clients_.size(); ++index) {
    staging::BeginRequest request{session_, {}, places()};
    const int self = tree.clients() + static_cast<int>(index);
    for (const int neighbour : tree.neighbours_of(self)) {
      if (neighbour > self) request.doors[neighbour] = doors_[static_cast<std::size_t>(neighbour - tree.clients())];
    }
    ask(index, [&] { static_cast<void>(clients_[index]->ask(staging::to_json(request), deadline_seconds_)); });
  }
}

std::string StagersOfJob::names() const {
  constexpr std::size_t names_max = 8;
  std::string text;
  for (std::size_t index = 0; index < std::min(stagers_.size(), names_max); ++index) {
    const staging::Stager& stager = stagers_[index];
    text += fmt::format("{}node {}: the stager on {} (process {})", text.empty() ? "" : ", ", static_cast<std::size_t>(nodes_) + index,
                        stager.host, stager.pid);
  }
  return stagers_.size() > names_max ? text + ", …" : text;
}

namespace {

// Each of which has such an end.
std::vector<std::string> pieces(const std::string& text, char end) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find(end, at);
    all.push_back(text.substr(at, next - at));
    at = next + 1;
  }
  return all;
}

void broadcast_text(MPI_Comm comm, std::string& text) {
  std::uint64_t bytes = text.size();
  broadcast(comm, 0, &bytes, sizeof bytes);
  text.resize(bytes);
  broadcast(comm, 0, text.data(), text.size());
}

}  // namespace

WayToStagers way_to_stagers(MPI_Comm aggregators, const StagersOfJob* of_root) {
  WayToStagers way;
  std::string text;
  std::string places;
  if (of_root != nullptr) {
    if (const auto known = of_root->places()) {
      places = staging::to_json(*known).dump();
      way.key_of_service = of_root->key_of_service();
    }
    way.key = of_root->key();
    way.names = of_root->names();
    for (const std::string& door : of_root->doors()) text += door + '\n';
  }
  broadcast_text(aggregators, text);
  broadcast_text(aggregators, way.names);
  broadcast_text(aggregators, places);
  broadcast(aggregators, 0, way.key.data(), way.key.size());
  broadcast(aggregators, 0, way.key_of_service.data(), way.key_of_service.size());
  if (!places.empty()) way.places = staging::job_places_from(nlohmann::json::parse(places));
  way.doors = pieces(text, '\n');
  return way;
}

std::unique_ptr<transport::Messages> connect_to_stagers(const Nodes& nodes, const WayToStagers& way, double deadline_seconds,
                                                        double restart_seconds) {
  const auto stagers = static_cast<int>(way.doors.size());
  const transport::Tree tree(nodes.count() + stagers, stagers);
  std::unique_ptr<transport::Messages> messages;
  agree(nodes.aggregators(), caught([&] {
    const int stager = *tree.parent_of(nodes.self());
    const std::map<int, std::string> neighbours = {{stager, way.doors[static_cast<std::size_t>(stager - tree.clients())]}};
    messages = transport::make_tcp_messages(transport::TcpDoor(), nodes.self(), tree, neighbours, way.key,
                                            std::min(deadline_seconds, meeting_seconds),
                                            {.deadline_seconds = deadline_seconds, .replaced_seconds = restart_seconds,
                                             .taken_over_seconds = way.places ? staging::seconds_to_take_a_place(restart_seconds) : 0});
  }));
  return messages;
}

std::unique_ptr<staging::RemoteFiles> files_of_stagers(MPI_Comm comm, const StagersOfJob* of_root,
                                                       const base::StagingSettings& of_root_only, double deadline_seconds) {
  std::string stagers, address_file, directories;
  staging::RemoteFiles::Options options;
  options.deadline_seconds = deadline_seconds;
  if (of_root != nullptr) {
    options.key = of_root->key_of_service();
    options.restart_seconds = of_root_only.restart_seconds;
    address_file = of_root_only.address;
    for (const auto& each : of_root->directories()) directories += fmt::format("{} {}", each.inode, each.path) + '\0';
    for (const staging::Stager& stager : of_root->stagers()) {
      for (const std::string& address : stager.addresses) stagers += address + '\t';
      stagers += '\n';
    }
  }
  broadcast_text(comm, stagers);
  broadcast_text(comm, address_file);
  broadcast_text(comm, directories);
  broadcast(comm, 0, options.key.data(), options.key.size());
  broadcast(comm, 0, &options.restart_seconds, sizeof options.restart_seconds);
  for (const std::string& stager : pieces(stagers, '\n')) options.stagers.push_back(pieces(stager, '\t'));
  options.directories.emplace();
  for (const std::string& each : pieces(directories, '\0')) {
    options.directories->push_back({each.substr(each.find(' ') + 1), std::strtoull(each.c_str(), nullptr, 10)});
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  options.reads_from = static_cast<std::size_t>(rank);
  options.find_again = [address_file]() -> std::optional<staging::RemoteFiles::Addresses> {
    staging::RemoteFiles::Addresses found;
    const auto error = caught([&] {   // which a node may not see
      for (const staging::Stager& stager : staging::read_address_file(address_file)) found.push_back(stager.addresses);
    });
    return error ? std::nullopt : std::optional(std::move(found));
  };
  return std::make_unique<staging::RemoteFiles>(std::move(options));
}

}  // namespace glean::session
