// SPDX-License-Identifier: BSD-3-Clause
//
// How each file of a session is written: by which nodes, in which requests. On the root, which tells the others.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "drain/trace.hpp"
#include "plan/file_share.hpp"
#include "plan/node_plan.hpp"
#include "plan/tuner.hpp"
#include "session/parts.hpp"
#include "store/layout.hpp"

namespace glean::session {

// That the settings name, as much of it as so many nodes are. Throws not_found, invalid_config. Local, reads a file.
[[nodiscard]] topology::Machine machine_of(const base::Settings& settings, int nodes);

class FilePlans {
 public:
  // `nodes`: that write a file, those of `parts` where there are several. Throws as machine_of().
  FilePlans(const base::Settings& settings, int nodes, const Parts& parts, const plan::NodePlan& node);
  // Stagers write all files of `clients` nodes. Nothing is learned from how fast they are.
  FilePlans(const base::Settings& settings, int stagers, int clients, const plan::NodePlan& node);

  // How a file that is about to be written is shared out. Local, asks the file system what its blocks are.
  [[nodiscard]] plan::FileShare share_of(const std::string& path, const store::FileLayout& layout);
  // Learns from files that are complete; those of before are passed over. Local.
  void learn(const std::vector<drain::OutputTrace>& outputs);
  [[nodiscard]] bool learns() const { return tunes_; }
  [[nodiscard]] const std::vector<plan::Tuner::Change>& changes() const { return tuner_.changes(); }

 private:
  struct Written {
    std::string path;
    plan::Tuner::Setup planned, setup;
    base::Bytes bytes;
  };

  void limit(const base::Settings& settings, const plan::NodePlan& node);
  [[nodiscard]] plan::FileShare planned_share(const std::string& path, const store::FileLayout& layout) const;

  // A file's bytes, a step of it if it has records.
  [[nodiscard]] base::Bytes bytes_of(const store::FileLayout& layout) const;

  plan::FileShare whole_;   // machine and nodes of each file
  int parts_;
  plan::Limits limits_;
  bool tunes_;
  int writers_;             // of an I/O group, at most
  plan::Tuner tuner_;
  std::deque<Written> on_their_way_;
  std::uint64_t learned_ns_ = 0;   // files that were durable by then are known
};

}  // namespace glean::session
