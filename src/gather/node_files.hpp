// SPDX-License-Identifier: BSD-3-Clause
//
// The files of ranks that are to be gathered, while they are on their node: a directory in shared memory for each job, in it one for each
// container, in it one for each state. A name in one of them is the file, or leads to it where shared memory was not to have it.
//
// The directories are all there is to know: every process of the node reads them, and they are there after a kill. What looks into them, or
// changes them, holds the lock of the job's directory (NodeLock). docs/file-per-rank.md
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "gather/gather_rules.hpp"
#include "gather/tally.hpp"

namespace glean::gather {

// open: written, or opened to be. closed: nothing writes it. packing: it is being brought into the container, and does not change any more.
// clean: brought out of the container, to be read.
enum class State { open, closed, packing, clean };
inline constexpr std::array all_states = {State::open, State::closed, State::packing, State::clean};

// Where a file lies. `data` is `entry` itself, or where that leads.
struct Held {
  State state = State::open;
  std::string entry, data;
};

struct NodeSettings {
  Bytes budget_bytes = 0;        // of shared memory, for all files
  std::string spill_directory;   // what goes beyond; empty, or not there: beside the containers
  int node = 0, ranks = 1;       // the number of the node, and how many ranks it has
  std::string run_directory;     // of `glean run`; empty: none
  std::vector<RuleText> rules;
};

// While it lives, no other thread or process looks.
class NodeLock {
 public:
  // Throws where there is no such directory any more, or no descriptor left: nothing may be looked at then.
  explicit NodeLock(const std::string& root);
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;
  void release() noexcept;
  void take() noexcept;
  // This thread has one.
  [[nodiscard]] static bool is_taken_here() noexcept;

 private:
  int descriptor_ = -1;
  bool is_taken_ = false;
};

// The files of one container. With the lock.
class Family {
 public:
  Family(std::string directory, std::string container, std::size_t rule)
      : directory_(std::move(directory)), container_(std::move(container)), rule_(rule) {}

  [[nodiscard]] const std::string& container() const { return container_; }
  [[nodiscard]] std::size_t rule() const { return rule_; }   // of the job
  [[nodiscard]] std::string entry(State state, const std::string& name) const;
  // The one that counts.
  [[nodiscard]] std::optional<Held> find(const std::string& name) const;
  [[nodiscard]] std::optional<Held> find(State state, const std::string& name) const;
  // Without those that are being brought out of the container, whose names begin with a slash.
  [[nodiscard]] std::vector<std::string> names(State state) const;
  // Gives a file another state, or name. False: the system refuses.
  bool move(const Held& held, State state, const std::string& name) const;
  void remove(const Held& held) const;
  void remove_all() const;

  // Names that the program has removed while the container has them.
  [[nodiscard]] std::vector<std::string> removed() const;
  [[nodiscard]] bool is_removed(const std::string& name) const;
  void set_removed(const std::string& name, bool removed) const;

  // An open file that no process writes any more, also through a mapping, becomes a closed one. Returns whether it is one. Where the file
  // system cannot say, `otherwise` does.
  enum class Otherwise { open, closed };
  [[nodiscard]] bool settle(const std::string& name, Otherwise otherwise = Otherwise::open) const;
  // Removes the directories, if there is nothing in them.
  bool remove_if_empty() const;

 private:
  std::string directory_, container_;
  std::size_t rule_ = 0;
};

class NodeFiles {
 public:
  // A new directory, that this process owns until it ends. Throws.
  static NodeFiles make(const NodeSettings& settings);
  // Throws not_found, and io where it is another user's or damaged.
  explicit NodeFiles(std::string root);

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] const NodeSettings& settings() const { return settings_; }
  // A process owns it: its job is running.
  [[nodiscard]] bool is_owned() const;
  // Those of this user, on this host.
  [[nodiscard]] static std::vector<std::string> roots();
  [[nodiscard]] static pid_t process_of(const std::string& root);
  // There are settings in it. They come before everything else and go after it: without them there are no files.
  [[nodiscard]] static bool is_begun(const std::string& root);
  // Removes a directory without files, with what a killed process has left of its own in it.
  static bool remove_emptied(const std::string& root);

  // Made if it is not there. Throws.
  [[nodiscard]] Family family(const RankFile& file) const;
  [[nodiscard]] std::optional<Family> find_family(const std::string& container) const;
  [[nodiscard]] std::vector<Family> families() const;

  // How much shared memory the files take, or will, if those that are open become as long as the longest of their rule is (tally.hpp).
  [[nodiscard]] Bytes used_bytes() const;
  // The longest file of the rule that was closed so far; nothing: there was none.
  [[nodiscard]] std::optional<Bytes> longest(std::size_t rule) const;
  void note_length(std::size_t rule, Bytes bytes) const;
  // As Family::settle, move to State::open, and remove; what the files take is known afterwards.
  [[nodiscard]] bool settle(const Family& family, const std::string& name, Family::Otherwise otherwise) const;
  [[nodiscard]] bool open_again(const Family& family, const Held& held, const std::string& name) const;
  void remove(const Family& family, const Held& held) const;
  // Files have gone that were not removed one by one.
  void forget_used_bytes() const;
  // Where a new file of about so many bytes is to lie: the entry itself, or beside, which the entry then leads to. Nothing: how long it
  // becomes is not known, and it lies beside. Throws where a file that is written can be neither.
  [[nodiscard]] std::string place(const Family& family, State state, const std::string& name, std::optional<Bytes> expected) const;
  // Removes everything that is left. With the lock.
  void discard() const;
  // False: something is in it.
  bool remove_if_empty() const;

 private:
  [[nodiscard]] Tally::Count count() const;
  [[nodiscard]] bool has_room(Bytes expected) const;
  [[nodiscard]] std::string directory_of(const std::string& container) const;
  [[nodiscard]] std::string overflow_directory(const Family& family) const;

  std::string root_;
  NodeSettings settings_;
};

}  // namespace glean::gather
