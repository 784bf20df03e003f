// SPDX-License-Identifier: BSD-3-Clause
#include "session/arrival.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "session/nodes.hpp"

namespace glean::session {
namespace {

constexpr double arriving_yields_seconds = 0.01;
constexpr double arriving_first_look_seconds = 0.05, arriving_between_looks_seconds = 0.1;
constexpr useconds_t arriving_nap_us = 200;
constexpr const char* how_to_arrive = "every rank of the communicator makes the session; raise pool.deadline where a rank needs longer";

// What ranks of one job on this node have in common before they have said anything to each other.
std::string name_of_job() {
  for (const char* variable : {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"}) {
    if (const char* value = std::getenv(variable)) {
      const char* job = std::getenv("SLURM_JOB_ID");
      return fmt::format("{}.{}", job != nullptr ? job : "", value);
    }
  }
  return fmt::format("child of {}", getppid());
}

// All ranks of MPI_COMM_WORLD are on this node, as the launcher says.
bool is_one_node() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* value = std::getenv(variable)) return std::atoi(value) == ranks;
  }
  return false;
}

// Which ranks of this node have come, and which have given up.
class RollCall {
 public:
  explicit RollCall(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    // Tells communicators apart well enough for a message.
    const int ends[2] = {0, ranks_ - 1};
    int in_world[2] = {};
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 2, ends, world, in_world);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    prefix_ = fmt::format("glean/{}/{}/{}-{}-{}/", getuid(), name_of_job().substr(0, 48), ranks_, in_world[0], in_world[1]);
    here_ = bind_socket("here");
  }
  ~RollCall() {
    if (here_ >= 0) close(here_);
  }
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  // From here on ranks that come late find it, as long as this process lives: the socket stays open.
  void give_up() {
    static_cast<void>(bind_socket(giving_up()));
    ++times_given_up_;
  }
  [[nodiscard]] std::vector<int> ranks_that_gave_up() const { return ranks_with(giving_up()); }

  [[nodiscard]] std::string late_text(double seconds) const {
    std::vector<int> here = ranks_with("here"), missing;
    const std::vector<int> gone = ranks_that_gave_up();   // just now, as this rank does
    here.insert(here.end(), gone.begin(), gone.end());
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    for (int rank = 0; is_one_node() && !here.empty() && rank < ranks_; ++rank) {
      if (!std::binary_search(here.begin(), here.end(), rank)) missing.push_back(rank);
    }
    return fmt::format("waited {} in the constructor of the session for {}{}", base::exact_seconds(seconds),
                       missing.empty() ? "other ranks" : base::readable_ranks(missing),
                       here.empty() ? "" : fmt::format(": on this node {} {} come", base::readable_ranks(here),
                                                       here.size() == 1 ? "has" : "have"));
  }

 private:
  // -1: none, and this rank is not named.
  [[nodiscard]] int bind_socket(const std::string& what) const {
    const std::string name = prefix_ + what + "/" + std::to_string(rank_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof address.sun_path) return -1;
    name.copy(address.sun_path + 1, name.size());   // after a zero: there is no file of that name
    const int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (made < 0 || bind(made, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return made;
    close(made);
    return -1;
  }

  [[nodiscard]] std::vector<int> ranks_with(const std::string& what) const {
    std::vector<int> ranks;
    const std::string wanted = "@" + prefix_ + what + "/";
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) {
      const std::size_t at = line.find(wanted);
      int rank = 0;
      if (at == std::string::npos) continue;
      const char* digits = line.c_str() + at + wanted.size();
      if (std::from_chars(digits, line.c_str() + line.size(), rank).ec == std::errc()) ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  // Ranks that try it again have given up as often as each other.
  static std::string giving_up() { return fmt::format("gave up {}", times_given_up_); }

  int rank_ = 0, ranks_ = 1, here_ = -1;
  std::string prefix_;
  static inline int times_given_up_ = 0;
};

double deadline_of(const std::function<std::map<std::string, std::string>()>& settings) {
  try {
    return base::load_configuration(settings(), base::process_environment()).settings.pool.deadline_seconds;
  } catch (const std::exception&) {   // the session will say so
    return base::Settings{}.pool.deadline_seconds;
  }
}

// A barrier that a rank can leave: MPI keeps it then.
void wait_for_all(MPI_Comm comm, RollCall& ranks, const std::function<std::map<std::string, std::string>()>& settings) {
  auto request = std::make_unique<MPI_Request>(MPI_REQUEST_NULL);
  MPI_Ibarrier(comm, request.get());
  std::optional<double> deadline;
  double next_look = arriving_first_look_seconds;
  const std::uint64_t begin = base::now_ns();
  for (int done = 0;;) {
    MPI_Test(request.get(), &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const double seconds = base::seconds(base::now_ns() - begin);
    if (seconds < arriving_yields_seconds) sched_yield();
    else usleep(arriving_nap_us);
    if (seconds < next_look) continue;
    next_look = seconds + arriving_between_looks_seconds;
    if (!deadline) deadline = deadline_of(settings);
    const std::vector<int> gone = ranks.ranks_that_gave_up();
    if (gone.empty() && seconds < *deadline) continue;
    static_cast<void>(request.release());
    const bool is_late = !gone.empty() && seconds < *deadline / 2;   // or else it gives up together with them
    const std::string text = !is_late ? ranks.late_text(*deadline)
                                          : fmt::format("{} {} waited in the constructor of the session for this rank, and given up",
                                                        base::readable_ranks(gone), gone.size() == 1 ? "has" : "have");
    ranks.give_up();
    throw base::Error(base::Errc::timeout, text, how_to_arrive);
  }
}

}  // namespace

// When a rank has given up, the first barrier may end on others; the second does not, for then all are there and none waits.
void arrive(MPI_Comm comm, const std::function<std::map<std::string, std::string>()>& settings) {
  if (comm == MPI_COMM_NULL || !mpi_runs()) return;
  int between_groups = 0;
  MPI_Comm_test_inter(comm, &between_groups);
  if (between_groups != 0) return;
  RollCall ranks(comm);
  wait_for_all(comm, ranks, settings);
  wait_for_all(comm, ranks, settings);
}

}  // namespace glean::session
