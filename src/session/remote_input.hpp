// SPDX-License-Identifier: BSD-3-Clause
//
// Files to read that this host may not see and the stagers of the session do.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glean/glean.hpp"
#include "session/core.hpp"
#include "session/formats.hpp"
#include "staging/file_requests.hpp"

namespace glean::session {

// Reads what is under this name here, or, where there is nothing and the session has stagers, what these see. An output of that name of
// some job of theirs that is closed is waited for, until it is published: for `seconds`, < 0: the deadline. Throws as
// Session::open_input. Local, blocks.
[[nodiscard]] std::unique_ptr<Reader> open_here_or_there(Core& core, const std::string& path, double seconds);
// As open_input() of input.hpp where the session has stagers: outputs of the session are known by their names alone.
[[nodiscard]] std::unique_ptr<Reader> open_where_stagers_write(Core& core, const std::string& path, const InputOptions& options);

// A file that one rank has found at the stagers, for the others, which then need not look for it: plain, to be sent. Empty `path`: it was
// here.
struct FoundThere {
  std::array<char, PATH_MAX> path{};
  std::uint64_t bytes = 0, inode = 0;
};
// Throws as open_here_or_there(). Local, blocks.
[[nodiscard]] FoundThere find_there(Core& core, const std::string& path, double seconds);
[[nodiscard]] std::unique_ptr<Reader> open_found(Core& core, const std::string& path, const FoundThere& found);

// What matches a shell pattern where the stagers are, by the names that the pattern makes of it; nothing where the session has none, or
// the pattern leads to no directory of theirs. Outputs of their jobs that are closed and match are waited for, as above. Local, blocks.
[[nodiscard]] std::vector<staging::FileStatus> list_there(Core& core, const std::string& pattern, double seconds);
// Why a file that the stagers see is not complete, as store::why_no_candidate() and why_incomplete_cdf() say it of those that are here.
// Local, blocks.
[[nodiscard]] std::optional<std::string> why_incomplete_there(Core& core, const std::string& path, double seconds);

}  // namespace glean::session
