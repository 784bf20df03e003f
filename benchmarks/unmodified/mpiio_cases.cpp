// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "unmodified/cases.hpp"

namespace glean::benchmarks {
namespace {

enum class Access { write, write_and_read, write_reopen_and_read, read };

struct Shape {
  Access access;
  bool collective;
  bool strided;
  std::uint64_t transfer_bytes;
  int transfers;   // of each rank
};

// The calls by the names that are interposed, and by those that are not.
struct Calls {
  decltype(&MPI_File_open) open;
  decltype(&MPI_File_close) close;
  decltype(&MPI_File_read_at) read_at, read_at_all;
  decltype(&MPI_File_write_at) write_at, write_at_all;
};
constexpr Calls plain{MPI_File_open, MPI_File_close, MPI_File_read_at, MPI_File_read_at_all, MPI_File_write_at, MPI_File_write_at_all};
constexpr Calls profiled{PMPI_File_open, PMPI_File_close, PMPI_File_read_at, PMPI_File_read_at_all, PMPI_File_write_at,
                         PMPI_File_write_at_all};

void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(text);
}

MPI_Offset place(const Shape& shape, int rank, int ranks, int transfer) {
  const int index = shape.strided ? transfer * ranks + rank : rank * shape.transfers + transfer;
  return index * static_cast<MPI_Offset>(shape.transfer_bytes);
}

void transfer_all(const Calls& calls, const Shape& shape, const Ranks& ranks, const std::string& path, std::vector<char>& buffer) {
  const int count = static_cast<int>(shape.transfer_bytes);
  const int mode = shape.access == Access::read             ? MPI_MODE_RDONLY
                   : shape.access == Access::write_and_read ? MPI_MODE_CREATE | MPI_MODE_RDWR
                                                            : MPI_MODE_CREATE | MPI_MODE_WRONLY;
  MPI_File file = MPI_FILE_NULL;
  check(calls.open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file));
  const auto all_transfers = [&](auto transfer) {
    for (int i = 0; i < shape.transfers; ++i) {
      buffer[0] = static_cast<char>('a' + i % 26);
      check(transfer(file, place(shape, ranks.rank(), ranks.count(), i), buffer.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  };
  if (shape.access != Access::read) all_transfers(shape.collective ? calls.write_at_all : calls.write_at);
  if (shape.access == Access::write_reopen_and_read) {
    check(calls.close(&file));
    check(calls.open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  }
  if (shape.access != Access::write) all_transfers(shape.collective ? calls.read_at_all : calls.read_at);
  check(calls.close(&file));
}

const char* name_of(Access access) {
  switch (access) {
    case Access::write: return "write";
    case Access::write_and_read: return "write and read";
    case Access::write_reopen_and_read: return "write, reopen and read";
    case Access::read: return "read";
  }
  return "";
}

std::string size_name(std::uint64_t bytes) {
  return bytes < MiB ? std::to_string(bytes / KiB) + " KiB" : std::to_string(bytes / MiB) + " MiB";
}

}  // namespace

void make_file(const std::string& path, std::uint64_t bytes) {
  std::ofstream file(path, std::ios::binary);
  const std::vector<char> text(MiB, 'r');
  for (std::uint64_t left = bytes; left != 0;) {
    const std::uint64_t part = std::min<std::uint64_t>(left, text.size());
    file.write(text.data(), static_cast<std::streamsize>(part));
    left -= part;
  }
}

std::vector<Case> mpiio_cases(const Ranks& ranks, bool quick) {
  // 32 MiB of small transfers, 256 MiB of others.
  static constexpr std::pair<std::uint64_t, int> sizes[] = {{4 * KiB, 1024}, {64 * KiB, 512}, {MiB, 32}, {8 * MiB, 4}};
  const auto buffer = std::make_shared<std::vector<char>>(sizes[std::size(sizes) - 1].first, 'x');   // fresh memory would cost time
  std::vector<Case> cases;
  for (const Access access : {Access::write, Access::write_and_read, Access::write_reopen_and_read, Access::read}) {
    for (const auto& [bytes, transfers] : sizes) {
      if (access != Access::write && bytes != 4 * KiB && bytes != MiB) continue;
      for (const bool collective : {true, false}) {
        for (const bool strided : {false, true}) {
          const Shape shape{access, collective, strided, quick ? bytes / 64 : bytes, quick ? 4 : transfers};
          Case one;
          one.name = std::string(name_of(access)) + ", " +
                     size_name(bytes) + ", " + (collective ? "collective" : "independent") + ", " + (strided ? "strided" : "segmented");
          one.files = {"mpiio"};
          one.bytes = shape.transfer_bytes * static_cast<std::uint64_t>(shape.transfers * ranks.count());
          const auto with = [shape, &ranks, buffer](const Calls& calls) {
            return [=, &ranks](const std::string& directory) { transfer_all(calls, shape, ranks, directory + "/mpiio", *buffer); };
          };
          one.run = with(plain);
          if (access == Access::read) {
            one.prepare = [total = one.bytes](const std::string& directory) { make_file(directory + "/mpiio", total); };
            one.run_past = with(profiled);
            one.turns = quick ? 1 : bytes == 4 * KiB ? 40 : 5;
          }
          cases.push_back(std::move(one));
        }
      }
    }
  }
  return cases;
}

}  // namespace glean::benchmarks
