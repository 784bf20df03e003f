// SPDX-License-Identifier: BSD-3-Clause
//
// How a stager comes to the outputs of its clients.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pool/journal.hpp"

namespace glean::nodes {

class Openings {
 public:
  virtual ~Openings() = default;

  struct Asked {
    std::vector<std::byte> description;   // store::OutputDescription; the root of the tree puts the names into it that the file has got
    bool refuses_existing = false;
    bool makes_file = false;              // this stager is the root: it chooses the names, and makes the file
    std::uint64_t job_output = 0;
    std::uint64_t inode = 0;              // of the file, where another process had it open in this stager's place; 0: none had
    bool is_again = false;                // one may have had
    bool is_done = false;                 // and all that this stager writes of it is durable
    bool is_published = false;            // said by open(): it need not be opened, the file has its name already
  };
  // Opens the output on this stager: describes it in its pool, as that one of the job, and has the drain open the file; a slot with an
  // error says that it could not. Nothing: there is no room for it now. Throws base::Error when it cannot be opened. Blocks for the
  // storage.
  [[nodiscard]] virtual std::optional<pool::OutputKey> open(Asked& asked, pool::Recorder& recorder) = 0;
};

}  // namespace glean::nodes
