// SPDX-License-Identifier: BSD-3-Clause
#include "drain/messages.hpp"

namespace glean::drain {

base::Error overlap_error(const store::VariableLayout& variable, std::uint64_t step, const mesh::Box& box, int rank,
                          const Coverage::Put& earlier) {
  const std::string when = variable.per_step() ? " in step " + std::to_string(step) : "";
  return {base::Errc::overlap,
          "overlapping puts of '" + variable.name + "'" + when + ": rank " + std::to_string(rank) + " puts " +
              mesh::to_string(box) + ", but rank " + std::to_string(earlier.rank) + " has put " +
              mesh::to_string(earlier.box),
          variable.per_step() ? "an element can be put once a step"
                              : "an element of a variable without steps can be put once"};
}

}  // namespace glean::drain
