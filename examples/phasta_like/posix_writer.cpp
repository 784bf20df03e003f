// SPDX-License-Identifier: BSD-3-Clause
//
// PHASTA's own way: two files for every part, which its rank writes alone, and a meta file for readers.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "phasta_file.hpp"
#include "writer.hpp"

namespace phasta {

namespace {

void write_file(const std::string& path, const std::string& bytes, Durability durability) {
  const auto fail = [&](const char* what) { throw std::runtime_error(what + path + ": " + std::strerror(errno)); };
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);
  if (file < 0) fail("cannot create ");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno != EINTR) fail("cannot write ");   // the program ends
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  if (durability == Durability::fsync && fsync(file) != 0) fail("cannot fsync ");
  if (close(file) != 0) fail("cannot close ");
}

class PosixWriter final : public Writer {
 public:
  PosixWriter(MPI_Comm comm, const WriterSettings& settings)
      : comm_(comm), directory_(settings.directory), durability_(settings.durability) {
    MPI_Comm_rank(comm, &rank_);
  }

  void write(const Snapshot& snapshot) override {
    // Parts are numbered among the ranks that have cells: a reader wants none that is empty.
    const int mine = snapshot.part.cells.empty() ? 0 : 1;
    int part = 0, parts = 0;
    MPI_Scan(&mine, &part, 1, MPI_INT, MPI_SUM, comm_);
    MPI_Allreduce(&mine, &parts, 1, MPI_INT, MPI_SUM, comm_);
    if (mine != 0) {
      write_file(directory_ + "/" + geometry_name(snapshot.step, part), geometry_bytes(snapshot.part), durability_);
      write_file(directory_ + "/" + restart_name(snapshot.step, part), restart_bytes(snapshot.solution, snapshot.step), durability_);
    }
    // A reader that finds the meta file finds its parts.
    MPI_Barrier(comm_);
    if (rank_ == 0) write_file(directory_ + "/" + meta_name(snapshot.step), meta_text(parts, snapshot.step, snapshot.time), durability_);
  }
  void finish() override {}

 private:
  MPI_Comm comm_;
  std::string directory_;
  Durability durability_;
  int rank_ = 0;
};

}  // namespace

std::unique_ptr<Writer> make_posix_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<PosixWriter>(comm, settings);
}

}  // namespace phasta
