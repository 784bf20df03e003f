// SPDX-License-Identifier: BSD-3-Clause
//
// What a session does besides where it spans several nodes.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/units.hpp"
#include "drain/trace_json.hpp"
#include "pool/futex.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/core.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t still_ns = 200'000;   // nothing has moved for so long: the others are busy
constexpr std::uint64_t moving_ns = 100'000'000;
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
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  is_root_ = rank == 0;
}

void Core::join_nodes() {
  if (program_ == Program::unmodified) {
    agree(comm_, caught([&] {
      if (nodes_->leads()) exchange_thread_ = std::make_unique<ExchangeThread>(*pool_, drain_->engine(), *nodes_, deadline_seconds_);
    }));
    return;
  }
  if (!nodes_->leads()) return;
  messages_ = transport::make_mpi_messages(nodes_->leaders());
  exchange_ = std::make_unique<nodes::Exchange>(*pool_, drain_->engine(), *messages_);
  outputs_->set_exchange(exchange_.get());
}

// Everybody knows what has become of every output. Throws what keeps this node from that, where `glean recover` can go on. `failed`:
// that has been found already.
void Core::finish_exchange(const std::optional<base::Error>& failed) {
  if (exchange_thread_) {
    const auto late = failed ? failed : caught([&] {
      wait_until(*this, [&] { return !exchange_thread_->holds_any(); }, "the end of the session");
      if (any_is_open(*pool_)) throw base::Error(base::Errc::io, "other nodes cannot be reached any more");
    });
    exchange_thread_->let_others_end();
    agree(nodes_->leaders(), std::nullopt);
    if (late) throw base::Error(*late);
    return;
  }
  if (!exchange_) {
    if (failed) throw base::Error(*failed);
    return;
  }
  for (std::uint64_t now = base::now_ns(), moved = now; exchange_->holds_any(); now = base::now_ns()) {
    if (exchange_->progress()) {
      moved = now;
    } else if (base::seconds(now - moved) < deadline_seconds_) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(still_ns));   // the drain, or another rank, may need the core
    } else {
      const std::string who = exchange_->diagnose();
      base::log(base::LogLevel::error, "closing the session: nothing has come from other nodes for {}: {}",
                base::exact_seconds(deadline_seconds_), who.empty() ? "not every node knows what became of all outputs" : who);
      break;
    }
  }
  agree(nodes_->leaders(), std::nullopt);
}

// On the root; the others get their own. Collective over the leaders.
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
  gather_bytes(nodes.leaders(), &size, sizes.data(), sizeof size);
  if (rank_ != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, 0, 0, nodes.leaders());
    return all;
  }
  std::vector<bool> has_part(static_cast<std::size_t>(parts_.count));
  has_part[static_cast<std::size_t>(parts_.self)] = true;
  for (int node = 1; node < nodes.count(); ++node) {   // one after the other: how many they are takes no memory
    const Size& of_node = sizes[static_cast<std::size_t>(node)];
    std::string text(of_node.bytes, '\0');
    MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_BYTE, node, 0, nodes.leaders(), MPI_STATUS_IGNORE);
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
  if (exchange_thread_) {
    const auto late = caught([&] { ByteOutput::finish_all(*this); });
    if (late) return drain_->end_without_ranks(late->what());
    if (!open_and_kept(*pool_).empty()) return drain_->end_without_ranks("files were open when the program ended");
    ByteOutput::fail_open(*this, fmt::format("rank {} has left the session before the output was complete", rank_));
    return;
  }
  if (!exchange_) return;
  const bool is_broken = collective_->is_broken();
  if (!is_broken && outputs_->has_lost_a_rank()) return drain_->end_without_ranks("a rank has ended without closing its outputs");
  if (!mpi_runs()) {
    if (exchange_->holds_any()) drain_->end_without_ranks("MPI was finalized before the session was closed");
    return;
  }
  for (const std::string& text : outputs_->wait_alone(std::min(deadline_seconds_, parting_seconds))) {
    base::log(base::LogLevel::error, "{}", text);
  }
  if (is_broken && any_is_open(*pool_)) return drain_->end_without_ranks("the ranks could not close the session together");
  outputs_->fail_open(fmt::format("rank {} has left the session before the output was complete", rank_));
  move_data();   // tells of it
  if (outputs_->any_incomplete()) drain_->end_without_ranks("the session was left before all nodes had done their part");
}

void Core::leave_nodes() noexcept {
  exchange_thread_.reset();
  if (!exchange_) return;
  transfers_are_left_ = exchange_->is_moving();
  if (outputs_) outputs_->set_exchange(nullptr);
  exchange_.reset();
  messages_.reset();
}

void Core::restrict_to_what_several_nodes_can(base::OutputSettings& settings, const std::string& path) const {
  if (!nodes_ || job_nodes().count() == 1 || !base::captures(settings.mode)) return;
  // Several files would each have other steps.
  if (settings.full == base::WhenFull::drop && parts_.count > 1) {
    if (rank_ == 0) {
      base::log(base::LogLevel::warning, "'{}': puts wait when a pool is full: an output of several files drops no steps", path);
    }
    settings.full = base::WhenFull::block;
  }
  if (settings.checksums && parts_.count > 1) {
    if (rank_ == 0) base::log(base::LogLevel::warning, "'{}': no checksums are recorded where an output becomes several files", path);
    settings.checksums = false;
  }
}

// Not for longer than `moving_ns`: other nodes may send as long as they put, and this one's program would stand still for it.
// What does not come now comes in a later call.
void Core::move_data() {
  if (!exchange_) return;
  const std::uint64_t begin = base::now_ns();
  for (std::uint64_t now = begin, moved = now; now - moved < still_ns && now - begin < moving_ns; now = base::now_ns()) {
    if (exchange_->progress()) moved = now;
  }
}

void Core::open_on_this_node(pool::OutputKey key) {
  if (exchange_) drain_->engine().adopt_now();
  else wait_for_writer_to_open(key);
  const pool::OutputSlot& slot = pool_->slot(key.slot);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  if (error == 0) return;
  throw base::Error(static_cast<base::Errc>(error - 1),
                    fmt::format("node {} (rank {}): {}", job_nodes().self(), rank_, pool::message_of(slot)),
                    "all nodes have to see the same directory");
}

void Core::share(std::uint64_t job_output, pool::OutputKey key) {
  pool_->slot(key.slot).job_output.store(job_output, std::memory_order_release);
  if (exchange_) exchange_->progress();
  else pool::futex_signal(pool_->header().progress);   // the writer sleeps on it
}

std::vector<std::byte> Core::description_from_root(const std::vector<std::byte>& of_root) {
  std::vector<std::byte> bytes = of_root;
  std::uint64_t size = bytes.size();
  broadcast(nodes_->leaders(), 0, &size, sizeof size);
  bytes.resize(size);
  if (size != 0) broadcast(nodes_->leaders(), 0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace glean::session
