// SPDX-License-Identifier: BSD-3-Clause
//
// A file of MPI-IO that is captured: what the MPI library would keep of it, and what its calls do. One member function for each
// call of the table, by the same name and with the same arguments.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "calls.hpp"
#include "collective_call.hpp"
#include "failure.hpp"
#include "file_comm.hpp"
#include "file_view.hpp"
#include "hints.hpp"
#include "left_open.hpp"
#include "original_file.hpp"
#include "session.hpp"
#include "session/byte_output.hpp"
#include "session/publication.hpp"
#include "stand_in_handle.hpp"

namespace glean::mpiio {

// Of the amode of MPI_File_open, those of which a program names one.
inline constexpr int kinds_of_access = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;

using base::Bytes;

// The output behind a file; several handles of a process on one file share it.
struct Target {
  std::string path;   // absolute
  std::unique_ptr<session::ByteOutput> output;   // none: what was there could not be started over
  std::atomic<int> handles{1};   // open; changed with Session::one_at_a_time
  bool may_be_read = false;   // as soon as it is written
  bool written = false;   // by this rank
  bool aside = false;     // the MPI library takes a handle over, or has; changed with Session::one_at_a_time
  bool is_put_to = false;   // by PnetCDF, whose collective call this is for all that its library calls
  std::shared_ptr<FileComm> comm;   // of the ranks that have opened it together
  int ranks = 0;            // so many, on one node
};

class CapturedFile {
 public:
  struct Opened {
    StandInHandle stand_in;
    std::shared_ptr<FileComm> comm;
    int amode;
    std::shared_ptr<Target> target;
    bool is_first;   // handle on its target
    Hints hints;
  };
  // Local.
  CapturedFile(Session& session, Opened opened);
  ~CapturedFile();
  CapturedFile(const CapturedFile&) = delete;
  CapturedFile& operator=(const CapturedFile&) = delete;

#define GLEAN_COUNT MPI_Count
#define GLEAN_EXTENT MPI_Aint
#define GLEAN_MPIIO_MEMBER(name, parameters, ...) void name parameters;
  GLEAN_MPIIO_CALLS(GLEAN_MPIIO_MEMBER)
#undef GLEAN_MPIIO_MEMBER
#undef GLEAN_COUNT
#undef GLEAN_EXTENT
#if MPI_VERSION >= 4
  void get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent);   // MPI_Count may be MPI_Aint
#endif

  // For MPI_MODE_APPEND: both pointers to the end. Collective.
  void move_to_end();
  // As MPI_File_close does, but for the program's handle. Collective.
  void close();
  // What can be done of that without the other ranks; returns the class of what has failed. Local.
  int close_alone();
  // Closes it for a program that ends MPI and has not closed it; also what tells later whether the file is there. Local.
  LeftOpen close_at_the_end();
  // What all ranks know of it one of them says.
  [[nodiscard]] bool is_told_here() const;

  // The handle of the MPI library that has taken over for good; MPI_FILE_NULL as long as calls are captured.
  [[nodiscard]] MPI_File stepped_aside() const { return aside_.handle(); }
  // That handle was. Local.
  void was_synchronized_aside();
  [[nodiscard]] const std::string& path() const { return target_->path; }
  [[nodiscard]] MPI_File stand_in() const { return stand_in_.file(); }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] std::atomic<std::uint64_t>& blocked_ns() { return blocked_ns_; }   // in calls on this handle

 private:
  // Until it is published; returns the class of what has failed, the same on all ranks. Collective, blocks.
  int wait_for(session::Publication& publication);
  struct View {
    std::optional<FileView> places;   // none where the MPI library has to write
    Bytes etype_bytes = 1;
    std::uint64_t version = 0;        // how many there were before: the same on all ranks
  };

  [[nodiscard]] session::ByteOutput& output() {
    if (!target_->output) fail(MPI_ERR_IO);
    return *target_->output;
  }
  [[nodiscard]] CollectiveCall collective(CollectiveCall::Kind kind);
  // Runs a call of the output. Its errors are error codes then.
  template <class Action>
  auto locked(Action action) {
    const std::lock_guard lock(session_.one_at_a_time());
    try {
      return action();
    } catch (const base::Error& error) {
      fail(said(error));
    }
  }
  // Says what went wrong, and returns its class.
  int said(const base::Error& error) const;
  // Fails on all ranks if it failed on any, here or in the background. Collective, waits for all.
  void agree(std::optional<base::Error> mine);
  // What that rank finds; fails on all ranks if it fails there. Collective, one broadcast.
  template <class Find>
  MPI_Offset from(int root, Find find) {
    MPI_Offset told[2] = {0, MPI_SUCCESS};
    if (rank_ == root) {
      try {
        told[0] = find();
      } catch (const CallFailed& failed) {
        told[1] = failed.code;
      }
    }
    PMPI_Bcast(told, 2, MPI_OFFSET, root, comm_);
    if (told[1] != MPI_SUCCESS) fail(static_cast<int>(told[1]));
    return told[0];
  }
  void start_over();
  enum class Resize { any, longer };
  // Of one that the stagers make. Collective.
  void resize_at_stagers(Bytes size, Resize how);
  void step_aside();

  // capture.cpp: from an etype of the view on. Returns the bytes. Local.
  Bytes capture(MPI_Offset at, const void* buf, MPI_Count count, MPI_Datatype datatype);
  [[nodiscard]] static Bytes bytes_of(MPI_Count count, MPI_Datatype datatype);
  Bytes capture_at_pointer(const void* buf, MPI_Count count, MPI_Datatype datatype);
  Bytes write_as_it_was(MPI_Offset at, const void* buf, MPI_Count count, MPI_Datatype datatype);
  void check_no_split() const;
  void begin_split(Bytes bytes);
  void end_split(MPI_Status* status);

  [[nodiscard]] MPI_Offset offset_from_end(MPI_Offset offset);   // in etypes

  // ByteOutput::wait_for_ranks(); its errors are error codes.
  std::uint32_t wait_for_ranks();
  // What is captured is in the file then. Throws what has failed. Local.
  void flush();
  // Flushes after each write where others have the file open, too.
  void settle();
  // reading.cpp: counts what readers wait.
  void flush_to_read();
  // The file as the MPI library sees it, with everything in it that was captured.
  MPI_File original();
  // The library's handle after flush_to_read(). Waits for no rank.
  MPI_File flushed_original();
  void check_readable() const;
  // The MPI library can open it: the stagers do not make it. Fails otherwise, and says why.
  void check_is_here() const;
  template <class Operation>
  void at_offset(Operation operation);
  template <class Operation>
  void at_pointer(Operation operation);

  // shared_pointer.cpp
  [[nodiscard]] MPI_Offset etypes_of(MPI_Count count, MPI_Datatype datatype) const;
  MPI_Offset take_shared(MPI_Offset etypes);      // where they begin
  MPI_Offset take_ordered(MPI_Offset etypes);     // collective
  void set_shared(MPI_Offset position);           // known to all ranks
  [[nodiscard]] MPI_Offset shared_position();

  Session& session_;
  StandInHandle stand_in_;
  std::shared_ptr<FileComm> file_comm_;
  MPI_Comm comm_;   // that
  int rank_ = 0;
  int ranks_ = 1;
  int amode_;
  std::shared_ptr<Target> target_;
  Hints hints_;
  View view_;
  MPI_Offset position_ = 0;   // in etypes
  std::uint64_t shared_set_ = 0;      // how often
  std::uint64_t shared_start_ = 0;
  pool::Atomic<std::uint64_t> own_shared_word_{0};   // of a file that one rank has open
  std::optional<MPI_Status> split_;
  std::mutex pointer_lock_;   // of calls at position_, and of the pointer of alone_
  std::mutex alone_lock_;     // while it is opened or takes a view
  std::atomic<std::uint64_t> blocked_ns_{0};
  std::atomic<std::uint64_t> waited_ns_{0};          // of it, reads for the drain
  std::atomic<std::uint64_t> reads_that_waited_{0};
  std::atomic<Bytes> captured_bytes_{0};
  bool compares_;
  bool is_first_;
  std::atomic<bool> writes_through_{false};          // for the rest, by the MPI library
  OriginalFile alone_, aside_;
};

}  // namespace glean::mpiio
