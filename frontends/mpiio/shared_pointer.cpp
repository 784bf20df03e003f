// SPDX-License-Identifier: BSD-3-Clause
//
// The pointer that all ranks of a file share: a word in the pool. Its upper bits say how often the pointer was set by a
// collective call: whoever comes first afterwards starts from there, and no rank waits for another that resets it.
#include <cstdint>

#include "captured_file.hpp"

namespace glean::mpiio {
namespace {

constexpr int position_bits = 48;
constexpr std::uint64_t position_mask = (std::uint64_t{1} << position_bits) - 1;

}  // namespace

std::atomic<std::uint64_t>& CapturedFile::shared_word() {
  return ranks_ == 1 ? own_shared_word_ : output().shared_word();
}

void CapturedFile::set_shared(MPI_Offset position) {
  shared_epoch_ = (shared_epoch_ + 1) & 0xffff;
  shared_start_ = static_cast<std::uint64_t>(position);
}

MPI_Offset CapturedFile::take_shared(MPI_Offset etypes) {
  std::atomic<std::uint64_t>& word = shared_word();
  std::uint64_t seen = word.load();
  for (;;) {
    // Another rank may be further on, which has set it already.
    const auto ahead = static_cast<std::int16_t>(static_cast<std::uint16_t>((seen >> position_bits) - shared_epoch_));
    const std::uint64_t epoch = ahead < 0 ? shared_epoch_ : seen >> position_bits;
    const std::uint64_t position = ahead < 0 ? shared_start_ : seen & position_mask;
    const std::uint64_t next = position + static_cast<std::uint64_t>(etypes);
    if (next > position_mask) fail(MPI_ERR_ARG);
    if (word.compare_exchange_weak(seen, (epoch << position_bits) | next)) return static_cast<MPI_Offset>(position);
  }
}

MPI_Offset CapturedFile::shared_position() { return take_shared(0); }

MPI_Offset CapturedFile::etypes_of(MPI_Count count, MPI_Datatype datatype) const {
  if (count < 0 || datatype == MPI_DATATYPE_NULL) return 0;   // what follows refuses it
  return static_cast<MPI_Offset>(bytes_of(count, datatype) / view_.etype_bytes);
}

MPI_Offset CapturedFile::take_ordered(MPI_Offset etypes) {
  // The last rank knows how many all have.
  MPI_Offset before = 0, begin = 0;
  PMPI_Exscan(&etypes, &before, 1, MPI_OFFSET, MPI_SUM, comm_);
  if (rank_ == 0) before = 0;
  if (rank_ == ranks_ - 1) begin = take_shared(before + etypes);
  PMPI_Bcast(&begin, 1, MPI_OFFSET, ranks_ - 1, comm_);
  return begin + before;
}

void CapturedFile::seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
  if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END) answer_is(PMPI_File_seek(fh, offset, whence));
  PMPI_Barrier(comm_);   // what others have moved it by counts
  MPI_Offset of_root[2] = {offset, MPI_SUCCESS};
  if (rank_ == 0) {
    try {
      if (whence == MPI_SEEK_CUR) of_root[0] += shared_position();
      if (whence == MPI_SEEK_END) of_root[0] = offset_from_end(offset);
    } catch (const CallFailed& failed) {
      of_root[1] = failed.code;
    }
  }
  PMPI_Bcast(of_root, 2, MPI_OFFSET, 0, comm_);
  if (of_root[1] != MPI_SUCCESS) fail(static_cast<int>(of_root[1]));
  if (of_root[0] < 0) answer_is(PMPI_File_seek(fh, of_root[0], MPI_SEEK_SET));
  set_shared(of_root[0]);
}

void CapturedFile::get_position_shared(MPI_File, MPI_Offset* offset) { *offset = shared_position(); }

}  // namespace glean::mpiio
