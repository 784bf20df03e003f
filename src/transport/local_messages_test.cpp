// SPDX-License-Identifier: BSD-3-Clause
#include "transport/local_messages.hpp"

#include <gtest/gtest.h>

#include "transport/contract.hpp"

namespace glean::transport {
namespace {

TEST(LocalMessages, KeepWhatTransportsPromise) {
  for (const unsigned seed : {0u, 1u, 2u}) {
    LocalNetwork network(4, seed);
    std::vector<std::unique_ptr<Messages>> peers;
    std::vector<Messages*> all;
    for (int peer = 0; peer < network.peers(); ++peer) all.push_back(peers.emplace_back(network.messages(peer)).get());

    EXPECT_EQ(play_contract(all), "") << seed;
  }
}

}  // namespace
}  // namespace glean::transport
