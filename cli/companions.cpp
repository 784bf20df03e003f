// SPDX-License-Identifier: BSD-3-Clause
#include "cli/companions.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>

#include "transport/mpi/messages.hpp"

namespace glean::cli {
namespace {

class MpiCompanions final : public drain::Companions {
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
    // What the nodes of another job have said last, and nobody has heard, must not be heard here.
    MPI_Comm_dup(MPI_COMM_WORLD, &networks_.emplace_back());
    std::vector<std::unique_ptr<transport::Messages>> messages;
    for (const int node : nodes) messages.push_back(transport::make_mpi_messages(networks_.back(), node, process_of));
    return messages;
  }

  [[nodiscard]] bool nobody_needs_more() override {
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

// A launcher does not have the variables that it gives to what it starts; a rank that runs this command has.
bool is_inherited(const std::string& variable) {
  std::ifstream in("/proc/" + std::to_string(getppid()) + "/environ");
  const std::string environment = '\0' + std::string(std::istreambuf_iterator<char>(in), {});
  return environment.find('\0' + variable + '=') != std::string::npos;
}

}  // namespace

std::unique_ptr<drain::Companions> find_companions() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    const char* count = std::getenv(variable);
    if (count != nullptr && std::atoi(count) > 1 && !is_inherited(variable)) return std::make_unique<MpiCompanions>();
  }
  return drain::nobody_else();
}

void end_all(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();   // never
}

}  // namespace glean::cli
