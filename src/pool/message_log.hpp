// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to the ranks of a node: what triggers and users' analyses tell the program while the drain looks at its steps.
//
// They lie in a file in shared memory beside the pool, which the first message makes and Pool::remove() removes; docs/formats/pool.md has
// the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glean::pool {

struct Message {
  std::string text;
  std::string output;   // as the program has named it
  std::uint64_t step = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

// Appends it. False: there is no room, for 1 MiB of messages, or for a text of more than 64 KiB. Any thread of any process. Never waits.
bool tell(const std::string& pool, const Message& message) noexcept;
void remove_messages(const std::string& pool) noexcept;

// What one rank has not read yet.
class MessageReader {
 public:
  explicit MessageReader(std::string pool) : pool_(std::move(pool)) {}
  // In the order in which they were told. Local; a system call while there has been none.
  [[nodiscard]] std::vector<Message> poll();

 private:
  std::string pool_;
  std::uint64_t read_ = 0;   // bytes
};

}  // namespace glean::pool
