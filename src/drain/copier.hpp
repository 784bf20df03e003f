// SPDX-License-Identifier: BSD-3-Clause
//
// Makes files of other formats of complete outputs, one after the other, before they are published: a thread that starts `glean convert`.
// The library that makes such a file is then in a process of its own, which harms nothing when it crashes, and drain threads go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "drain/job.hpp"
#include "drain/trace.hpp"
#include "store/copies.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

class Copier {
 public:
  // What was made of the file of `job`, or why not. From the copier's thread.
  using Done = std::function<void(const Job& job, std::vector<CopyTrace> made)>;
  // The command has computed or moved bytes. From the copier's thread.
  using Moves = std::function<void()>;
  Copier(Done done, Moves moves) : done_(std::move(done)), moves_(std::move(moves)) {}
  ~Copier() { stop(); }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  // The program `glean`, for all copiers of this process, where this process is not itself that. What a pool says is never started.
  static void set_program(std::string program);
  // That; empty where it is not known.
  [[nodiscard]] static std::string program();
  // `names`: where the complete file is and will be. `done` is called of it once. False: it was stopped. Any thread; does not wait.
  [[nodiscard]] bool give(const Job& job, const store::Copies& copies, const store::FileNames& names);
  // Ends the command that runs. `done` is called of all that was given, and nothing more can be made. Blocks.
  void stop();

 private:
  struct Given {
    Job job;
    store::Copies copies;
    store::FileNames names;
  };
  void run();
  [[nodiscard]] CopyTrace make(const Given& given, const store::Copy& copy);

  Done done_;
  Moves moves_;
  std::mutex mutex_;
  std::condition_variable has_more_;
  std::deque<Given> given_;
  bool stopping_ = false;
  std::thread thread_;   // started with the first
};

}  // namespace glean::drain
