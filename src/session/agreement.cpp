// SPDX-License-Identifier: BSD-3-Clause
#include "session/agreement.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
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

int meanwhile_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
    return made;
  }();
  return key;
}

const Meanwhile* meanwhile_of(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, meanwhile_key(), &value, &found);
  return found != 0 ? static_cast<const Meanwhile*>(value) : nullptr;
}

// What MPI reads and writes, and may go on to when a rank has given up waiting for the others.
struct Operation {
  std::vector<std::byte> sent, received;
  std::vector<int> counts, places;
  MPI_Request request = MPI_REQUEST_NULL;
};

constexpr double waiting_yields_seconds = 0.002;   // a rank that waits for longer sleeps
constexpr unsigned waiting_nap_us = 100;

// Until `is_complete(*operation)`. When `meanwhile` throws, it is left to MPI for good.
template <class Pending, class IsComplete>
void wait_for(std::unique_ptr<Pending>& operation, const Meanwhile* meanwhile, IsComplete is_complete) {
  const double begin = MPI_Wtime();
  while (!is_complete(*operation)) {
    const double seconds = MPI_Wtime() - begin;
    try {
      if (meanwhile != nullptr) (*meanwhile)(seconds);
    } catch (...) {
      static_cast<void>(operation.release());
      throw;
    }
    if (seconds < waiting_yields_seconds) sched_yield();
    else usleep(waiting_nap_us);
  }
}

void complete(std::unique_ptr<Operation>& operation, const Meanwhile* meanwhile) {
  if (meanwhile == nullptr) {
    MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
    return;
  }
  wait_for(operation, meanwhile, [](Operation& one) {
    int done = 0;
    MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

}  // namespace

void poll_messages() {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

void set_meanwhile(MPI_Comm comm, const Meanwhile* meanwhile) {
  MPI_Comm_set_attr(comm, meanwhile_key(), const_cast<Meanwhile*>(meanwhile));
}

void broadcast(MPI_Comm comm, int root, void* bytes, std::size_t count) {
  const auto* meanwhile = meanwhile_of(comm);
  if (meanwhile == nullptr) {
    MPI_Bcast(bytes, static_cast<int>(count), MPI_BYTE, root, comm);
    return;
  }
  auto operation = std::make_unique<Operation>();
  auto& buffer = operation->received;
  buffer.resize(count);
  std::memcpy(buffer.data(), bytes, count);
  MPI_Ibcast(buffer.data(), static_cast<int>(count), MPI_BYTE, root, comm, &operation->request);
  complete(operation, meanwhile);
  std::memcpy(bytes, buffer.data(), count);
}

void reduce_all(MPI_Comm comm, const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op) {
  const auto* meanwhile = meanwhile_of(comm);
  if (meanwhile == nullptr) {
    MPI_Allreduce(mine, all, count, type, op, comm);
    return;
  }
  auto operation = std::make_unique<Operation>();
  auto& [sent, received, counts, places, request] = *operation;
  const std::size_t bytes = bytes_of(count, type);
  sent.resize(bytes);
  received.resize(bytes);
  std::memcpy(sent.data(), mine, bytes);
  MPI_Iallreduce(sent.data(), received.data(), count, type, op, comm, &request);
  complete(operation, meanwhile);
  std::memcpy(all, received.data(), bytes);
}

std::vector<std::uint64_t> sums_before(MPI_Comm comm, const std::vector<std::uint64_t>& mine) {
  auto operation = std::make_unique<Operation>();
  const auto bytes = std::as_bytes(std::span(mine));
  operation->sent.assign(bytes.begin(), bytes.end());
  operation->received.resize(bytes.size());   // what rank 0 gets is not set by MPI
  MPI_Iexscan(operation->sent.data(), operation->received.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, comm,
              &operation->request);
  complete(operation, meanwhile_of(comm));
  std::vector<std::uint64_t> before(mine.size(), 0);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank != 0) std::memcpy(before.data(), operation->received.data(), operation->received.size());
  return before;
}

void gather_bytes(MPI_Comm comm, const void* mine, void* all, std::size_t count) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  auto operation = std::make_unique<Operation>();
  auto& [sent, received, counts, places, request] = *operation;
  const int bytes = static_cast<int>(count);
  sent.resize(count);
  std::memcpy(sent.data(), mine, count);
  if (rank == 0) received.resize(count * static_cast<std::size_t>(size));
  MPI_Igather(sent.data(), bytes, MPI_BYTE, received.data(), bytes, MPI_BYTE, 0, comm, &request);
  complete(operation, meanwhile_of(comm));
  if (rank == 0) std::memcpy(all, received.data(), received.size());
}

void send_bytes(MPI_Comm comm, int to, const void* bytes, std::size_t count) {
  auto operation = std::make_unique<Operation>();
  operation->sent.resize(count);
  std::memcpy(operation->sent.data(), bytes, count);
  MPI_Isend(operation->sent.data(), static_cast<int>(count), MPI_BYTE, to, 0, comm, &operation->request);
  complete(operation, meanwhile_of(comm));
}

void receive_bytes(MPI_Comm comm, int from, void* bytes, std::size_t count) {
  auto operation = std::make_unique<Operation>();
  operation->received.resize(count);
  MPI_Irecv(operation->received.data(), static_cast<int>(count), MPI_BYTE, from, 0, comm, &operation->request);
  complete(operation, meanwhile_of(comm));
  std::memcpy(bytes, operation->received.data(), count);
}

void exchange_bytes(MPI_Comm comm, std::vector<BytesOfRank> sent, std::vector<BytesOfRank>& received) {
  struct Exchange {   // which MPI may go on to use, as an Operation
    std::vector<BytesOfRank> sent, received;
    std::vector<MPI_Request> requests;
  };
  auto exchange = std::make_unique<Exchange>(Exchange{std::move(sent), std::move(received), {}});
  exchange->requests.reserve(exchange->received.size() + exchange->sent.size());
  for (BytesOfRank& each : exchange->received) {
    MPI_Irecv(each.bytes.data(), static_cast<int>(each.bytes.size()), MPI_BYTE, each.rank, 0, comm, &exchange->requests.emplace_back());
  }
  for (const BytesOfRank& each : exchange->sent) {
    MPI_Isend(each.bytes.data(), static_cast<int>(each.bytes.size()), MPI_BYTE, each.rank, 0, comm, &exchange->requests.emplace_back());
  }
  wait_for(exchange, meanwhile_of(comm), [](Exchange& one) {
    int done = 0;
    MPI_Testall(static_cast<int>(one.requests.size()), one.requests.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  });
  received = std::move(exchange->received);
}

std::vector<std::uint64_t> gather_on_all(MPI_Comm comm, const std::vector<std::uint64_t>& mine) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  auto operation = std::make_unique<Operation>();
  const std::size_t bytes = mine.size() * sizeof(std::uint64_t);
  operation->sent.resize(bytes);
  std::memcpy(operation->sent.data(), mine.data(), bytes);
  operation->received.resize(bytes * static_cast<std::size_t>(size));
  MPI_Iallgather(operation->sent.data(), static_cast<int>(bytes), MPI_BYTE, operation->received.data(), static_cast<int>(bytes), MPI_BYTE,
                 comm, &operation->request);
  complete(operation, meanwhile_of(comm));
  std::vector<std::uint64_t> all(mine.size() * static_cast<std::size_t>(size));
  std::memcpy(all.data(), operation->received.data(), operation->received.size());
  return all;
}

std::vector<std::uint64_t> gather(MPI_Comm comm, const std::vector<std::uint64_t>& mine) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int bytes = static_cast<int>(mine.size() * sizeof(std::uint64_t));
  std::vector<int> all_counts(rank == 0 ? static_cast<std::size_t>(size) : 0);
  gather_bytes(comm, &bytes, all_counts.data(), sizeof bytes);
  auto operation = std::make_unique<Operation>();
  auto& [sent, received, counts, places, request] = *operation;
  sent.resize(static_cast<std::size_t>(bytes));
  if (bytes != 0) std::memcpy(sent.data(), mine.data(), sent.size());
  counts = all_counts;
  places.resize(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  if (rank == 0) received.resize(static_cast<std::size_t>(places.back() + counts.back()));
  MPI_Igatherv(sent.data(), bytes, MPI_BYTE, received.data(), counts.data(), places.data(), MPI_BYTE, 0, comm, &request);
  complete(operation, meanwhile_of(comm));
  std::vector<std::uint64_t> all(received.size() / sizeof(std::uint64_t));
  if (!received.empty()) std::memcpy(all.data(), received.data(), received.size());
  return all;
}

base::Error error_of(MPI_Comm comm, int root, const std::optional<base::Error>& mine) {
  Message message;
  if (mine) {
    message.code = mine->code();
    copy(message.what, mine->what());
    copy(message.hint, mine->hint());
  }
  broadcast(comm, root, &message, sizeof message);
  return {message.code, message.what.data(), message.hint.data()};
}

base::Error error_of_first(MPI_Comm comm, const std::optional<base::Error>& mine) {
  const auto error = caught([&] { agree(comm, mine); });
  return error ? *error : base::Error(base::Errc::io, "an output has failed, and no rank knows why");
}

void agree(MPI_Comm comm, const std::optional<base::Error>& mine) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int candidate = mine ? rank : size;
  int first = size;
  reduce_all(comm, &candidate, &first, 1, MPI_INT, MPI_MIN);
  if (first != size) throw base::Error(error_of(comm, first, mine));
}

void follow_root(MPI_Comm comm, const std::optional<base::Error>& of_root, void* value, int value_bytes) {
  // Errors are long and rare: they come in a message of their own.
  auto* bytes = static_cast<std::byte*>(value);
  std::vector<std::byte> both(bytes, bytes + value_bytes);
  both.push_back(static_cast<std::byte>(of_root ? 1 : 0));
  broadcast(comm, 0, both.data(), both.size());
  if (both.back() != std::byte{0}) throw base::Error(error_of(comm, 0, of_root));
  std::copy(both.begin(), both.end() - 1, bytes);
}

Outcome settle(MPI_Comm comm, const Proposal& mine, const std::function<FourWords(const FourWords&)>& reduce) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto no_rank = static_cast<std::uint64_t>(size);
  enum { failed, fingerprint, complement, word };
  // The least and, as the complement, the greatest fingerprint.
  const FourWords brought = {mine.error ? static_cast<std::uint64_t>(rank) : no_rank, mine.fingerprint,
                             ~mine.fingerprint, rank == 0 ? mine.root_word : Proposal::no_word};
  const FourWords all = reduce(brought);

  Outcome outcome{all[word], std::nullopt};
  if (all[failed] != no_rank) {
    outcome.error = error_of(comm, static_cast<int>(all[failed]), mine.error);
  } else if (all[fingerprint] != ~all[complement]) {
    struct {
      std::uint64_t fingerprint;
      int label;
    } root{mine.fingerprint, mine.label};
    broadcast(comm, 0, &root, sizeof root);
    const int candidate = root.fingerprint == mine.fingerprint ? std::numeric_limits<int>::max() : mine.label;
    int first = candidate;
    reduce_all(comm, &candidate, &first, 1, MPI_INT, MPI_MIN);
    outcome.error = base::Error(base::Errc::invalid_argument,
                                "rank " + std::to_string(first) + " has defined it otherwise than rank " + std::to_string(root.label),
                                "path, format, dimensions, variables and attributes must be the same on all ranks");
  }
  return outcome;
}

}  // namespace glean::session
