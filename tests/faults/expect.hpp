// SPDX-License-Identifier: BSD-3-Clause
//
// What the fault cases say about errors and files. An expectation that does not hold is printed with its rank and
// counted; the program goes on, so that all ranks stay together.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace glean::test {

[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();

// Starts a case; its name stands before everything that does not hold.
void begin_case(const std::string& name);
// How many expectations did not hold, on all ranks. Collective.
[[nodiscard]] int failures_of_all_ranks();

void expect(bool holds, const std::string& what);
// What `action` throws. Local.
[[nodiscard]] std::optional<Error> thrown_by(const std::function<void()>& action);
// `error` is there, has this code, and its message has all of `words` in it.
void expect_error(const std::optional<Error>& error, Errc code, const std::vector<std::string>& words);
void expect_no_error(const std::optional<Error>& error, const std::string& what);
// `action` is a collective call: it must throw such an error on every rank.
void expect_error_everywhere(Errc code, const std::vector<std::string>& words, const std::function<void()>& action);

// A directory of files that must be what they were, and no others. All members are collective.
class Files {
 public:
  explicit Files(std::string directory);   // on the root: made, emptied
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  // Puts an old checkpoint there, which must survive.
  void make_old(const std::string& name);
  // Every file is one of those that make_old has made, with their bytes, or one of `new_names`.
  void expect_only_old_and(const std::vector<std::string>& new_names) const;

 private:
  std::string directory_;
  std::vector<std::string> old_names_;
};

}  // namespace glean::test
