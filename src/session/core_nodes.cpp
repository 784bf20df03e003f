// SPDX-License-Identifier: BSD-3-Clause
//
// What a session does besides where it spans several nodes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "drain/trace_json.hpp"
#include "pool/futex.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/core.hpp"
#include "transport/mpi/messages.hpp"

namespace glean::session {
namespace {

constexpr double parting_seconds = 5;         // nothing has moved for so long: the others are somewhere else

}  // namespace

// From here on what is collective is so in each part, but for closing the session.
void Core::split_into_parts(int ranks_per_node) {
  parts_ = divide_into_parts(comm_, *nodes_, configuration_.settings);
  if (parts_.count == 1) return;
  job_comm_ = comm_;
  job_nodes_ = std::move(nodes_);
  MPI_Comm_split(job_comm_, parts_.self, rank_, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  nodes_ = std::make_unique<Nodes>(comm_, ranks_per_node);
  watch_calls();
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  is_root_ = rank == 0;
}

// Unmodified programs write on the nodes where they are: they exchange no blocks, and are in a call of the library when they like.
void Core::join_nodes() {
  if (stagers_ != 0) return join_stagers();
  const auto blocks = on_root<base::ExchangeOver>(comm_, [&](base::ExchangeOver& value) {
    value = program_ == Program::unmodified ? base::ExchangeOver::tcp : choose_exchange(settings().exchange);
  });
  agree(comm_, caught([&] {
    if (!nodes_->is_aggregator()) return;
    auto messages = connect_nodes(nodes_->aggregators(), deadline_seconds_);
    auto over_mpi = blocks == base::ExchangeOver::mpi ? transport::make_mpi_messages(nodes_->aggregators()) : nullptr;
    exchange_ = std::make_unique<ExchangeThread>(*pool_, drain_->engine(), std::move(messages), std::move(over_mpi));
  }));
  if (exchange_) outputs_->set_exchange(&exchange_->exchange());
  if (rank_ == 0) base::log(base::LogLevel::info, "nodes exchange blocks over {}", blocks == base::ExchangeOver::tcp ? "TCP" : "MPI");
}

// All nodes know what has become of every output. Throws what keeps this node from that, where `glean recover` can go on. `failed`:
// that has been found already.
void Core::finish_exchange(const std::optional<base::Error>& failed) {
  if (!exchange_) {
    if (failed) throw base::Error(*failed);
    return;
  }
  const bool leaves = until_ == Level::staged;   // the stagers go on when this session has ended
  const auto late = failed ? failed : caught([&] {
    wait_until(*this, [&] {
      move_data();
      return (leaves || !exchange_->holds_any()) && (!pool_->is_staged() || exchange_->exchange().may_leave());
    }, "the end of the session");
    if (!leaves && any_is_open(*pool_)) throw base::Error(base::Errc::io, "other nodes cannot be reached any more");
  });
  exchange_->let_others_end();
  if (pool_->is_staged() && !late) {
    exchange_->exchange().leave();
    static_cast<void>(caught([&] { wait_until(*this, [&] { return exchange_->exchange().has_left(); }, "the stagers"); }));
  }
  agree(nodes_->aggregators(), std::nullopt);
  if (late) throw base::Error(*late);
}

// On the root; the others get their own. Collective over the aggregators.
drain::DrainTrace Core::trace_of_all_nodes() const {
  drain::DrainTrace all = drain_->trace();
  const Nodes& nodes = job_nodes();
  if (nodes.count() == 1) return all;
  struct Size {
    std::uint64_t begin_ns, bytes, part;
  };
  const std::string mine = drain::trace_to_json(all);
  const Size size{begin_ns_, mine.size(), static_cast<std::uint64_t>(parts_.self)};
  std::vector<Size> sizes(rank_ == 0 ? static_cast<std::size_t>(nodes.count()) : 0);
  gather_bytes(nodes.aggregators(), &size, sizes.data(), sizeof size);
  if (rank_ != 0) {
    send_bytes(nodes.aggregators(), 0, mine.data(), mine.size());
    return all;
  }
  std::vector<bool> has_part(static_cast<std::size_t>(parts_.count));
  has_part[static_cast<std::size_t>(parts_.self)] = true;
  for (int node = 1; node < nodes.count(); ++node) {   // one after the other: how many they are takes no memory
    const Size& of_node = sizes[static_cast<std::size_t>(node)];
    std::string text(of_node.bytes, '\0');
    receive_bytes(nodes.aggregators(), node, text.data(), text.size());
    drain::DrainTrace trace = drain::trace_from_json(text);
    // All have begun at the same time, by clocks of their own.
    trace.shift(static_cast<std::int64_t>(begin_ns_ - of_node.begin_ns));
    const bool is_known = has_part[of_node.part];
    has_part[of_node.part] = true;
    all.add_node(trace, is_known ? drain::DrainTrace::Wrote::the_same_files : drain::DrainTrace::Wrote::other_files);
  }
  return all;
}

// Without the others: what all ranks have closed is completed if the other nodes are in calls of the library too, and else left to
// `glean recover`. Of what ranks of this node have not closed the others hear that it has failed, and do not wait for it.
void Core::part_from_nodes() {
  if (!exchange_) return;
  exchange_->let_others_end();
  const std::string why = fmt::format("rank {} has left the session before the output was complete", rank_);
  if (program_ == Program::unmodified) {
    const auto late = caught([&] { ByteOutput::finish_all(*this); });
    if (late) return drain_->end_without_ranks(late->what());
    if (!open_and_kept(*pool_).empty()) return drain_->end_without_ranks("files were open when the program ended");
    ByteOutput::fail_open(*this, why);
    return;
  }
  const bool is_broken = collective_->is_broken();
  if (!is_broken && outputs_->has_lost_a_rank()) return drain_->end_without_ranks("a rank has ended without closing its outputs");
  if (!mpi_runs() && exchange_->exchange().waits_for_calls()) {
    if (exchange_->holds_any()) drain_->end_without_ranks("MPI was finalized before the session was closed");
    return;
  }
  for (const std::string& text : outputs_->wait_alone(std::min(deadline_seconds_, parting_seconds))) {
    base::log(base::LogLevel::error, "{}", text);
  }
  if (is_broken && any_is_open(*pool_)) return drain_->end_without_ranks("the ranks could not close the session together");
  const bool are_containers_left = !ByteOutput::finish_all_within(*this, std::min(deadline_seconds_, parting_seconds));
  outputs_->fail_open(why);   // the thread tells of it
  ByteOutput::fail_open(*this, why);
  recorder_->ring_the_drain();
  if (!are_containers_left && !outputs_->any_incomplete()) return;
  drain_->end_without_ranks("the session was left before all nodes had done their part");
}

void Core::leave_nodes() noexcept {
  if (!exchange_) return;
  if (outputs_) outputs_->set_exchange(nullptr);
  transfers_are_left_ = exchange_->exchange().waits_for_calls() && exchange_->exchange().is_moving();
  exchange_.reset();
}

void Core::restrict_to_what_several_nodes_can(base::OutputSettings& settings, const std::string& path) const {
  if (!nodes_ || (job_nodes().count() == 1 && stagers_ == 0) || !base::captures(settings.mode)) return;
  // Nodes run out of room at different times, and would each have other steps.
  if (settings.full == base::WhenFull::drop) {
    if (rank_ == 0) {
      base::log(base::LogLevel::warning, "'{}': puts wait when a pool is full: an output that several nodes write drops no steps", path);
    }
    settings.full = base::WhenFull::block;
  }
  if (settings.checksums && parts_.count > 1) {
    if (rank_ == 0) base::log(base::LogLevel::warning, "'{}': no checksums are recorded where an output becomes several files", path);
    settings.checksums = false;
  }
}

void Core::move_data() {
  if (exchange_) exchange_->move_blocks_on();
}

void Core::open_on_this_node(pool::OutputKey key) {
  if (!drain_ || !drain_->adopt_now()) wait_for_drain_to_open(key);
  const pool::OutputSlot& slot = pool_->slot(key.slot);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  if (error == 0) return;
  const auto code = static_cast<base::Errc>(error - 1);
  if (job_nodes().count() == 1) throw base::Error(code, pool::message_of(slot));
  throw base::Error(code,
                    fmt::format("node {} (rank {}): {}", job_nodes().self(), rank_, pool::message_of(slot)),
                    "all nodes have to see the same directory");
}

void Core::share(std::uint64_t job_output, pool::OutputKey key) {
  pool_->slot(key.slot).nodes.job_output.store(job_output, std::memory_order_release);
  pool::futex_signal(pool_->header().progress);   // the thread that exchanges messages with the other nodes sleeps on it
}

std::vector<std::byte> Core::description_from_root(const std::vector<std::byte>& of_root) {
  std::vector<std::byte> bytes = of_root;
  std::uint64_t size = bytes.size();
  broadcast(nodes_->aggregators(), 0, &size, sizeof size);
  bytes.resize(size);
  if (size != 0) broadcast(nodes_->aggregators(), 0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace glean::session
