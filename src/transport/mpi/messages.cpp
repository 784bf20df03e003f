// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mpi/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace glean::transport {
namespace {

// Where a peer is: a process that plays several of them tells them apart by `index`.
struct Place {
  int rank = 0;
  int index = 0;
};
using PlaceOf = std::function<Place(int peer)>;

// Between two processes the heads for a peer have a tag, and the bodies of two peers have one: bodies are taken in another order
// than that in which their heads come, if they are of different peers.
class Tags {
 public:
  // Up to so many peers are played by a process.
  explicit Tags(int most) : most_(most) {}
  [[nodiscard]] static int of_heads(Place to) { return 1 + to.index; }
  [[nodiscard]] int of_bodies(Place from, Place to) const { return 1 + most_ + from.index * most_ + to.index; }
  [[nodiscard]] int last() const { return most_ + most_ * most_; }

 private:
  int most_;
};

// A head begins with the peer that it is from.
class MpiMessages final : public Messages {
 public:
  MpiMessages(MPI_Comm comm, int self, int peers, PlaceOf place_of, Tags tags)
      : comm_(comm), self_(self), peers_(peers), place_of_(std::move(place_of)), here_(place_of_(self)), tags_(tags) {}
  // What is still on its way goes on: the heads stay for MPI, as the bodies do that are the caller's.
  ~MpiMessages() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0 || completed_all()) return;
    for (auto& each : moving_) MPI_Request_free(&each.request);
    static_cast<void>(new std::deque<Moving>(std::move(moving_)));
  }
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int peers() const override { return peers_; }

  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    const Place there = place_of_(peer);
    Moving& of_head = moving_.emplace_back();
    const auto from = std::as_bytes(std::span(&self_, 1));
    of_head.head.assign(from.begin(), from.end());
    of_head.head.insert(of_head.head.end(), head.begin(), head.end());
    MPI_Isend(of_head.head.data(), static_cast<int>(of_head.head.size()), MPI_BYTE, there.rank, Tags::of_heads(there), comm_,
              &of_head.request);
    if (body.empty()) return;
    Moving& of_body = moving_.emplace_back();
    of_body.token = token;
    MPI_Isend(body.data(), static_cast<int>(body.size()), MPI_BYTE, there.rank, tags_.of_bodies(here_, there), comm_,
              &of_body.request);
  }

  [[nodiscard]] std::optional<Arrival> arrival() override {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, Tags::of_heads(here_), comm_, &there, &message, &status);
    if (there == 0) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Arrival arrival{0, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    MPI_Mrecv(arrival.head.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    std::memcpy(&arrival.peer, arrival.head.data(), sizeof arrival.peer);
    arrival.head.erase(arrival.head.begin(), arrival.head.begin() + sizeof arrival.peer);
    return arrival;
  }

  void receive_body(int peer, std::span<std::byte> target, Token token) override {
    Moving& body = moving_.emplace_back();
    body.token = token;
    const Place there = place_of_(peer);
    MPI_Irecv(target.data(), static_cast<int>(target.size()), MPI_BYTE, there.rank, tags_.of_bodies(there, here_), comm_,
              &body.request);
  }

  [[nodiscard]] std::vector<Token> completed() override {
    std::vector<Token> tokens;
    std::erase_if(moving_, [&](Moving& each) {
      int done = 0;
      MPI_Test(&each.request, &done, MPI_STATUS_IGNORE);
      if (done != 0 && each.token) tokens.push_back(*each.token);
      return done != 0;
    });
    return tokens;
  }

 private:
  [[nodiscard]] bool completed_all() {
    static_cast<void>(completed());
    return moving_.empty();
  }

  struct Moving {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> head;    // empty: a body, which lies elsewhere
    std::optional<Token> token;
  };

  MPI_Comm comm_;
  int self_, peers_;
  PlaceOf place_of_;
  Place here_;
  Tags tags_;
  std::deque<Moving> moving_;
};

int most_tag(MPI_Comm comm) {
  const int* bound = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &is_set);
  return is_set != 0 ? *bound : 32767;   // MPI has as many at least
}

}  // namespace

std::unique_ptr<Messages> make_mpi_messages(MPI_Comm comm) {
  int self = 0, peers = 1;
  MPI_Comm_rank(comm, &self);
  MPI_Comm_size(comm, &peers);
  return std::make_unique<MpiMessages>(comm, self, peers, [](int peer) { return Place{.rank = peer}; }, Tags(1));
}

std::unique_ptr<Messages> make_mpi_messages(MPI_Comm comm, int self, const std::vector<int>& rank_of) {
  std::vector<Place> places;
  std::map<int, int> played;   // peers so far, by rank
  int most = 1;
  for (const int rank : rank_of) {
    places.push_back({rank, played[rank]++});
    most = std::max(most, played[rank]);
  }
  const Tags tags(most);
  if (tags.last() > most_tag(comm)) {
    throw base::Error(base::Errc::unsupported, fmt::format("a process plays {} nodes, and MPI has tags for fewer", most),
                      "more processes, one for each node at best");
  }
  const int peers = static_cast<int>(places.size());
  const auto place_of = [places = std::move(places)](int peer) { return places[static_cast<std::size_t>(peer)]; };
  return std::make_unique<MpiMessages>(comm, self, peers, place_of, tags);
}

}  // namespace glean::transport
