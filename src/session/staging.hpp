// SPDX-License-Identifier: BSD-3-Clause
//
// How a session comes to its stagers: mode `staged`, docs/staging.md.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "session/nodes.hpp"
#include "staging/address_file.hpp"
#include "staging/control_client.hpp"
#include "staging/job_requests.hpp"
#include "staging/remote_files.hpp"
#include "transport/messages.hpp"
#include "wire/key.hpp"

namespace glean::session {

// The stagers of a job, as its root asks them. Each is told of the job by join(); when all are, begin() has them connect to each other and
// wait for the nodes of the job.
class StagersOfJob {
 public:
  // Reads the address file and the key, and connects to the services. Throws base::Error, naming the stager that is not there: not_found,
  // permission, timeout, io. Local, blocks at most for the deadline.
  StagersOfJob(const base::StagingSettings& settings, double deadline_seconds);
  // The chunks that all stagers can take: `chunk_bytes` or less. Throws what a stager answers. As above.
  [[nodiscard]] base::Bytes join(const std::string& session, const std::string& label, int clients, base::Bytes chunk_bytes,
                                 base::Bytes request_bytes);
  void begin();

  [[nodiscard]] int count() const { return static_cast<int>(stagers_.size()); }
  // Where each of them waits for the nodes of the job, after join().
  [[nodiscard]] const std::vector<std::string>& doors() const { return doors_; }
  [[nodiscard]] const wire::Key& key() const { return key_of_job_; }
  // By which other processes of the job ask the stagers for files: the key of the service, and where each of them is asked.
  [[nodiscard]] const wire::Key& key_of_service() const { return key_; }
  [[nodiscard]] const std::vector<staging::Stager>& stagers() const { return stagers_; }
  // Below which they have files, and whether this host sees these, too.
  [[nodiscard]] const std::vector<staging::RemoteFiles::Directory>& directories() const { return directories_; }
  // What it takes to take the place of one of them; none where the nodes do not keep what is not durable. After join().
  [[nodiscard]] std::optional<staging::JobPlaces> places() const;
  // For messages about what is lost: which node of the job is which stager.
  [[nodiscard]] std::string names() const;

 private:
  template <class Call>
  auto ask(std::size_t index, Call call);
  [[nodiscard]] std::uint64_t inode_if_here(const std::string& directory);

  double deadline_seconds_, restart_seconds_;
  bool keeps_;
  std::string address_file_;
  staging::JoinRequest joined_;
  wire::Key key_, key_of_job_{};
  std::vector<staging::Stager> stagers_;
  std::vector<std::unique_ptr<staging::ControlClient>> clients_;
  std::string session_;
  int nodes_ = 0;   // of the job, without stagers
  std::vector<std::string> doors_;
  std::vector<staging::RemoteFiles::Directory> directories_;
};

// What a node has to know of the stagers to connect to its own.
struct WayToStagers {
  wire::Key key{};
  std::vector<std::string> doors;
  std::string names;
  std::optional<staging::JobPlaces> places{};   // with the key of the service
  wire::Key key_of_service{};
};

// What the root has of them, on all ranks of `aggregators`. Collective.
[[nodiscard]] WayToStagers way_to_stagers(MPI_Comm aggregators, const StagersOfJob* of_root);
// Connects this node to its stager. Throws on all aggregators or none. Collective over them, blocks at most for the deadline.
[[nodiscard]] std::unique_ptr<transport::Messages> connect_to_stagers(const Nodes& nodes, const WayToStagers& way, double deadline_seconds,
                                                                      double restart_seconds);

// The files that the stagers see, for each rank of `comm`, of which the root has been to the stagers. A rank connects when it asks for a
// file. Collective.
[[nodiscard]] std::unique_ptr<staging::RemoteFiles> files_of_stagers(MPI_Comm comm, const StagersOfJob* of_root,
                                                                     const base::StagingSettings& of_root_only, double deadline_seconds);

}  // namespace glean::session
