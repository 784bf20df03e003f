// SPDX-License-Identifier: BSD-3-Clause
#include "session/arguments.hpp"

#include "session/core.hpp"
#include "session/translated.hpp"

namespace glean::session {

std::optional<int> first_with_wrong_arguments(MPI_Comm computing, bool wrong) {
  Core* core = Core::open_on(computing);
  if (core == nullptr) return std::nullopt;
  return translated([&] { return core->first_of_ranks(wrong); });
}

}  // namespace glean::session
