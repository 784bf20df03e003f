// SPDX-License-Identifier: BSD-3-Clause
// What the system's manual says about names: the directory of a scenario, without a file system.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "contents.hpp"
#include "names.hpp"

namespace transparent {

// A name leads to a file (`node`), or is a symbolic link.
struct Entry {
  int node = -1;
  std::string target = {};
  bool operator==(const Entry&) const = default;
};

class Directory {
 public:
  // Where the name leads in the end; -1: nowhere.
  [[nodiscard]] int find(const std::string& name) const;
  // Finds it, and where there is nothing makes a new empty file, as by O_CREAT.
  int find_or_make(const std::string& name);
  // What the call would return: 0 or an errno; -1: it is not to be made, because systems differ in it, or symbolic links would go
  // round.
  [[nodiscard]] int expect(const NameCall& call, const std::string& from, const std::string& to) const;
  // A call that has succeeded.
  void apply(const NameCall& call, const std::string& from, const std::string& to);

  [[nodiscard]] Contents& contents(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int links(int node) const;
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  [[nodiscard]] std::string follow(const std::string& name) const;   // empty: the links go round
  [[nodiscard]] bool goes_round(const NameCall& call, const std::string& from, const std::string& to) const;

  std::map<std::string, Entry> entries_;
  std::vector<Contents> nodes_;
};

// The name of file `file` of the communicator `colour`.
[[nodiscard]] std::string base_name(int file, int colour);
[[nodiscard]] std::string name_of(int file, int colour, int name);

// What is in a marker.
constexpr const char* marker_text = "complete\n";

}  // namespace transparent
