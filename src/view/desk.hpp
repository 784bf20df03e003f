// SPDX-License-Identifier: BSD-3-Clause
//
// What viewers have asked for, and a thread that answers it.
//
// A viewer asks, and gets one answer; "newer_than" makes an answer wait until there is something new. So a viewer that is slow gets the
// newest when it asks next, and none waits for it. A request takes the place of an older one in the same slot that is not answered yet.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "view/source.hpp"

namespace glean::view {

using base::Bytes;

class Desk {
 public:
  struct Limits {
    std::size_t slots_max = 8;                  // of a viewer
    Bytes answers_bytes_max = 64 * base::MiB;   // that viewers have not taken yet. One more may be made when there are fewer
    double look_seconds = 0.5;                  // between looks for something new
  };
  // From the desk's thread. The viewer gets the next one after taken().
  using Deliver = std::function<void(std::uint64_t viewer, std::vector<std::byte> message)>;

  Desk(Source& source, const Limits& limits, Deliver deliver);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // -- any thread; none of it waits for an answer
  // False: it is no request (a JSON object with a text "slot" of at most 32 bytes), or there are too many slots.
  [[nodiscard]] bool ask(std::uint64_t viewer, std::string_view text);
  void taken(std::uint64_t viewer);
  void leave(std::uint64_t viewer);
  // Something is new: it looks at once.
  void wake();
  [[nodiscard]] Bytes answers_bytes() const;
  // Nothing is delivered any more when it returns. Not from deliver().
  void stop();

 private:
  struct Waiting {
    std::string slot;
    nlohmann::json request;
    std::optional<std::uint64_t> newer_than;
  };
  struct Seat {
    std::vector<Waiting> waiting;   // the oldest first
    Bytes answer_bytes = 0;         // of what it has not taken
    bool is_served = false;         // an answer is made, or on its way
  };
  void run();
  // The viewers take turns. With the lock held.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, Waiting>> next();
  [[nodiscard]] std::vector<std::byte> answer_to(const Waiting& waiting);
  void wait_for_work(std::unique_lock<std::mutex>& lock);

  Source& source_;
  const Limits limits_;
  const Deliver deliver_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Seat> seats_;
  std::uint64_t last_served_ = 0, version_ = 0;
  Bytes answers_bytes_ = 0;
  bool is_stopped_ = false, must_look_ = true;
  std::thread thread_;
};

// A message: how long the description is (uint32, little-endian), the description (JSON, padded with blanks to a multiple of eight bytes
// with those four), the numbers.
[[nodiscard]] std::vector<std::byte> to_message(const Answer& answer);

}  // namespace glean::view
