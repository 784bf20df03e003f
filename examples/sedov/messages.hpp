// SPDX-License-Identifier: BSD-3-Clause
//
// Values that go from blocks to blocks: within a rank at once, between two ranks all in one message.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sedov {

// What one block gives to another.
struct Part {
  int source, destination;   // blocks, by number
  int where;                 // tells the parts for one block apart; what else it means is up to the code that packs and unpacks
  std::size_t values;
};

// The parts that this rank sends, receives or keeps. Both ranks of a pair know the same parts, and so the order in the message: by
// destination, then by `where`.
class Messages {
 public:
  explicit Messages(int tag) : tag_(tag) {}

  // For every part from or to a block of this rank, once. Local.
  void add(const Part& part, int source_rank, int destination_rank, int own_rank);
  // After the last part. Local.
  void complete();

  // Calls pack(part, double* out) for what this rank gives and unpack(part, const double* in) for what it gets. All that leaves for other
  // ranks is packed before anything is unpacked. Collective among the ranks of the parts, blocks.
  template <class Pack, class Unpack>
  void exchange(MPI_Comm comm, Pack pack, Unpack unpack) {
    receive(comm);
    for (Peer& peer : peers_) {
      double* out = peer.send_buffer.data();
      for (const Part& part : peer.send) {
        pack(part, out);
        out += part.values;
      }
      send(comm, peer);
    }
    for (const Part& part : kept_) {
      pack(part, buffer_.data());
      unpack(part, const_cast<const double*>(buffer_.data()));
    }
    for (std::size_t arrived = 0; arrived < receives_.size(); ++arrived) {
      const Peer& peer = next_arrived();
      const double* in = peer.receive_buffer.data();
      for (const Part& part : peer.receive) {
        unpack(part, in);
        in += part.values;
      }
    }
    finish();
  }

 private:
  struct Peer {
    int rank = 0;
    std::vector<Part> send, receive;
    std::vector<double> send_buffer, receive_buffer;
  };

  Peer& peer(int rank);
  void receive(MPI_Comm comm);
  void send(MPI_Comm comm, const Peer& peer);
  const Peer& next_arrived();
  void finish();

  int tag_;
  std::vector<Part> kept_;
  std::vector<Peer> peers_;
  std::vector<double> buffer_;   // for one of the kept
  std::vector<MPI_Request> receives_, sends_;
};

}  // namespace sedov
