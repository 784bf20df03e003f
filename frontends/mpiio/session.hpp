// SPDX-License-Identifier: BSD-3-Clause
//
// The session of a program that knows nothing of it: from MPI_Init to MPI_Finalize, and the files that are captured meanwhile.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "counters.hpp"
#include "datasets.hpp"
#include "read_back.hpp"
#include "report/report.hpp"
#include "session/core.hpp"

namespace glean::mpiio {

class CapturedFile;
class PassedHandle;
struct Target;

// How long calls on a handle of the MPI library's take.
struct Watched {
  std::string path;
  bool is_written = false;       // not only read
  std::atomic<std::uint64_t> blocked_ns{0};
  std::uint64_t waited_ns = 0;   // of it, for a drain
};

class Session {
 public:
  // When MPI has been initialized, over MPI_COMM_WORLD. Ends by itself in MPI_Finalize. Where there can be none, every call
  // passes through, and why is said once. Does nothing if there is one. Collective.
  static void begin() noexcept;
  // Null where every call passes through: without a session, and in a process that the program has forked.
  [[nodiscard]] static Session* current() noexcept;
  // Before this process ends without MPI_Finalize, at which mpirun ends the others: waits until files that all ranks have closed are
  // there, and what they have captured of others that are written in place is in them; but for no rank, and not for a drain that is gone.
  // Local, any thread, blocks.
  static void wait_for_files() noexcept;
  // The process ends without MPI_Finalize: what all ranks have closed is left complete. Local, blocks.
  static void end_without_mpi() noexcept;
  // What is behind a handle of the program: `captured`, others, or nothing. Valid until the handle is closed. Local, any thread.
  struct Handle {
    std::shared_ptr<CapturedFile> captured;
    std::shared_ptr<Watched> watched;   // calls pass through, and are timed
    std::shared_ptr<PassedHandle> passed{};   // and write
  };
  [[nodiscard]] static const Handle& find(MPI_File fh);

  // Calls that went to the MPI library, and others; also without a session.
  static Counters& passed_through();
  static Counters& captured();
  static Datasets& datasets();
  // Calls of other interfaces: the report sums what `of_this_rank` says. The same calls in the same order on all ranks, so it is
  // said when the library is loaded.
  using CallsOfRank = std::vector<report::CallFigures> (*)();
  static void also_report(CallsOfRank of_this_rank);

  [[nodiscard]] const std::shared_ptr<session::Core>& core() const { return core_; }
  // Whether a file that the program calls so is to be captured. Local.
  [[nodiscard]] bool captures(std::string_view filename) const;
  // Whether it is captured as long as that does not cost more than it saves. Local.
  // Says once what has become of a file that is not there, where one of another format took its place (setting `format`). Local.
  void explain_missing(const std::string& filename) const;
  [[nodiscard]] bool compares(std::string_view filename) const;
  // Whether closing it waits until it is published. Local.
  [[nodiscard]] bool closes_durably(std::string_view filename) const;
  [[nodiscard]] bool is_on_several_nodes() const;
  // MPI_Barrier. On several nodes what any rank writes after it comes after what any has written before, and all see that
  // (pool/lamport_clock.hpp): programs order their writes by it. Collective.
  static int barrier(MPI_Comm comm);
  // To another program: from now on this one sees what that has closed. Local.
  static void is_connected() noexcept;
  // Held while this process is in a call of an output: those are for one thread at a time. Not while waiting for other ranks.
  [[nodiscard]] session::OneAtATime& one_at_a_time() { return core_->one_at_a_time(); }

  void add(MPI_File fh, Handle handle);
  void remove(MPI_File fh);
  // A name as the program gives it, from the root on. Local.
  [[nodiscard]] static std::string absolute(const std::string& filename);
  // What this process has open under that path, which is absolute. Any thread.
  [[nodiscard]] std::shared_ptr<Target> find_target(const std::string& path);
  void add_target(const std::shared_ptr<Target>& target);
  [[nodiscard]] ReadBack& read_back() { return read_back_; }
  // Whether this process has that path open to write through the MPI library, and not through GLEAN.
  [[nodiscard]] bool is_written_by_mpi(const std::string& path);

 private:
  explicit Session(std::shared_ptr<session::Core> core);
  void end_with_mpi();
  void end() noexcept;
  void report_calls();
  [[nodiscard]] bool orders_by(MPI_Comm comm);
  static std::vector<CallsOfRank>& others();

  std::shared_ptr<session::Core> core_;
  mutable std::shared_mutex files_lock_;   // of the two
  std::unordered_map<MPI_File, Handle> handles_;
  std::map<std::string, std::weak_ptr<Target>> targets_;
  std::atomic<std::uint64_t> handle_changes_{1};   // made to handles_
  int orders_key_ = MPI_KEYVAL_INVALID;   // of communicators: whether their barriers order writes
  ReadBack read_back_;
};

}  // namespace glean::mpiio
