// SPDX-License-Identifier: BSD-3-Clause
//
// The processes that calibrate a machine together: those that a launcher has started, or one.
#pragma once

#include <string>
#include <vector>

namespace glean::calibrate {

class Team {
 public:
  virtual ~Team() = default;
  [[nodiscard]] virtual int self() const = 0;
  [[nodiscard]] virtual int count() const = 0;
  // What each brings, in their order. Collective, blocks, without using the processor while it waits.
  [[nodiscard]] virtual std::vector<std::string> from_all(const std::string& mine) = 0;
};

class Alone final : public Team {
 public:
  [[nodiscard]] int self() const override { return 0; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override { return {mine}; }
};

// A number of each. Collective.
[[nodiscard]] std::vector<double> numbers_of_all(Team& team, double mine);

}  // namespace glean::calibrate
