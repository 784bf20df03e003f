// SPDX-License-Identifier: BSD-3-Clause
#include "session/agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace glean::session {
namespace {

// An error as bytes.
struct Message {
  int failed = 0;
  base::Errc code = base::Errc::io;
  std::array<char, 1536> what{};
  std::array<char, 256> hint{};
};

template <std::size_t size>
void copy(std::array<char, size>& target, const std::string& text) {
  std::memcpy(target.data(), text.data(), std::min(text.size(), size - 1));
}

Message to_message(const std::optional<base::Error>& error) {
  Message message;
  if (!error) return message;
  message.failed = 1;
  message.code = error->code();
  copy(message.what, error->what());
  copy(message.hint, error->hint());
  return message;
}

void throw_if_failed(const Message& message) {
  if (message.failed != 0) throw base::Error(message.code, message.what.data(), message.hint.data());
}

}  // namespace

void agree(MPI_Comm comm, const std::optional<base::Error>& mine) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int candidate = mine ? rank : size;
  int first = size;
  MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == size) return;
  Message message = to_message(mine);
  MPI_Bcast(&message, static_cast<int>(sizeof message), MPI_BYTE, first, comm);
  throw_if_failed(message);
}

void follow_root(MPI_Comm comm, const std::optional<base::Error>& of_root, void* value, int value_bytes) {
  Message message = to_message(of_root);
  std::vector<std::byte> both(sizeof message + static_cast<std::size_t>(value_bytes));
  std::memcpy(both.data(), &message, sizeof message);
  std::memcpy(both.data() + sizeof message, value, static_cast<std::size_t>(value_bytes));
  MPI_Bcast(both.data(), static_cast<int>(both.size()), MPI_BYTE, 0, comm);
  std::memcpy(&message, both.data(), sizeof message);
  throw_if_failed(message);
  std::memcpy(value, both.data() + sizeof message, static_cast<std::size_t>(value_bytes));
}

}  // namespace glean::session
