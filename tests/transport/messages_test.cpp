// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mpi/messages.hpp"

#include <gtest/gtest.h>

#include "transport/contract.hpp"

namespace glean::transport {
namespace {

class MpiMessages : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  void TearDown() override { MPI_Barrier(MPI_COMM_WORLD); }
  int rank_ = 0, size_ = 1;
};

TEST_F(MpiMessages, BetweenRanksKeepWhatTransportsPromise) {
  const auto messages = make_mpi_messages(MPI_COMM_WORLD);

  EXPECT_EQ(messages->self(), rank_);
  EXPECT_EQ(messages->peers(), size_);
  EXPECT_EQ(play_contract({messages.get()}), "");
}

// As when a job is recovered on fewer nodes than it had, or on one that has played several.
TEST_F(MpiMessages, BetweenPeersOfWhichARankPlaysSeveralKeepWhatTransportsPromise) {
  std::vector<int> rank_of;
  for (int peer = 0; peer < 2 * size_ + 1; ++peer) rank_of.push_back(peer * peer % size_);
  std::vector<std::unique_ptr<Messages>> played;
  std::vector<Messages*> mine;
  for (int peer = 0; peer < static_cast<int>(rank_of.size()); ++peer) {
    if (rank_of[static_cast<std::size_t>(peer)] != rank_) continue;
    mine.push_back(played.emplace_back(make_mpi_messages(MPI_COMM_WORLD, peer, rank_of)).get());
    EXPECT_EQ(mine.back()->self(), peer);
    EXPECT_EQ(mine.back()->peers(), 2 * size_ + 1);
  }

  EXPECT_EQ(play_contract(mine), "");
}

}  // namespace
}  // namespace glean::transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
