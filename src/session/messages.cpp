// SPDX-License-Identifier: BSD-3-Clause
#include "session/messages.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"
#include "session/agreement.hpp"

namespace glean::session {

std::vector<std::vector<std::byte>> gather_messages(MPI_Comm comm, const std::vector<std::byte>& mine) {
  std::vector<std::uint64_t> words(1 + (mine.size() + 7) / 8);
  words.front() = mine.size();
  if (!mine.empty()) std::memcpy(words.data() + 1, mine.data(), mine.size());
  const std::uint64_t bytes = words.size() * sizeof(std::uint64_t);
  std::uint64_t of_all = 0;
  reduce_all(comm, &bytes, &of_all, 1, MPI_UINT64_T, MPI_SUM);
  if (of_all > std::numeric_limits<int>::max()) {   // places in a message of MPI
    throw base::Error(base::Errc::invalid_argument, fmt::format("ranks have {} to tell rank 0", base::readable_bytes(of_all)),
                      "less than 2 GiB can be: larger chunks, and fewer logical files, take less");
  }
  const std::vector<std::uint64_t> all = gather(comm, words);
  std::vector<std::vector<std::byte>> messages;
  for (std::size_t at = 0; at < all.size();) {
    std::vector<std::byte>& message = messages.emplace_back(all[at]);
    if (!message.empty()) std::memcpy(message.data(), all.data() + at + 1, message.size());
    at += 1 + (message.size() + 7) / 8;
  }
  return messages;
}

std::vector<std::byte> message_of_root(MPI_Comm comm, const std::vector<std::byte>& of_root) {
  std::vector<std::byte> bytes = of_root;
  std::uint64_t size = bytes.size();
  broadcast(comm, 0, &size, sizeof size);
  bytes.resize(size);
  if (size != 0) broadcast(comm, 0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace glean::session
