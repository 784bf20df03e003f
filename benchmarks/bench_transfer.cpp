// SPDX-License-Identifier: BSD-3-Clause
//
// How a parcel should go from the pool of one node to that of another: two-sided, a head that announces it and a body that is
// received where there is room, or one-sided, put into memory that the other node has given away before, and a message that says so.
// Rank 0 sends, the last rank receives; both answer each piece with a receipt, and so many are in flight.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "measure.hpp"

using namespace glean::benchmarks;

namespace {

constexpr int in_flight = 16;   // as nodes::Exchange has
constexpr std::size_t head_bytes = 256;
constexpr int head_tag = 0, body_tag = 1, receipt_tag = 2;

struct Run {
  int peer;
  std::size_t piece_bytes;
  int pieces;
  std::byte* memory;   // in_flight pieces
};

std::byte* slot(const Run& run, int piece) { return run.memory + static_cast<std::size_t>(piece % in_flight) * run.piece_bytes; }

void take_receipt(const Run& run) { MPI_Recv(nullptr, 0, MPI_BYTE, run.peer, receipt_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

void send_two_sided(const Run& run) {
  std::vector<std::byte> head(head_bytes);
  std::vector<MPI_Request> requests(2 * in_flight, MPI_REQUEST_NULL);
  for (int piece = 0; piece < run.pieces; ++piece) {
    MPI_Request* mine = &requests[static_cast<std::size_t>(2 * (piece % in_flight))];
    if (piece >= in_flight) {
      take_receipt(run);
      MPI_Waitall(2, mine, MPI_STATUSES_IGNORE);
    }
    MPI_Isend(head.data(), head_bytes, MPI_BYTE, run.peer, head_tag, MPI_COMM_WORLD, &mine[0]);
    MPI_Isend(slot(run, piece), static_cast<int>(run.piece_bytes), MPI_BYTE, run.peer, body_tag, MPI_COMM_WORLD, &mine[1]);
  }
  for (int piece = 0; piece < std::min(run.pieces, in_flight); ++piece) take_receipt(run);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void receive_two_sided(const Run& run) {
  std::vector<std::byte> head(head_bytes);
  for (int piece = 0; piece < run.pieces; ++piece) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(run.peer, head_tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(head.data(), head_bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Recv(slot(run, piece), static_cast<int>(run.piece_bytes), MPI_BYTE, run.peer, body_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(nullptr, 0, MPI_BYTE, run.peer, receipt_tag, MPI_COMM_WORLD);
  }
}

// What is put must have arrived before it is said so: a flush for each.
void send_one_sided(const Run& run, MPI_Win window) {
  std::vector<std::byte> head(head_bytes);
  for (int piece = 0; piece < run.pieces; ++piece) {
    if (piece >= in_flight) take_receipt(run);
    const int bytes = static_cast<int>(run.piece_bytes);
    const MPI_Aint place = slot(run, piece) - run.memory;
    MPI_Put(slot(run, piece), bytes, MPI_BYTE, run.peer, place, bytes, MPI_BYTE, window);
    MPI_Win_flush(run.peer, window);
    MPI_Send(head.data(), head_bytes, MPI_BYTE, run.peer, head_tag, MPI_COMM_WORLD);
  }
  for (int piece = 0; piece < std::min(run.pieces, in_flight); ++piece) take_receipt(run);
}

void receive_one_sided(const Run& run) {
  std::vector<std::byte> head(head_bytes);
  for (int piece = 0; piece < run.pieces; ++piece) {
    MPI_Recv(head.data(), head_bytes, MPI_BYTE, run.peer, head_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(nullptr, 0, MPI_BYTE, run.peer, receipt_tag, MPI_COMM_WORLD);
  }
}

double seconds_of(const Ranks& ranks, const Run& run, MPI_Win window, bool one_sided) {
  ranks.start_line();
  const double begin = now_seconds();
  if (ranks.root()) {
    if (one_sided) send_one_sided(run, window);
    else send_two_sided(run);
  } else if (ranks.rank() == ranks.count() - 1) {
    if (one_sided) receive_one_sided(run);
    else receive_two_sided(run);
  }
  return ranks.max(now_seconds() - begin);
}

int run(int argc, char** argv) {
  std::string directory = ".", json_file;
  int repetitions = 5;
  bool quick = false;
  CommandLine line("Parcels between two nodes, two-sided and one-sided");
  line.option("--directory", directory, "not used");
  line.option("--json", json_file, "write the result here, not to standard output");
  line.positive("--repetitions", repetitions);
  line.flag("--quick", quick, "few pieces; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    Json results = Json::array();
    for (const std::size_t piece_bytes : {std::size_t{64 * KiB}, std::size_t{MiB}}) {
      std::byte* memory = nullptr;
      MPI_Win window = MPI_WIN_NULL;
      const std::size_t all = in_flight * piece_bytes;
      MPI_Win_allocate(static_cast<MPI_Aint>(all), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
      std::memset(memory, ranks.rank(), all);
      MPI_Win_lock_all(0, window);
      const Run transfer{ranks.root() ? ranks.count() - 1 : 0, piece_bytes, static_cast<int>((quick ? 2 : 64) * MiB / piece_bytes), memory};
      std::vector<double> two_sided, one_sided;
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        two_sided.push_back(seconds_of(ranks, transfer, window, false));
        one_sided.push_back(seconds_of(ranks, transfer, window, true));
      }
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
      const double bytes = static_cast<double>(piece_bytes) * transfer.pieces;
      results.push_back({{"piece_bytes", piece_bytes},
                         {"pieces", transfer.pieces},
                         {"two_sided_mb_per_s", bytes / median(two_sided) * 1e-6},
                         {"one_sided_mb_per_s", bytes / median(one_sided) * 1e-6},
                         {"one_sided_to_two_sided", median(two_sided) / median(one_sided)}});
    }
    if (!ranks.root()) return 0;
    write_json({{"benchmark", "transfer"},
                {"recipe", recipe(ranks, directory, repetitions)},
                {"quick", quick},
                {"statement", "medians; rank 0 to the last rank, 16 pieces in flight, each with a receipt"},
                {"results", results}},
               json_file);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
