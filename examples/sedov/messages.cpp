// SPDX-License-Identifier: BSD-3-Clause
#include "messages.hpp"

#include <tuple>

namespace sedov {

namespace {

std::size_t values_of(const std::vector<Part>& parts) {
  std::size_t sum = 0;
  for (const Part& part : parts) sum += part.values;
  return sum;
}

}  // namespace

Messages::Peer& Messages::peer(int rank) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [rank](const Peer& p) { return p.rank == rank; });
  if (found != peers_.end()) return *found;
  Peer& made = peers_.emplace_back();
  made.rank = rank;
  return made;
}

void Messages::add(const Part& part, int source_rank, int destination_rank, int own_rank) {
  if (source_rank == destination_rank) {
    kept_.push_back(part);
    buffer_.resize(std::max(buffer_.size(), part.values));
  } else if (destination_rank == own_rank) {
    peer(source_rank).receive.push_back(part);
  } else {
    peer(destination_rank).send.push_back(part);
  }
}

void Messages::complete() {
  const auto by_destination = [](const Part& a, const Part& b) {
    return std::tie(a.destination, a.where) < std::tie(b.destination, b.where);
  };
  for (Peer& peer : peers_) {
    std::sort(peer.send.begin(), peer.send.end(), by_destination);
    std::sort(peer.receive.begin(), peer.receive.end(), by_destination);
    peer.send_buffer.resize(values_of(peer.send));
    peer.receive_buffer.resize(values_of(peer.receive));
  }
}

void Messages::receive(MPI_Comm comm) {
  receives_.clear();
  sends_.clear();
  for (Peer& peer : peers_) {   // one of size zero too where nothing comes, so that requests and peers have the same numbers
    MPI_Irecv(peer.receive_buffer.data(), static_cast<int>(peer.receive_buffer.size()), MPI_DOUBLE, peer.rank, tag_, comm,
              &receives_.emplace_back());
  }
}

void Messages::send(MPI_Comm comm, const Peer& peer) {
  MPI_Isend(peer.send_buffer.data(), static_cast<int>(peer.send_buffer.size()), MPI_DOUBLE, peer.rank, tag_, comm,
            &sends_.emplace_back());
}

const Messages::Peer& Messages::next_arrived() {
  int index = 0;
  MPI_Waitany(static_cast<int>(receives_.size()), receives_.data(), &index, MPI_STATUS_IGNORE);
  return peers_[static_cast<std::size_t>(index)];
}

void Messages::finish() { MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE); }

}  // namespace sedov
