// SPDX-License-Identifier: BSD-3-Clause
//
// Says who is missing in a collective call. Inside of MPI a call cannot be given up, but nobody waits in silence.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "pool/pool.hpp"

namespace glean::session {

enum class Call : std::uint32_t { none, open, end_definitions, wait, close };

// Says in the pool that this rank is in a collective call, as long as it lives. Local, no system call.
class InCall {
 public:
  InCall(pool::Pool& pool, int rank, Call call);
  ~InCall();
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

  // For now it does something of its own there, and waits for no other rank.
  void set_busy(bool busy);

 private:
  pool::RankProgress& place_;
};

// Who waits for whom, for people, and in which call of all; no text: nobody waits for another. Ranks of other nodes are not seen,
// but that one is missing follows where all of this node wait.
struct MissingInCall {
  std::uint32_t call = 0;
  std::string text;
  friend bool operator==(const MissingInCall&, const MissingInCall&) = default;
};
[[nodiscard]] MissingInCall missing_in_call(const pool::Pool& pool);

// On one rank of the node: logs an error whenever the same ranks have been missing in the same call for the deadline.
class CallWatch {
 public:
  CallWatch(const pool::Pool& pool, double deadline_seconds);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

 private:
  void watch();

  const pool::Pool& pool_;
  double deadline_seconds_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace glean::session
