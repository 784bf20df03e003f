// SPDX-License-Identifier: BSD-3-Clause
#include "face_exchange.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace nekcem {

FaceExchange::FaceExchange(MPI_Comm comm, const Mesh& mesh)
    : comm_(comm), mesh_(mesh), face_values_(components * mesh.points_per_face()),
      own_(mesh.local_elements() * faces * face_values_), outside_(mesh.local_elements() * faces) {
  find_partners();
}

void FaceExchange::find_partners() {
  struct Shared {
    std::vector<std::pair<std::int64_t, std::size_t>> wanted;   // element and face of this rank (key), place in outside_
    std::vector<std::pair<std::int64_t, const double*>> given;   // element and face of the partner (key), own values
  };
  std::map<int, Shared> shared;
  for (std::size_t local = 0; local < mesh_.local_elements(); ++local) {
    const std::int64_t element = mesh_.mine().first + static_cast<std::int64_t>(local);
    for (int face = 0; face < faces; ++face) {
      const std::int64_t beyond = mesh_.neighbour(element, face);
      if (beyond == Mesh::wall) continue;
      const std::size_t slot = local * faces + static_cast<std::size_t>(face);
      if (mesh_.is_mine(beyond)) {
        outside_[slot] = inside(static_cast<std::size_t>(beyond - mesh_.mine().first), opposite(face));
      } else {
        Shared& with = shared[mesh_.owner(beyond)];
        with.wanted.emplace_back(element * faces + face, slot);
        with.given.emplace_back(beyond * faces + opposite(face), inside(local, face));
      }
    }
  }
  // Both ranks order a message by element and face of the rank that receives it, so that nothing has to be said about it.
  for (auto& [rank, with] : shared) {
    std::sort(with.wanted.begin(), with.wanted.end());
    std::sort(with.given.begin(), with.given.end());
    Partner partner;
    partner.rank = rank;
    partner.sent.resize(with.given.size() * face_values_);
    partner.received.resize(with.wanted.size() * face_values_);
    for (const auto& [key, values] : with.given) partner.faces.push_back(values);
    for (std::size_t i = 0; i < with.wanted.size(); ++i) outside_[with.wanted[i].second] = partner.received.data() + i * face_values_;
    partners_.push_back(std::move(partner));   // a moved vector keeps its buffer
  }
  requests_.resize(2 * partners_.size());
}

void FaceExchange::start() {
  MPI_Request* request = requests_.data();
  for (Partner& partner : partners_) {
    MPI_Irecv(partner.received.data(), static_cast<int>(partner.received.size()), MPI_DOUBLE, partner.rank, 0, comm_, request++);
  }
  for (Partner& partner : partners_) {
    double* to = partner.sent.data();
    for (const double* face : partner.faces) to = std::copy_n(face, face_values_, to);
    MPI_Isend(partner.sent.data(), static_cast<int>(partner.sent.size()), MPI_DOUBLE, partner.rank, 0, comm_, request++);
  }
}

void FaceExchange::finish() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

}  // namespace nekcem
