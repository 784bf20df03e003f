// SPDX-License-Identifier: BSD-3-Clause
// What has to be left of a scenario that was killed, or that ran on a full disk: nothing is lost that the program still had.
//
// A file that all ranks had closed without an error is there, whole, under the names that it had last; of a call by a name that had
// begun and not ended, those before it or those after it. A file that was there and is open again has its name. What the program had
// removed may be there again under its old name, if it is whole.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model.hpp"
#include "witness.hpp"

namespace transparent {

class Survivors {
 public:
  Survivors(const Scenario& scenario, const Simplify& how, const std::string& directory, const std::string& witness);

  // What is wrong, one line each. What begins with `lost ` was good when the program had closed it.
  std::vector<std::string> check();

 private:
  // A name that has to be there.
  struct Expected {
    Entry entry;
    Contents contents;
    bool whole = true;       // it has these contents
    bool optional = false;
  };
  using Names = std::map<std::string, Expected>;
  // The files of one communicator, at the moment that was the last of this program.
  struct Group {
    int file, colour;
    std::string base;
    bool has_ended = false, is_open = true;
    int opened_at = 0;                                   // the moment
    Names before = {}, after = {};                       // the last call by a name
    std::map<std::string, std::vector<Expected>> gone;   // what the names had that were removed or replaced
  };

  void step(int number);
  void close(int file, int number);
  void open(int file, int number, int name);
  void call_names(const Step& step, int number);
  void apply(Group& group, const NameCall& call, int result);
  void end(Group& group, const NameCall* in_doubt);
  [[nodiscard]] Names names_of(const Group& group);
  [[nodiscard]] std::vector<int> ranks_of(const Group& group) const;
  [[nodiscard]] bool all_have(const Group& group, int moment) const;
  [[nodiscard]] bool any_has(const Group& group, int moment) const;
  void compare(const Group& group);
  [[nodiscard]] bool is_there(const std::string& name, const Expected& expected, std::string& why) const;
  [[nodiscard]] bool may_be_back(const Group& group, const std::string& name) const;

  const Scenario& scenario_;
  const Simplify& how_;
  std::string directory_;
  std::vector<Testimony> witnesses_;   // of the ranks
  Model model_;
  std::vector<Group> groups_;
  std::set<int> closed_once_, spoiled_;   // files, as the directory of the model numbers them; spoiled: the program was told of an error
  std::vector<std::string> problems_;
};

}  // namespace transparent
