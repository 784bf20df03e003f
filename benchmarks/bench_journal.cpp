// SPDX-License-Identifier: BSD-3-Clause
//
// What the journal costs a put: what lies in the pool can be recovered because a record with a checksum says what it is.
//
// A put through the pool's Recorder, with its records, beside the bare copy of the same bytes in the same pieces into the
// same chunks of the same pool. Nobody drains meanwhile; between repetitions the records are retired, which is not timed.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "measure.hpp"
#include "capture/copy.hpp"
#include "pool/journal.hpp"

using namespace glean::benchmarks;
namespace pool = glean::pool;

namespace {

constexpr std::uint64_t chunk_bytes = MiB;   // as the plan has it

struct Options {
  std::string directory = "bench-files";
  std::string json;
  int repetitions = 15;
  bool quick = false;
};

struct Case {
  std::uint64_t put_bytes;
  std::uint64_t puts;   // of a rank in one repetition
  [[nodiscard]] std::uint64_t bytes() const { return put_bytes * puts; }
};

// The node's pool. Collective.
std::unique_ptr<pool::Pool> make_pool(const Ranks& ranks, std::uint64_t pool_bytes) {
  char name[64] = "";
  std::unique_ptr<pool::Pool> made;
  if (ranks.root()) {
    glean::plan::NodePlan plan;
    plan.pool_bytes = pool_bytes;
    plan.chunk_bytes = chunk_bytes;
    plan.journal_bytes_per_rank = MiB;
    plan.request_bytes = 8 * MiB;
    std::snprintf(name, sizeof name, "/glean-bench.%d", static_cast<int>(getpid()));
    made = std::make_unique<pool::Pool>(pool::Pool::create(name, plan, ranks.count()));
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!made) made = std::make_unique<pool::Pool>(pool::Pool::attach(name));
  ranks.wait_quietly();
  if (ranks.root()) made->remove();   // it goes with the last process that has it
  static_cast<void>(made->claim_drain());
  made->fault_in(ranks.rank(), ranks.count());
  ranks.wait_quietly();
  made->map_all();
  return made;
}

// As the session cuts a put into pieces: where a chunk ends, and no piece is small.
struct Pieces {
  std::vector<std::uint32_t> chunks;
  std::size_t next = 0;
  std::uint64_t used = chunk_bytes;

  std::uint64_t room(std::uint64_t wanted) {
    if (chunk_bytes - used < std::min(wanted, chunk_bytes / 32)) {
      ++next;
      used = 0;
    }
    return std::min(wanted, chunk_bytes - used);
  }
};

class Contenders {
 public:
  Contenders(pool::Pool& memory, int rank, const Case& size)
      : pool_(memory), rank_(rank), size_(size), values_(size.bytes() / sizeof(double)), box_{{0, 0}, {1, elements()}} {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(i) * 0.5;
    // Any chunk but for the order in which they are used: that of the free stack.
    chunks_needed_ = size.bytes() / chunk_bytes + 2;
  }

  double bare() {
    Pieces pieces;
    for (std::uint64_t i = 0; i < chunks_needed_; ++i) pieces.chunks.push_back(pool_.take_chunk().value());
    const double begin = now_seconds();
    pieces.next = static_cast<std::size_t>(-1);
    for (std::uint64_t put = 0; put < size_.puts; ++put) {
      const glean::capture::Source source = source_of(put);
      for (std::uint64_t done = 0; done < elements();) {
        const std::uint64_t now = pieces.room((elements() - done) * sizeof(double)) / sizeof(double);
        glean::capture::copy_elements(source, done, now, pool_.at(pool_.offset_of_chunk(pieces.chunks[pieces.next]) + pieces.used));
        pieces.used += now * sizeof(double);
        done += now;
      }
    }
    const double seconds = now_seconds() - begin;
    // So that the same chunks come again, in the same order.
    std::for_each(pieces.chunks.rbegin(), pieces.chunks.rend(), [this](std::uint32_t chunk) { pool_.drop_reference(chunk); });
    return seconds;
  }

  double recorded() {
    double seconds = 0;
    {
      pool::Recorder recorder(pool_, rank_, 10, [] { return "nobody drains"; });
      const double begin = now_seconds();
      for (std::uint64_t put = 0; put < size_.puts; ++put) {
        box_.start[0] = put;
        const glean::capture::Source source = source_of(put);
        for (std::uint64_t done = 0; done < elements();) {
          const std::uint64_t wanted = (elements() - done) * sizeof(double);
          const auto room = recorder.reserve(wanted, std::min(wanted, chunk_bytes / 32));
          const std::uint64_t now = room.bytes / sizeof(double);
          glean::capture::copy_elements(source, done, now, room.data);
          recorder.commit_put(room, now * sizeof(double),
                              {{0, 1}, 0, 0, glean::mesh::Type::float64, &box_, done, now});
          done += now;
        }
      }
      seconds = now_seconds() - begin;
    }
    pool::JournalReader reader(pool_, rank_);
    std::vector<const pool::Record*> records;
    while (const pool::Record* record = reader.peek()) {
      records.push_back(record);
      reader.advance();
    }
    std::for_each(records.rbegin(), records.rend(), [&](const pool::Record* record) { reader.retire(*record); });
    return seconds;
  }

 private:
  [[nodiscard]] std::uint64_t elements() const { return size_.put_bytes / sizeof(double); }
  [[nodiscard]] glean::capture::Source source_of(std::uint64_t put) const {
    return {reinterpret_cast<const std::byte*>(values_.data() + put * elements()), sizeof(double), box_.count, {}};
  }

  pool::Pool& pool_;
  int rank_;
  Case size_;
  std::vector<double> values_;
  glean::mesh::Box box_;
  std::uint64_t chunks_needed_ = 0;
};

Json measure(const Ranks& ranks, pool::Pool& memory, const Options& options, const Case& size) {
  Contenders contenders(memory, ranks.rank(), size);
  std::vector<double> bare, recorded, ratios;
  // The first round warms up. Who goes first alternates.
  for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
    double seconds[2] = {};
    for (const int which : {repetition % 2, 1 - repetition % 2}) {
      ranks.start_line();
      seconds[which] = ranks.max(which == 0 ? contenders.bare() : contenders.recorded());
      ranks.start_line();
    }
    if (repetition == 0) continue;
    bare.push_back(seconds[0]);
    recorded.push_back(seconds[1]);
    ratios.push_back(seconds[1] / seconds[0] - 1);
  }
  const auto rate = [&](const std::vector<double>& seconds) {
    return static_cast<double>(size.bytes()) / median(seconds) * 1e-9;
  };
  return {{"bytes_per_put", size.put_bytes},
          {"puts_per_rank", size.puts},
          {"copy_seconds", median(bare)},
          {"put_seconds", median(recorded)},
          {"copy_gb_per_s_rank", rate(bare)},
          {"put_gb_per_s_rank", rate(recorded)},
          {"journal_share", median(recorded) / median(bare) - 1},
          {"journal_share_of_pairs", median(ratios)},
          {"journal_nanoseconds_per_put", (median(recorded) - median(bare)) / static_cast<double>(size.puts) * 1e9}};
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("What the journal costs a put");
  line.option("--directory", options.directory, "not used: nothing is written");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.positive("--repetitions", options.repetitions);
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    const std::uint64_t largest = options.quick ? 256 * KiB : 16 * MiB;
    const std::uint64_t share = (options.quick ? 4 * MiB : 256 * MiB) / static_cast<std::uint64_t>(ranks.count());
    const auto memory = make_pool(ranks, (share + 8 * MiB) * static_cast<std::uint64_t>(ranks.count()) + 8 * MiB);
    Json json = {{"benchmark", "journal"},
                 {"recipe", recipe(ranks, ".", options.repetitions)},
                 {"quick", options.quick},
                 {"statement",
                  "seconds and rates of the slowest rank, medians; copy: the same pieces into the same chunks without "
                  "records; journal_share: what the records add to it, pairs: the median of each round's share"}};
    json["results"] = Json::array();
    for (std::uint64_t bytes = 64 * KiB; bytes <= largest; bytes *= 4) {
      json["results"].push_back(measure(ranks, *memory, options, {bytes, std::max<std::uint64_t>(share / bytes, 1)}));
    }
    if (ranks.root()) write_json(json, options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
