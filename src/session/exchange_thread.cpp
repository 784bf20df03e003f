// SPDX-License-Identifier: BSD-3-Clause
#include "session/exchange_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/signals_blocked.hpp"
#include "pool/futex.hpp"
#include "session/agreement.hpp"
#include "topology/discover/interconnect.hpp"
#include "transport/mpi/messages.hpp"
#include "transport/tcp/messages.hpp"
#include "transport/tree.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t still_ns = 200'000;   // nothing has moved for so long: the others are busy
constexpr std::uint64_t moving_ns = 100'000'000;
constexpr double last_seconds = 5, meeting_seconds = 30;
constexpr std::size_t address_bytes = 1024;

// Where the neighbours can be reached: no node has to know of all others.
std::map<int, std::string> swap_addresses(MPI_Comm aggregators, const std::vector<int>& neighbours, const std::string& mine) {
  std::array<char, address_bytes> sent{};
  mine.copy(sent.data(), sent.size() - 1);
  std::vector<std::array<char, address_bytes>> received(neighbours.size());
  std::vector<MPI_Request> requests(2 * neighbours.size());
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    MPI_Irecv(received[i].data(), address_bytes, MPI_CHAR, neighbours[i], 0, aggregators, &requests[2 * i]);
    MPI_Isend(sent.data(), address_bytes, MPI_CHAR, neighbours[i], 0, aggregators, &requests[2 * i + 1]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  std::map<int, std::string> addresses;
  for (std::size_t i = 0; i < neighbours.size(); ++i) addresses[neighbours[i]] = received[i].data();
  return addresses;
}

}  // namespace

std::unique_ptr<transport::Messages> connect_nodes(MPI_Comm aggregators, double deadline_seconds) {
  int self = 0, nodes = 1;
  MPI_Comm_rank(aggregators, &self);
  MPI_Comm_size(aggregators, &nodes);
  std::optional<transport::TcpDoor> door;
  agree(aggregators, caught([&] { door.emplace(); }));
  const auto key = on_root<transport::TcpKey>(aggregators, [](transport::TcpKey& value) { value = transport::make_tcp_key(); });
  const auto addresses = swap_addresses(aggregators, transport::Tree(nodes).neighbours_of(self), door->addresses());
  std::unique_ptr<transport::Messages> messages;
  agree(aggregators, caught([&] {
    messages = transport::make_tcp_messages(std::move(*door), self, nodes, addresses, key, std::min(deadline_seconds, meeting_seconds),
                                            {.deadline_seconds = deadline_seconds});
  }));
  return messages;
}

base::ExchangeOver choose_exchange(base::ExchangeOver setting) {
  if (setting != base::ExchangeOver::automatic) return setting;
  return topology::discover_port({}).is_fabric ? base::ExchangeOver::mpi : base::ExchangeOver::tcp;
}

ExchangeThread::ExchangeThread(pool::Pool& pool, drain::Engine& engine, std::unique_ptr<transport::Messages> messages,
                               std::unique_ptr<transport::Messages> blocks, std::string others)
    : pool_(pool), others_(std::move(others)),
      node_(std::make_unique<service::Node>(pool, engine, std::move(messages), std::move(blocks))) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

ExchangeThread::~ExchangeThread() {
  others_may_end_.store(true);
  ends_.store(true);
  pool::futex_signal(pool_.header().progress);
  thread_.join();
}

void ExchangeThread::find_places(const staging::JobPlaces& job, const wire::Key& key_of_service) {
  search_ = std::make_unique<staging::PlaceSearch>(job, key_of_service, [this] { pool::futex_signal(pool_.header().progress); });
  exchange().find_places_with({.seek = [this](int stager) { search_->begin(stager); },
                               .end = [this](int stager) { search_->end(stager); },
                               .take_found = [this] { return search_->found(); }});
}

void ExchangeThread::run() {
  pthread_setname_np(pthread_self(), "glean-nodes");
  const auto lost = caught([&] {
    node_->run([this] { return ends_.load(); }, [this](double still_seconds) { return !holds_any() || still_seconds > last_seconds; });
  });
  if (!lost) return;
  const bool is_needed = node_->holds_any();
  node_->part();   // so all nodes hear of it, each of its neighbours
  if (is_needed || !others_may_end_.load()) {
    const std::string who = others_.empty() ? "" : " (" + others_ + ")";
    service::tell_of_loss(pool_, base::Error(lost->code(), lost->what() + who, lost->hint()));
  }
}

void ExchangeThread::move_blocks_on() {
  if (!exchange().waits_for_calls()) return;
  const std::uint64_t begin = base::now_ns();
  for (std::uint64_t now = begin, moved = now; now - moved < still_ns && now - begin < moving_ns; now = base::now_ns()) {
    if (exchange().move_blocks()) moved = now;
  }
}

}  // namespace glean::session
