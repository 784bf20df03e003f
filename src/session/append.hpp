// SPDX-License-Identifier: BSD-3-Clause
//
// Adding steps to a file that is there.
//
// The new records go behind its end, where no reader looks, because the header says how many there are; that number is written last, when
// the records are on the storage. So the file is at every moment the old one or one with more whole steps, whatever is killed.
#pragma once

#include <memory>
#include <string>

#include "session/output_impl.hpp"

namespace glean::session {

// Waits for what this session has closed of that name. Its definitions have ended: those of the file. Throws as Session::append.
// Collective, blocks.
[[nodiscard]] std::unique_ptr<Output::Impl> append(const std::shared_ptr<Core>& core, const std::string& path);

}  // namespace glean::session
