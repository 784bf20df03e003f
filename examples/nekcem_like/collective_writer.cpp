// SPDX-License-Identifier: BSD-3-Clause
//
// coIO: the ranks of a group write one file with collective MPI-IO; with one file, all ranks do.
#include "mpi_file.hpp"
#include "writer.hpp"

namespace nekcem {

namespace {

class CollectiveWriter final : public Writer {
 public:
  CollectiveWriter(MPI_Comm comm, const WriterSettings& settings) : settings_(settings), groups_(ranks_of(comm), settings.files) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_split(comm, groups_.of(rank_), rank_, &group_comm_);
  }
  ~CollectiveWriter() override { MPI_Comm_free(&group_comm_); }
  CollectiveWriter(const CollectiveWriter&) = delete;
  CollectiveWriter& operator=(const CollectiveWriter&) = delete;

  void write(const Snapshot& snapshot) override {
    const std::vector<Range>& runs = snapshot.mesh.runs();
    if (rank_ == 0) {
      std::vector<Range> of_files;
      for (int group = 0; group < groups_.count(); ++group) of_files.push_back(groups_.run(runs, group));
      write_meta_file(settings_, snapshot.number, of_files);
    }
    const int group = groups_.of(rank_);
    const Range run = groups_.run(runs, group);
    if (run.size() == 0) return;
    const VtkFile file(snapshot, run);
    const auto texts = groups_.is_writer(rank_) ? VtkFile::Texts::all : VtkFile::Texts::none;
    const VtkFile::Part mine = file.part(snapshot.mesh.mine(), texts);
    buffer_.resize(static_cast<std::size_t>(mine.bytes));
    file.encode(snapshot, mine, buffer_);
    const double begin = now();
    const std::string path = settings_.directory + "/" + file_name(settings_.way, settings_.files, snapshot.number, group);
    MpiFile target(group_comm_, path, file.bytes());
    target.write_all(mine.extents, buffer_);
    target.close(settings_.durability);
    times_.push_back({snapshot.number, begin, now()});
  }
  void finish() override {}
  [[nodiscard]] const std::vector<FileTime>& file_times() const override { return times_; }

 private:
  static int ranks_of(MPI_Comm comm) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    return ranks;
  }

  WriterSettings settings_;
  Groups groups_;
  int rank_ = 0;
  MPI_Comm group_comm_ = MPI_COMM_NULL;
  std::vector<std::byte> buffer_;
  std::vector<FileTime> times_;
};

}  // namespace

std::unique_ptr<Writer> make_collective_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<CollectiveWriter>(comm, settings);
}

}  // namespace nekcem
