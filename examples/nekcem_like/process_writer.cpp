// SPDX-License-Identifier: BSD-3-Clause
//
// 1PFPP: every rank writes a file of its own.

#include "posix_file.hpp"
#include "writer.hpp"

namespace nekcem {

namespace {

class ProcessWriter final : public Writer {
 public:
  ProcessWriter(MPI_Comm comm, const WriterSettings& settings) : settings_(settings) { MPI_Comm_rank(comm, &rank_); }

  void write(const Snapshot& snapshot) override {
    const Range& run = snapshot.mesh.mine();
    settings_.files = static_cast<int>(snapshot.mesh.runs().size());
    if (rank_ == 0) write_meta_file(settings_, snapshot.number, snapshot.mesh.runs());
    if (run.size() == 0) return;
    const VtkFile file(snapshot, run);
    const VtkFile::Part whole = file.part(run, VtkFile::Texts::all);
    buffer_.resize(static_cast<std::size_t>(whole.bytes));
    file.encode(snapshot, whole, buffer_);
    const double begin = now();
    const std::string path = settings_.directory + "/" + file_name(settings_.way, settings_.files, snapshot.number, rank_);
    PosixFile(path, file.bytes()).write(whole.extents, buffer_).close(settings_.durability);
    times_.push_back({snapshot.number, begin, now()});
  }
  void finish() override {}
  [[nodiscard]] const std::vector<FileTime>& file_times() const override { return times_; }

 private:
  WriterSettings settings_;
  int rank_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<FileTime> times_;
};

}  // namespace

std::unique_ptr<Writer> make_process_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<ProcessWriter>(comm, settings);
}

}  // namespace nekcem
