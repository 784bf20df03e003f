// SPDX-License-Identifier: BSD-3-Clause
//
// A file whose bytes ranks write where and as often as they like, as MPI-IO lets them: later writes win. What a
// rank captures is in the file some time later, and under the final name when all ranks have closed it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "mesh/box.hpp"
#include "mesh/pattern.hpp"
#include "mesh/run_list.hpp"
#include "pool/collective_count.hpp"
#include "pool/journal.hpp"
#include "pool/other_handles.hpp"
#include "session/striping.hpp"

namespace glean::session {

class Core;
struct MadeOutput;

// Not thread-safe, and neither are two of one session: hold Core::one_at_a_time() in all but open(), and what says something else.
class ByteOutput {
 public:
  // What becomes of a file that is there already.
  enum class Existing {
    keep,      // it is written in place, and the bytes stay that no rank writes; one that is not there is made anew
    replace,   // it is there until the new one is complete
  };
  // at_stagers: below a directory of the stagers that this node does not see. They make the file, under their working name; a file that is
  // there is replaced, and only if the program cuts it to nothing before anything else (awaits_cut).
  enum class Where { here, at_stagers };
  // Whether a file of that name, which is not here, would be the stagers'; and whether they have it, when what this session has closed
  // under that name is published. Local; the second one blocks for the stagers and throws what they answer.
  [[nodiscard]] static bool may_be_at_stagers(const Core& core, const std::string& path);
  [[nodiscard]] static bool exists_at_stagers(Core& core, const std::string& path);
  // Ranks of this node have one of that name open that is made there. Local.
  [[nodiscard]] static bool is_open_at_stagers(const Core& core, const std::string& path);
  // Whether outputs of `comm` can be captured: all its ranks belong to the session. Local.
  [[nodiscard]] static bool can_capture(const Core& core, MPI_Comm comm);
  // Whether there is also one of every node among them: where an output is captured, all nodes know of it. Collective, one reduction.
  [[nodiscard]] static bool are_on_all_nodes(const Core& core, MPI_Comm comm);
  // Makes the working file, or opens the existing one. Collective over `comm`, which need not be the session's; throws on all of
  // its ranks or none. Blocks while an earlier output of that name drains; throws invalid_state where one is open. `of_program`: its hints
  // for the stripes of a file that is made; settings go before them.
  [[nodiscard]] static std::unique_ptr<ByteOutput> open(std::shared_ptr<Core> core, MPI_Comm comm, const std::string& path,
                                                        Existing existing, const StripingHints& of_program = {},
                                                        Where where = Where::here);
  // The working path of an output of that name that some ranks of the node have not closed. Local.
  [[nodiscard]] static std::optional<std::string> find_open(const Core& core, const std::string& path);
  // For a rank that opens the file beside those that have it open, on a handle of the MPI library's: where it is, under its final name,
  // when all that was captured of it so far, on all nodes, is there; and from then on what is captured is there when its call returns
  // (has_others). Nothing if none of that name is open. Local, any thread, blocks; takes one_at_a_time() itself. other_handles.cpp
  [[nodiscard]] static std::optional<std::string> share_with_others(Core& core, const std::string& path);
  // An output whose working file keeps its name as long as this lives: it is not published meanwhile.
  class KeptName {
   public:
    KeptName(const Core& core, pool::OutputKey key, std::string working_path);   // by the rank that holds OutputSlot::name_lock
    ~KeptName();
    KeptName(const KeptName&) = delete;
    KeptName& operator=(const KeptName&) = delete;
    [[nodiscard]] const std::string& working_path() const { return working_path_; }

   private:
    const Core& core_;
    pool::OutputKey key_;
    std::string working_path_;
  };
  // Whether all its ranks have closed an output of this name, which is not written in place and not yet published. Local.
  [[nodiscard]] static bool is_unpublished(const Core& core, const std::string& path);
  // Blocks until all of that output is in its working file, through the page cache, if there is one. All ranks that are going to read it
  // call this: as long as they sleep here, and not in a call of MPI, the drain has the cores. Local.
  static void write_unpublished(Core& core, const std::string& path);
  // That output, complete in its working file, for a rank that reads it at once: it is written through the page cache. Blocks until all of
  // it is written. Null if there is none, it has failed, is just being published, or another rank opens it like this. Local. No rank that
  // then waits for other ranks may let them wait for the file.
  [[nodiscard]] static std::unique_ptr<KeptName> keep_unpublished(Core& core, const std::string& path);
  // Blocks until no output of that name that all its ranks have closed is left to drain. Local; a few loads when none of the node
  // drains.
  static void finish(Core& core, const std::string& path);
  // Finishes all of the node.
  static void finish_all(Core& core);
  // Whether none is left when nothing has been written for so long, or other nodes cannot be reached any more. Local, blocks.
  [[nodiscard]] static bool finish_all_within(Core& core, double seconds);
  enum class Content { captured, any };
  // For a rank that looks by other means than MPI-IO at a new file that ranks have open: where it is, when what was captured of it is
  // there, as flush() says, or at once for whom `any` is as good. Null if there is none of that name that is still open then, it has
  // failed, or is written in place; and when `gives_up` is true, or the deadline of the session is over, before the ranks have come that it
  // waits for; and where this thread is in a call of an output already, which a signal handler has interrupted. Local, any thread, blocks.
  // Takes one_at_a_time() itself.
  [[nodiscard]] static std::unique_ptr<KeptName> keep_open(Core& core, const std::string& final_path, Content content,
                                                           const std::function<bool()>& gives_up);
  // What ranks of the node have captured so far of open files that are kept if they are never closed is to be written, as far as that
  // depends on no rank: those in place, and those that were synchronized. What is returned says whether it is. Local.
  [[nodiscard]] static std::function<bool()> write_open_and_kept(Core& core);
  // Those of the node that not all ranks have closed have failed. Local.
  static void fail_open(Core& core, const std::string& why);

  // An output of the node that all ranks had closed when it failed, and of which the program has not been told: the first of them. Local,
  // a few loads.
  struct UntoldFailure {
    std::uint32_t slot = 0;
    base::Errc code{};
    std::uint64_t job_output = 0;   // on several nodes: the same on all of them, one after the other
  };
  [[nodiscard]] static std::optional<UntoldFailure> untold_failure(const Core& core);
  // For a rank that opens a file of that name. Waits as finish(). If the storage has refused what all its ranks had closed, and it is kept
  // in the pool, the drain tries it once more, with all others that are kept; on several nodes it does not. What is refused still is
  // returned and said: it must not be begun anew. The program is told of it by this call. Local, blocks.
  [[nodiscard]] static std::optional<UntoldFailure> finish_or_refuse(Core& core, const std::string& path);
  // The program has been told of it. Of several nodes: of the one that all know so, also where it is not known yet that it has
  // failed. Local.
  static void told(const Core& core, const UntoldFailure& failure);

  // Removes the checksums of a file that changes, or is deleted; warns when it cannot. Local.
  static void forget_checksums(const std::string& path);

  // Without close() it is abandoned.
  ~ByteOutput();
  ByteOutput(const ByteOutput&) = delete;
  ByteOutput& operator=(const ByteOutput&) = delete;

  // It may be read as soon as it is written: all of it goes through the page cache. Local.
  void expect_reading();

  // Copies stream bytes [first, first + target.size()) of what is written to `target`. Called with ascending `first`.
  using CopyOut = std::function<void(base::Bytes first, std::span<std::byte> target)>;
  // What the setting `full` is, where this rank does not have the settings of the session. Local.
  void set_when_full(base::WhenFull full) { full_ = full; }
  // Captures `place.bytes()` bytes of the stream, from `first` on: they go where the pattern says. One copy; when the pool is full
  // it does what the file's setting `full` says. Local. Of writes that overlap that of the higher collective count wins, and of one count
  // the one that was made later, whichever rank has made it. `collective_count`: of keep_pace(). Throws, and captures nothing, where the
  // file system or this process may not have so long a file. `variable`: a store::Meaning::Name, of which the bytes are elements; 0: not
  // known.
  void write(std::uint32_t collective_count, const mesh::Pattern& place, base::Bytes first, const CopyOut& copy_out,
             std::uint32_t variable = 0);
  // Likewise the bytes of a list of runs, together, in one write: what many small irregular pieces cost least in.
  void write(std::uint32_t collective_count, const mesh::RunListBuilder& list, base::Bytes first, const CopyOut& copy_out,
             std::uint32_t variable = 0);
  // Bytes and table of a list take at most so many; 0: this output takes none. Local.
  [[nodiscard]] base::Bytes most_of_list() const;
  // Whether this rank is to say what the variables are, for the `count`th time since it was opened: one of each node is. And it says so
  // (store::Meaning::encode). Local, do not wait.
  [[nodiscard]] bool claim_meaning(std::uint32_t count);
  void say_meaning(std::span<const std::byte> meaning);

  // Before this rank changes it by other means: a file in place loses its checksums. Local.
  enum class By { capture, mpi };
  void begin_change(By by = By::mpi);
  // Handles of the MPI library's have been opened on the file: it is in place, and what was written is to be flushed before a call
  // returns. Local, one load.
  [[nodiscard]] bool has_others() const { return pool::have_others(slot_); }

  // Where the bytes are until it is published: the working file, or the file itself; and where that has lost its name since the drain has
  // opened it, for this node a name of the drain's descriptor. Local.
  [[nodiscard]] std::string working_path() const;
  [[nodiscard]] bool is_in_place() const { return is_in_place_; }
  // The stagers make the file: no process of this node can open it before all ranks have closed it. Local.
  [[nodiscard]] bool is_at_stagers() const { return is_at_stagers_; }
  // Whether a new file may take the place of this one, which is written in place (store/posix/replaceable.hpp): if not, the log says why.
  // Local.
  [[nodiscard]] bool can_be_replaced() const;
  // Blocks until everything that any rank of the node had captured of it before the call, up to this collective count, is in that file,
  // where other processes see it, and on several nodes what others had captured in earlier ticks (pool/lamport_clock.hpp); through the page
  // cache if it is read then. Local. Throws what has failed. Returns whether there was anything to wait for. `collective_count`: of
  // wait_for_ranks().
  enum class Then { read, other };
  bool flush(std::uint32_t collective_count, Then then = Then::other);
  // What was flushed is going to be changed past the drain: with `staging.keep` it must not be written again after that, when a stager is
  // lost. Blocks until it is on the storage then. Local. Throws what has failed.
  void keep_nothing();
  // No process has renamed or removed the file, nor put another one there, as far as is known: until the drain has opened it any file
  // counts. Local.
  [[nodiscard]] bool has_its_name() const;
  // What is in the file is on the storage then. Local, blocks.
  void synchronize();
  // How many writes ranks of this node have made so far. Local.
  [[nodiscard]] std::uint64_t writes_made() const;
  // All ranks have synchronized it, and are told so next: with so many writes it is kept, whichever ranks do not come to close it. Local.
  void promise(std::uint64_t writes);
  // The file's size with all that was captured so far up to this count. Local; on one node it waits only if others have counted further, on
  // several it flushes. `collective_count`: of wait_for_ranks().
  [[nodiscard]] base::Bytes size(std::uint32_t collective_count);
  // As far as this node knows. Local, does not wait.
  [[nodiscard]] base::Bytes captured_size() const;
  // Makes the file longer at any time, or cuts it after flush() on all ranks; on one of them. Local.
  void resize(base::Bytes size);
  // Storage for its first `size` bytes, where the file system can, and makes the file as long at least; on one rank. Local, blocks.
  void allocate(base::Bytes size);
  // Another node has cut it, or made it longer. Local.
  void was_resized(base::Bytes size);

  // Of one at the stagers, instead of these, on all ranks; `cuts`: something was captured behind that, and flushed. Throws permission for
  // a file that is to be replaced and was not cut to nothing, unsupported for one that was cut and is to be longer again. Local.
  void resize_at_stagers(base::Bytes size, bool cuts);
  // Such a file was there and is not cut to nothing yet: it stays if that is never done. Local.
  [[nodiscard]] bool awaits_cut() const { return uncut_.has_value(); }

  // Moves the pointer that is the same for all ranks, 0 at first: returns where it was, or no_position. Local; on several nodes it waits
  // for a message of node 0.
  [[nodiscard]] std::uint64_t move_shared(const pool::SharedMove& move);

  // The output's slot of the pool. Any thread.
  [[nodiscard]] std::uint32_t slot() const { return key_.slot; }
  // On one node: this rank begins, or ends, a collective call of all that have opened it together. Writes take effect in the order of
  // these calls (pool/collective_count.hpp). Local.
  void count_collective();
  // There were as many as can be counted. The same on all ranks between two calls. Local.
  [[nodiscard]] bool has_last_collective_count() const { return collective_count() >= pool::last_collective_count - 2; }
  // Until all ranks have come as far as this one, to the count that is returned (capture/pace.hpp): without Core::one_at_a_time(). Blocks.
  [[nodiscard]] std::uint32_t wait_for_ranks() const;
  // Waits likewise before so many bytes are written in so many writes, if this rank is so far ahead of others that they might lack room.
  // Returns the collective count of these writes.
  [[nodiscard]] std::uint32_t keep_pace(base::Bytes bytes, std::uint64_t writes) const;

  // Where ranks wait for each other to close, around that: the drain yields the cores to them (drain/core_yielding.hpp), where every core
  // has one. Local, no system call.
  class Closing {
   public:
    explicit Closing(Core& core);
    ~Closing();
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

   private:
    pool::Atomic<std::uint32_t>& closing_;
  };

  // What has failed in the background so far; it will not be published. The rank that asks tells the program. Local.
  [[nodiscard]] std::optional<base::Error> failure() const;
  // No more writes of this rank. Local, does not wait: when all ranks have called it, it is published in the background.
  void close();

 private:
  ByteOutput(std::shared_ptr<Core> core, std::string path, const MadeOutput& made);
  void check_reach(base::Bytes end);
  void set_box(std::span<const std::uint64_t> words);
  template <class Capture> void take(base::Bytes end, base::Bytes bytes, Capture capture);
  void wait_until_written(const pool::WriteStamp& stamp);
  void check_end_at_stagers(base::Bytes end) const;
  void leave(std::uint32_t flags);
  [[nodiscard]] std::uint32_t collective_count() const;
  template <class Condition> void wait_for_drain(Condition holds, const char* what);
  void throw_failure() const;
  // What was closed before it was opened is durable, so that bytes which were there may change. Local.
  [[nodiscard]] bool may_change_file() const;
  // The name under which the file is; nothing where it has lost that.
  [[nodiscard]] std::optional<std::string> own_name() const;
  // Nothing where it has lost its name, and the drain does not have it open.
  [[nodiscard]] std::optional<std::string> find_working_file() const;
  [[nodiscard]] std::optional<base::Bytes> size_in_file() const;
  template <class Change> [[nodiscard]] int change_working_file(Change change) const;

  std::shared_ptr<Core> core_;
  pool::OutputKey key_;
  pool::OutputSlot& slot_;
  std::string path_, working_path_;
  bool is_in_place_, is_at_stagers_;
  std::optional<base::Bytes> uncut_;    // what a file at the stagers has that the program has not cut to nothing yet
  std::optional<base::Bytes> cut_to_;   // what is at the stagers is cut there at last: nothing may be behind it
  base::WhenFull full_;
  base::Bytes longest_;   // that the file may become, as far as it was asked for
  bool closed_ = false, changed_ = false;
  base::Bytes unannounced_bytes_ = 0;   // captured since the drain was last told
  mesh::Box box_;                       // a pattern as it goes into the journal
};

}  // namespace glean::session
