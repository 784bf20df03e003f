// SPDX-License-Identifier: BSD-3-Clause
//
// rbIO: the ranks of a group send what they have to their writer and go on. Writers write a file each, or one together: with MPI-IO,
// or, in threaded rbIO, with system calls in a thread, while they go on as well.
#include <array>

#include "mpi_file.hpp"
#include "posix_file.hpp"
#include "write_thread.hpp"
#include "writer.hpp"

namespace nekcem {

namespace {

constexpr int data_tag = 1;

// Where a rank's bytes belong in the buffer of the writer: MPI puts them there as it receives them.
class ReceiveType {
 public:
  explicit ReceiveType(const std::vector<Extent>& pieces) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    for (const Extent& piece : pieces) {
      lengths.push_back(static_cast<int>(piece.bytes));
      places.push_back(static_cast<MPI_Aint>(piece.buffer_offset));
    }
    MPI_Type_create_hindexed(static_cast<int>(pieces.size()), lengths.data(), places.data(), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~ReceiveType() { MPI_Type_free(&type_); }
  ReceiveType(const ReceiveType&) = delete;
  ReceiveType& operator=(const ReceiveType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class ReducedWriter final : public Writer {
 public:
  ReducedWriter(MPI_Comm comm, const WriterSettings& settings);
  ~ReducedWriter() override;
  ReducedWriter(const ReducedWriter&) = delete;
  ReducedWriter& operator=(const ReducedWriter&) = delete;

  void write(const Snapshot& snapshot) override;
  void finish() override;
  [[nodiscard]] const std::vector<FileTime>& file_times() const override { return times_; }

 private:
  // What a writer has gathered: all bytes of its group.
  struct Gathered {
    int number = 0;
    std::string path;
    std::int64_t file_bytes = 0;
    VtkFile::Part part;
    std::vector<std::byte> buffer;
  };
  [[nodiscard]] VtkFile file_of_group(const Snapshot& snapshot) const;
  void send(const Snapshot& snapshot, const VtkFile& file);
  void gather(const Snapshot& snapshot, const VtkFile& file, Gathered& into);
  void write_together(const Gathered& gathered);
  void write_alone(const Gathered& gathered);
  void write_meta(const Snapshot& snapshot) const;

  MPI_Comm comm_;
  WriterSettings settings_;
  Groups groups_;
  int rank_ = 0, group_ = 0;
  bool is_writer_ = false;
  MPI_Comm writers_comm_ = MPI_COMM_NULL;   // that of those who write one file together
  MPI_Request sending_ = MPI_REQUEST_NULL;
  std::vector<std::byte> sent_;
  // One is gathered while one waits and one is written, so the thread has no more than two of them.
  std::array<Gathered, 3> gathered_;
  std::size_t next_ = 0;
  std::vector<FileTime> times_;
  std::unique_ptr<WriteThread> thread_;   // last: its jobs use the others
};

int size_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

ReducedWriter::ReducedWriter(MPI_Comm comm, const WriterSettings& settings)
    : comm_(comm), settings_(settings), groups_(size_of(comm), settings.groups) {
  MPI_Comm_rank(comm, &rank_);
  group_ = groups_.of(rank_);
  is_writer_ = groups_.is_writer(rank_);
  const int color = !is_writer_ ? MPI_UNDEFINED : settings.files == 1 ? 0 : group_;
  MPI_Comm_split(comm, color, rank_, &writers_comm_);
  if (is_writer_ && settings.way == Way::threaded_reduced) thread_ = std::make_unique<WriteThread>();
}

ReducedWriter::~ReducedWriter() {
  thread_.reset();
  if (writers_comm_ != MPI_COMM_NULL) MPI_Comm_free(&writers_comm_);
}

VtkFile ReducedWriter::file_of_group(const Snapshot& snapshot) const {
  const bool one_file = settings_.files == 1;
  return {snapshot, one_file ? Range{0, snapshot.mesh.elements()} : groups_.run(snapshot.mesh.runs(), group_)};
}

void ReducedWriter::write(const Snapshot& snapshot) {
  if (rank_ == 0) write_meta(snapshot);
  const VtkFile file = file_of_group(snapshot);
  if (!is_writer_) {
    send(snapshot, file);
    return;
  }
  Gathered& gathered = gathered_[next_];
  gather(snapshot, file, gathered);
  if (file.run().size() == 0) return;
  if (thread_) {
    next_ = (next_ + 1) % gathered_.size();
    thread_->hand_over([this, &gathered] { write_alone(gathered); });
  } else {
    write_together(gathered);
  }
}

void ReducedWriter::send(const Snapshot& snapshot, const VtkFile& file) {
  MPI_Wait(&sending_, MPI_STATUS_IGNORE);   // the buffer is that of the output before
  if (snapshot.mesh.mine().size() == 0) return;
  const VtkFile::Part mine = file.part(snapshot.mesh.mine(), VtkFile::Texts::none);
  sent_.resize(static_cast<std::size_t>(mine.bytes));
  file.encode(snapshot, mine, sent_);
  MPI_Isend(sent_.data(), static_cast<int>(sent_.size()), MPI_BYTE, groups_.first(group_), data_tag, comm_, &sending_);
}

void ReducedWriter::gather(const Snapshot& snapshot, const VtkFile& file, Gathered& into) {
  const std::vector<Range>& runs = snapshot.mesh.runs();
  const bool has_texts = settings_.files > 1 || rank_ == 0;
  into.number = snapshot.number;
  into.path = settings_.directory + "/" + file_name(settings_.way, settings_.files, snapshot.number, group_);
  into.file_bytes = file.bytes();
  into.part = file.part(groups_.run(runs, group_), has_texts ? VtkFile::Texts::all : VtkFile::Texts::none);
  into.buffer.resize(static_cast<std::size_t>(into.part.bytes));
  std::vector<MPI_Request> receiving;
  for (int rank = rank_ + 1; rank < groups_.first(group_ + 1); ++rank) {
    const Range& theirs = runs[static_cast<std::size_t>(rank)];
    if (theirs.size() == 0) continue;
    const ReceiveType type(file.pieces(into.part, theirs));
    MPI_Irecv(into.buffer.data(), 1, type.get(), rank, data_tag, comm_, &receiving.emplace_back());
  }
  file.encode(snapshot, into.part, into.buffer);
  MPI_Waitall(static_cast<int>(receiving.size()), receiving.data(), MPI_STATUSES_IGNORE);
}

void ReducedWriter::write_together(const Gathered& gathered) {
  const double begin = now();
  MpiFile target(writers_comm_, gathered.path, gathered.file_bytes);
  target.write_all(gathered.part.extents, gathered.buffer);
  target.close(settings_.durability);
  times_.push_back({gathered.number, begin, now()});
}

// In the thread: no MPI.
void ReducedWriter::write_alone(const Gathered& gathered) {
  const double begin = now();
  PosixFile(gathered.path, gathered.file_bytes).write(gathered.part.extents, gathered.buffer).close(settings_.durability);
  times_.push_back({gathered.number, begin, now()});
}

void ReducedWriter::write_meta(const Snapshot& snapshot) const {
  if (settings_.files == 1) return;
  std::vector<Range> of_files;
  for (int group = 0; group < groups_.count(); ++group) of_files.push_back(groups_.run(snapshot.mesh.runs(), group));
  write_meta_file(settings_, snapshot.number, of_files);
}

void ReducedWriter::finish() {
  MPI_Wait(&sending_, MPI_STATUS_IGNORE);
  if (thread_) thread_->finish();
}

}  // namespace

std::unique_ptr<Writer> make_reduced_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<ReducedWriter>(comm, settings);
}

}  // namespace nekcem
