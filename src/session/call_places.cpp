// SPDX-License-Identifier: BSD-3-Clause
#include "session/call_places.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "session/agreement.hpp"

namespace glean::session {
namespace {

class PlacesInPool final : public CallPlaces {
 public:
  explicit PlacesInPool(pool::Pool& pool) : pool_(pool) {}
  [[nodiscard]] int ranks() const override { return static_cast<int>(pool_.header().ranks); }
  [[nodiscard]] bool spans_nodes() const override { return pool_.is_shared(); }
  [[nodiscard]] int job_rank(int rank) const override { return pool_.job_rank(rank); }
  [[nodiscard]] pool::RankCall& of_rank(int rank) const override { return pool_.rank_call(rank); }
  [[nodiscard]] pool::SessionCalls& of_session() const override { return pool_.header().session_calls; }
  [[nodiscard]] std::uint64_t progress() const override {
    const pool::PoolHeader& header = pool_.header();
    return header.written_bytes.load(std::memory_order_relaxed) + header.job_written_bytes.load(std::memory_order_relaxed);
  }

 private:
  pool::Pool& pool_;
};

class PlacesOfTheirOwn final : public CallPlaces {
 public:
  struct alignas(64) Place {
    pool::RankCall call;
    pool::Atomic<std::uint32_t> job_rank;
  };

  // Makes the memory, or maps what another rank has made. Throws where that cannot be.
  PlacesOfTheirOwn(const char* name, bool makes, int ranks, bool spans_nodes) : ranks_(ranks), spans_nodes_(spans_nodes) {
    const int descriptor = shm_open(name, O_RDWR | O_CLOEXEC | (makes ? O_CREAT | O_EXCL : 0), 0600);
    if (descriptor < 0) throw base::system_error(errno, "cannot make shared memory");
    const int error = makes && ftruncate(descriptor, static_cast<off_t>(bytes())) != 0 ? errno : 0;
    memory_ = error != 0 ? MAP_FAILED : mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory_ == MAP_FAILED) throw base::system_error(error != 0 ? error : errno, "cannot map shared memory");
  }
  ~PlacesOfTheirOwn() override { munmap(memory_, bytes()); }
  PlacesOfTheirOwn(const PlacesOfTheirOwn&) = delete;
  PlacesOfTheirOwn& operator=(const PlacesOfTheirOwn&) = delete;

  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bool spans_nodes() const override { return spans_nodes_; }
  [[nodiscard]] int job_rank(int rank) const override { return static_cast<int>(place(rank).job_rank.load(std::memory_order_relaxed)); }
  [[nodiscard]] pool::RankCall& of_rank(int rank) const override { return place(rank).call; }
  [[nodiscard]] pool::SessionCalls& of_session() const override { return *static_cast<pool::SessionCalls*>(memory_); }
  [[nodiscard]] std::uint64_t progress() const override { return 0; }
  [[nodiscard]] Place& place(int rank) const {
    return reinterpret_cast<Place*>(static_cast<std::byte*>(memory_) + places_offset)[rank];
  }

 private:
  static constexpr std::size_t places_offset = (sizeof(pool::SessionCalls) + 63) / 64 * 64;
  [[nodiscard]] std::size_t bytes() const { return places_offset + static_cast<std::size_t>(ranks_) * sizeof(Place); }

  int ranks_;
  bool spans_nodes_;
  void* memory_ = MAP_FAILED;
};

}  // namespace

std::unique_ptr<CallPlaces> call_places_in(pool::Pool& pool) { return std::make_unique<PlacesInPool>(pool); }

std::unique_ptr<CallPlaces> make_call_places(const Nodes& nodes, int job_rank) {
  struct Name {
    char text[64];
  };
  std::unique_ptr<PlacesOfTheirOwn> places;
  Name name{};
  const auto make = [&](bool makes) {
    places = std::make_unique<PlacesOfTheirOwn>(name.text, makes, nodes.ranks(), nodes.count() > 1);
    places->place(nodes.rank()).job_rank = static_cast<std::uint32_t>(job_rank);
    places->of_rank(nodes.rank()).since_ns = base::now_ns();
  };
  const auto failed = caught([&] {
    name = on_root<Name>(nodes.comm(), [&](Name& value) {
      fmt::format("/glean-calls.{}.{}.{}", getuid(), getpid(), base::now_ns()).copy(name.text, sizeof name.text - 1);
      make(true);
      value = name;
    });
    if (!nodes.is_aggregator()) make(false);
  });
  const auto of_any = caught([&] { agree(nodes.comm(), failed); });
  if (nodes.is_aggregator()) shm_unlink(name.text);   // all have it
  if (!of_any) return places;
  base::log(base::LogLevel::info, "ranks that do not come to a collective call cannot be named: {}", of_any->what());
  return nullptr;
}

}  // namespace glean::session
