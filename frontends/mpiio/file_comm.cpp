// SPDX-License-Identifier: BSD-3-Clause
#include "file_comm.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace glean::mpiio {
namespace {

constexpr std::size_t most_spare = 16;

struct Spares {
  std::mutex lock;
  std::map<std::int64_t, MPI_Comm> by_number;
};

Spares& spares() {
  static Spares& all = *new Spares;   // calls may come after destructors of statics
  return all;
}

// That no other communicator ever has: of the rank that is the first in it, and how many it has been the first of.
std::int64_t new_number(MPI_Comm comm) {
  static std::atomic<std::int64_t> made = 0;
  int in_comm = 0, in_job = 0;
  PMPI_Comm_rank(comm, &in_comm);
  PMPI_Comm_rank(MPI_COMM_WORLD, &in_job);
  return in_comm == 0 ? std::int64_t{in_job + 1} << 32 | ++made : std::numeric_limits<std::int64_t>::max();
}

// The ranks of `comm` in their order, and nothing else of it: a communicator that serves file after file must not keep attributes and an
// error handler of the program's. Errors of it are fatal: ranks that have lost each other cannot agree on anything.
MPI_Comm make(MPI_Comm comm) {
  MPI_Group ranks = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  PMPI_Comm_group(comm, &ranks);
  PMPI_Comm_create(comm, ranks, &made);
  PMPI_Group_free(&ranks);
  PMPI_Comm_set_errhandler(made, MPI_ERRORS_ARE_FATAL);
  return made;
}

bool is_congruent(MPI_Comm one, MPI_Comm other) {
  int result = MPI_UNEQUAL;
  PMPI_Comm_compare(one, other, &result);
  return result == MPI_CONGRUENT;
}

}  // namespace

FileComm::~FileComm() {
  int is_over = 0;
  PMPI_Finalized(&is_over);
  if (is_over != 0) return;
  if (end_ == End::freed) PMPI_Comm_free(&comm_);
  if (end_ != End::spare) return;
  const std::lock_guard lock(spares().lock);
  spares().by_number.emplace(number_, comm_);
}

std::shared_ptr<FileComm> FileComm::duplicate(MPI_Comm comm) {
  auto own = std::make_shared<FileComm>(make(comm), 0);
  own->ends(End::freed);
  return own;
}

bool FileComm::has_room() {
  const std::lock_guard lock(spares().lock);
  return spares().by_number.size() < most_spare;
}

SpareComm::SpareComm(MPI_Comm like) : like_(like) {
  const std::lock_guard lock(spares().lock);
  auto& by_number = spares().by_number;
  const auto found = std::find_if(by_number.begin(), by_number.end(), [&](const auto& one) { return is_congruent(one.second, like); });
  if (found == by_number.end()) return;
  number_ = found->first;
  comm_ = found->second;
  by_number.erase(found);
}

SpareComm::~SpareComm() {
  if (number_ == 0) return;
  const std::lock_guard lock(spares().lock);
  spares().by_number.emplace(number_, comm_);
}

SpareComm::Words SpareComm::words() const { return {number_, -number_, new_number(like_)}; }

std::shared_ptr<FileComm> SpareComm::use(const Words& least) {
  const bool all_mean_it = least[0] != 0 && least[0] == -least[1];
  if (all_mean_it) return std::make_shared<FileComm>(comm_, std::exchange(number_, 0));
  return std::make_shared<FileComm>(make(like_), least[2]);
}

}  // namespace glean::mpiio
