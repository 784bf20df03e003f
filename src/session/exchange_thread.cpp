// SPDX-License-Identifier: BSD-3-Clause
#include "session/exchange_thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "pool/futex.hpp"
#include "session/agreement.hpp"
#include "transport/tcp/messages.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t exchange_nap_ns = 100'000'000;
constexpr int listening_ms = 100;
constexpr unsigned reading_us = 50;
constexpr double last_words_seconds = 5, meeting_seconds = 30;
constexpr std::size_t address_bytes = 1024;

// The tree is that of nodes::Exchange.
std::vector<int> neighbours_of(int node, int nodes) {
  std::vector<int> neighbours;
  if (node != 0) neighbours.push_back((node - 1) / 2);
  for (int child = 2 * node + 1; child <= 2 * node + 2 && child < nodes; ++child) neighbours.push_back(child);
  return neighbours;
}

// Where the neighbours can be reached: no node has to know of all others.
std::map<int, std::string> swap_addresses(MPI_Comm leaders, const std::vector<int>& neighbours, const std::string& mine) {
  std::array<char, address_bytes> sent{};
  mine.copy(sent.data(), sent.size() - 1);
  std::vector<std::array<char, address_bytes>> received(neighbours.size());
  std::vector<MPI_Request> requests(2 * neighbours.size());
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    MPI_Irecv(received[i].data(), address_bytes, MPI_CHAR, neighbours[i], 0, leaders, &requests[2 * i]);
    MPI_Isend(sent.data(), address_bytes, MPI_CHAR, neighbours[i], 0, leaders, &requests[2 * i + 1]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  std::map<int, std::string> addresses;
  for (std::size_t i = 0; i < neighbours.size(); ++i) addresses[neighbours[i]] = received[i].data();
  return addresses;
}

}  // namespace

ExchangeThread::ExchangeThread(pool::Pool& pool, drain::Engine& engine, const Nodes& nodes, double deadline_seconds) : pool_(pool) {
  std::optional<transport::TcpDoor> door;
  auto failed = caught([&] { door.emplace(); });
  agree(nodes.leaders(), failed);
  const auto key = on_root<transport::TcpKey>(nodes.leaders(), [](transport::TcpKey& value) { value = transport::make_tcp_key(); });
  const auto addresses = swap_addresses(nodes.leaders(), neighbours_of(nodes.self(), nodes.count()), door->addresses());
  failed = caught([&] {
    messages_ = transport::make_tcp_messages(std::move(*door), nodes.self(), nodes.count(), addresses, key,
                                             std::min(deadline_seconds, meeting_seconds));
    exchange_ = std::make_unique<nodes::Exchange>(pool, engine, *messages_);
  });
  agree(nodes.leaders(), failed);
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

ExchangeThread::~ExchangeThread() {
  others_may_end_.store(true);
  ends_.store(true);
  pool::futex_signal(pool_.header().progress);
  thread_.join();
}

void ExchangeThread::run() {
  pthread_setname_np(pthread_self(), "glean-nodes");
  std::thread listener;
  const auto lost = caught([&] {
    listener = std::thread([this] { listen(); });
    exchange_until_the_end();
  });
  has_ended_.store(true);
  if (listener.joinable()) listener.join();
  if (!lost) return;
  const bool is_needed = exchange_->holds_any();
  // So all nodes hear of it, each of its neighbours.
  exchange_.reset();
  messages_.reset();
  holds_any_.store(false, std::memory_order_release);
  if (others_may_end_.load() && !is_needed) return;
  base::log(base::LogLevel::error, "node {}: {}", pool_.header().node, lost->what());   // before anybody fails because of it
  pool_.header().lost_nodes.store(1, std::memory_order_release);
  pool::futex_signal(pool_.header().progress);
}

// The other thread sleeps on a word of the pool, by which ranks and the drain wake it: here messages do.
void ExchangeThread::listen() const {
  pthread_setname_np(pthread_self(), "glean-listen");
  std::vector<pollfd> polled;
  for (const int descriptor : messages_->descriptors()) polled.push_back({descriptor, POLLIN, 0});
  while (!has_ended_.load()) {
    if (poll(polled.data(), polled.size(), listening_ms) <= 0) continue;
    pool::futex_signal(pool_.header().progress);
    usleep(reading_us);   // meanwhile it is read
  }
}

void ExchangeThread::exchange_until_the_end() {
  pool::PoolHeader& header = pool_.header();
  std::uint64_t moved_ns = base::now_ns();
  for (;;) {
    const std::uint32_t seen = header.progress.load(std::memory_order_acquire);
    const bool ends = ends_.load();
    const bool moves = exchange_->progress();
    holds_any_.store(exchange_->holds_any(), std::memory_order_release);
    if (moves || !ends) moved_ns = base::now_ns();
    if (ends && (!holds_any() || base::seconds(base::now_ns() - moved_ns) > last_words_seconds)) return;
    if (!moves) pool::futex_wait(header.progress, seen, exchange_nap_ns);
  }
}

}  // namespace glean::session
