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
  base::Errc code = base::Errc::io;
  std::array<char, 1536> what{};
  std::array<char, 256> hint{};
};

template <std::size_t size>
void copy(std::array<char, size>& target, const std::string& text) {
  std::memcpy(target.data(), text.data(), std::min(text.size(), size - 1));
}

}  // namespace

base::Error error_of(MPI_Comm comm, int root, const std::optional<base::Error>& mine) {
  Message message;
  if (mine) {
    message.code = mine->code();
    copy(message.what, mine->what());
    copy(message.hint, mine->hint());
  }
  MPI_Bcast(&message, static_cast<int>(sizeof message), MPI_BYTE, root, comm);
  return {message.code, message.what.data(), message.hint.data()};
}

void agree(MPI_Comm comm, const std::optional<base::Error>& mine) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int candidate = mine ? rank : size;
  int first = size;
  MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first != size) throw base::Error(error_of(comm, first, mine));
}

void follow_root(MPI_Comm comm, const std::optional<base::Error>& of_root, void* value, int value_bytes) {
  // Errors are long and rare: they come in a message of their own.
  auto* bytes = static_cast<std::byte*>(value);
  std::vector<std::byte> both(bytes, bytes + value_bytes);
  both.push_back(static_cast<std::byte>(of_root ? 1 : 0));
  MPI_Bcast(both.data(), static_cast<int>(both.size()), MPI_BYTE, 0, comm);
  if (both.back() != std::byte{0}) throw base::Error(error_of(comm, 0, of_root));
  std::copy(both.begin(), both.end() - 1, bytes);
}

Outcome settle(MPI_Comm comm, const Proposal& mine) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto nobody = static_cast<std::uint64_t>(size);
  enum { failed, fingerprint, complement, word, words };
  // The least and, as the complement, the greatest fingerprint.
  const std::uint64_t brought[words] = {mine.error ? static_cast<std::uint64_t>(rank) : nobody, mine.fingerprint,
                                        ~mine.fingerprint, rank == 0 ? mine.root_word : Proposal::no_word};
  std::uint64_t all[words];
  MPI_Allreduce(brought, all, words, MPI_UINT64_T, MPI_MIN, comm);

  Outcome outcome{all[word], std::nullopt};
  if (all[failed] != nobody) {
    outcome.error = error_of(comm, static_cast<int>(all[failed]), mine.error);
  } else if (all[fingerprint] != ~all[complement]) {
    std::uint64_t of_root = mine.fingerprint;
    MPI_Bcast(&of_root, 1, MPI_UINT64_T, 0, comm);
    const int candidate = of_root == mine.fingerprint ? size : rank;
    int first = size;
    MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, comm);
    outcome.error = base::Error(base::Errc::invalid_argument,
                                "rank " + std::to_string(first) + " has defined it otherwise than rank 0",
                                "path, format, dimensions, variables and attributes must be the same on all ranks");
  }
  return outcome;
}

}  // namespace glean::session
