// SPDX-License-Identifier: BSD-3-Clause
//
// The pointer that all ranks of a file share (pool/shared_position.hpp).
#include <cstdint>

#include "captured_file.hpp"

namespace glean::mpiio {

void CapturedFile::set_shared(MPI_Offset position) {
  shared_set_ = (shared_set_ + 1) & 0xffff;
  shared_start_ = static_cast<std::uint64_t>(position);
}

MPI_Offset CapturedFile::take_shared(MPI_Offset etypes) {
  const pool::SharedMove move{shared_set_, shared_start_, static_cast<std::uint64_t>(etypes)};
  const std::uint64_t position =
      ranks_ == 1 ? pool::move_shared(own_shared_word_, move) : locked([&] { return output().move_shared(move); });
  if (position == pool::no_position) fail(MPI_ERR_ARG);
  return static_cast<MPI_Offset>(position);
}

MPI_Offset CapturedFile::shared_position() { return take_shared(0); }

MPI_Offset CapturedFile::etypes_of(MPI_Count count, MPI_Datatype datatype) const {
  if (count < 0 || datatype == MPI_DATATYPE_NULL) return 0;   // what follows refuses it
  return static_cast<MPI_Offset>(bytes_of(count, datatype) / view_.etype_bytes);
}

MPI_Offset CapturedFile::take_ordered(MPI_Offset etypes) {
  // The last rank knows how many all have.
  MPI_Offset before = 0;
  PMPI_Exscan(&etypes, &before, 1, MPI_OFFSET, MPI_SUM, comm_);
  if (rank_ == 0) before = 0;
  return before + from(ranks_ - 1, [&] { return take_shared(before + etypes); });
}

void CapturedFile::seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
  if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END) answer_is(PMPI_File_seek(fh, offset, whence));
  static_cast<void>(Session::barrier(comm_));   // what others have moved it by counts
  const MPI_Offset position = from(0, [&] {
    if (whence == MPI_SEEK_CUR) return offset + shared_position();
    return whence == MPI_SEEK_END ? offset_from_end(offset) : offset;
  });
  if (position < 0) answer_is(PMPI_File_seek(fh, position, MPI_SEEK_SET));
  set_shared(position);
}

void CapturedFile::get_position_shared(MPI_File, MPI_Offset* offset) { *offset = shared_position(); }

}  // namespace glean::mpiio
