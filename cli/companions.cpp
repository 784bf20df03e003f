// SPDX-License-Identifier: BSD-3-Clause
#include "cli/companions.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/launcher.hpp"
#include "cli/verbs.hpp"
#include "transport/mpi/messages.hpp"

namespace glean::cli {
namespace {

class MpiCompanions final : public service::Companions {
 public:
  MpiCompanions() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &self_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  ~MpiCompanions() override {
    for (MPI_Comm& network : networks_) MPI_Comm_free(&network);
    MPI_Finalize();
  }
  MpiCompanions(const MpiCompanions&) = delete;
  MpiCompanions& operator=(const MpiCompanions&) = delete;

  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int count() const override { return count_; }

  [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override {
    const int bytes = static_cast<int>(mine.size());
    std::vector<int> sizes(static_cast<std::size_t>(count_)), places(sizes.size());
    MPI_Allgather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    std::string together(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    MPI_Allgatherv(mine.data(), bytes, MPI_CHAR, together.data(), sizes.data(), places.data(), MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      all.push_back(together.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(sizes[i])));
    }
    return all;
  }

  [[nodiscard]] std::vector<std::unique_ptr<transport::Messages>> messages(const std::vector<int>& nodes,
                                                                           const std::vector<int>& process_of) override {
    // What the nodes of another job have said last, and no process has heard, must not be heard here.
    MPI_Comm_dup(MPI_COMM_WORLD, &networks_.emplace_back());
    std::vector<std::unique_ptr<transport::Messages>> messages;
    for (const int node : nodes) messages.push_back(transport::make_mpi_messages(networks_.back(), node, process_of));
    return messages;
  }

  [[nodiscard]] bool none_needs_more() override {
    if (done_ == MPI_REQUEST_NULL) MPI_Ibarrier(MPI_COMM_WORLD, &done_);
    int all = 0;
    MPI_Test(&done_, &all, MPI_STATUS_IGNORE);
    return all != 0;
  }

 private:
  int self_ = 0, count_ = 1;
  MPI_Request done_ = MPI_REQUEST_NULL;
  std::vector<MPI_Comm> networks_;
};

[[noreturn]] void end_all(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();   // never
}

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What stands between this process and the launcher.
struct Descent {
  bool is_wrapped = false;   // shells and the like
  bool is_of_rank = false;   // a program that uses MPI itself: the launcher's variables are about that one
};

// The library of MPI is in it, and was not brought by the one that `glean run` preloads to everything.
bool uses_mpi(const std::string& process) {
  std::istringstream maps(content_of("/proc/" + process + "/maps"));
  bool has_mpi = false;
  for (std::string line; std::getline(maps, line);) {
    const std::string file = line.substr(line.rfind('/') + 1);
    if (file.starts_with("libglean_preload.so")) return false;
    has_mpi = has_mpi || (file.starts_with("libmpi") && file.find(".so") != std::string::npos);
  }
  return has_mpi;
}

std::string parent_of(const std::string& process) {
  const std::string stat = content_of("/proc/" + process + "/stat");
  std::istringstream after_name(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string state, parent;
  after_name >> state >> parent;
  return parent;
}

// A launcher does not have the variables that it gives to what it starts. Where nothing can be seen, as from within a container,
// the launcher is taken for the parent.
Descent find_descent(const Launcher& launcher) {
  Descent descent;
  const std::string variable = '\0' + launcher.variable + '=' + launcher.value + '\0';
  for (std::string process = std::to_string(getppid()); !process.empty() && process != "0"; process = parent_of(process)) {
    if (('\0' + content_of("/proc/" + process + "/environ")).find(variable) == std::string::npos) break;
    descent.is_wrapped = true;
    descent.is_of_rank = descent.is_of_rank || uses_mpi(process);
  }
  // A session has set it for what its rank starts.
  descent.is_of_rank = descent.is_of_rank || std::getenv("GLEAN_RUN_POOL") != nullptr;
  return descent;
}

double deadline_seconds() {
  try {
    return base::load_configuration({}, base::process_environment()).settings.pool.deadline_seconds;
  } catch (const base::Error&) {
    return base::Settings{}.pool.deadline_seconds;   // the pools that are there were made with another configuration
  }
}

constexpr char mpi_is_up = 'u', is_single = 's';

// What the child does once it has MPI: the work, and to end.
[[noreturn]] void work_in_child(int descriptor, const Launcher& launcher, const std::function<int(service::Companions&)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Open MPI 4.1 has two fences in its MPI_Init. It may leave the second one too early under Slurm's PMIx, and crashes where a message
  // comes before the first one has ended (12 of 100 starts with Slurm 22.05): with this there is one.
  if (launcher.kind == Launcher::Kind::slurm) setenv("OMPI_MCA_pmix_base_async_modex", "1", 0);
  int status = found_a_failure;
  {
    MpiCompanions companions;
    const char word = companions.count() == launcher.count ? mpi_is_up : is_single;
    if (write(descriptor, &word, 1) != 1) _exit(found_a_failure);
    if (word == is_single) _exit(found_a_failure);
    close(descriptor);
    try {
      status = work(companions);
    } catch (const std::exception& error) {
      end_all(say(error));   // others may be waiting for it
    }
  }
  std::exit(status);
}

// The word of the child, 0 when it has ended without one, or nothing when the others have not come within the deadline.
std::optional<char> wait_for_word(int descriptor, const Launcher& launcher, const std::string& verb) {
  constexpr double first_words_s = 10;
  const double deadline = deadline_seconds();
  const std::uint64_t begin_ns = base::now_ns();
  for (double next_words = std::min(first_words_s, deadline);;) {
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    const double left = next_words - base::seconds(base::now_ns() - begin_ns);
    const int ready = poll(&wait, 1, std::max(1, static_cast<int>(1000 * left)));
    if (ready > 0) {
      char word = 0;
      return read(descriptor, &word, 1) == 1 ? word : '\0';
    }
    const double waited = base::seconds(base::now_ns() - begin_ns);
    if (waited >= deadline) return std::nullopt;
    if (waited < next_words) continue;
    std::cerr << fmt::format("glean: this is one of {}: waiting since {:.0f} s for all of them to run `glean {}`\n",
                             launcher.describe(), waited, verb);
    next_words = std::min(2 * waited, deadline);
  }
}

// An MPI library that cannot start ends its process, and an MPI library waits without end for processes that do not come. So this process
// starts MPI in a child.
// Its exit code, or nothing where there is no MPI among them: then `why`.
std::optional<int> work_with_others(const Launcher& launcher, const std::function<int(service::Companions&)>& work, const std::string& verb,
                                    std::string& why) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw base::system_error(errno, "cannot make a pipe");
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw base::system_error(errno, "cannot start a process");
  if (child == 0) {
    close(ends[0]);
    work_in_child(ends[1], launcher, work);
  }
  close(ends[1]);
  const auto word = wait_for_word(ends[0], launcher, verb);
  close(ends[0]);
  if (!word) {
    std::cerr << fmt::format("glean: not all of the {} have run `glean {}` within {}: this one goes on alone\n", launcher.describe(), verb,
                             base::exact_seconds(deadline_seconds()));
    kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (word == mpi_is_up) return WIFEXITED(status) ? WEXITSTATUS(status) : found_a_failure;
  if (word) why = fmt::format("MPI could not be started among the {}: {}", launcher.describe(), launcher.advice());
  return std::nullopt;
}

}  // namespace

int with_companions(bool needs_others, const std::function<int(service::Companions&, const std::string&)>& work, const std::string& verb) {
  const Launcher launcher = find_launcher([](const char* variable) { return std::getenv(variable); });
  std::string why_alone;
  if (launcher.count > 1) {
    const Descent descent = find_descent(launcher);
    // In a script something else may be about to start MPI, which it can do once only.
    const bool is_together = !descent.is_of_rank && (needs_others || !descent.is_wrapped);
    if (launcher.lacks_pmi) {
      why_alone = fmt::format("MPI cannot be started among the {}: {}", launcher.describe(), launcher.advice());
    } else if (is_together) {
      const auto together = [&](service::Companions& companions) { return work(companions, ""); };
      if (const auto status = work_with_others(launcher, together, verb, why_alone)) return *status;
    }
  }
  return work(*service::no_companions(), why_alone);
}

}  // namespace glean::cli
