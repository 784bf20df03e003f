// SPDX-License-Identifier: BSD-3-Clause
#include "session/past_outputs.hpp"

#include <algorithm>

namespace glean::session {

void PastOutputs::add(const OutputName& name, const OutputStatus& status, const std::optional<base::Error>& failure) {
  past_.push_back({name, status, failure});
  if (past_.size() <= capacity) return;
  const auto spare = std::find_if(past_.begin(), past_.end(), [](const Past& past) { return !past.failure; });
  past_.erase(spare == past_.end() ? past_.begin() : spare);
}

std::vector<OutputStatus> PastOutputs::statuses() const {
  std::vector<OutputStatus> statuses;
  for (const Past& past : past_) statuses.push_back(past.status);
  return statuses;
}

std::optional<base::Error> PastOutputs::failure(const std::string& final_path) const {
  // Names are looked up only if it can matter.
  if (std::none_of(past_.begin(), past_.end(), [](const Past& past) { return past.failure.has_value(); })) return {};
  const auto last = std::find_if(past_.rbegin(), past_.rend(), [&](const Past& past) {
    return past.status.state != OutputState::abandoned && past.name.leads_to(final_path);
  });
  return last == past_.rend() ? std::nullopt : last->failure;
}

}  // namespace glean::session
