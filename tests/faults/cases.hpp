// SPDX-License-Identifier: BSD-3-Clause
//
// The cases, and what they write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expect.hpp"
#include "glean/glean.hpp"

namespace glean::test {

inline constexpr std::uint64_t cells = 100;   // of a rank

struct World {
  std::string directory;
  std::string mode;
  [[nodiscard]] bool threaded() const { return mode == "threaded"; }
};

// An output with one variable of which every rank has a part.
struct Simple {
  Output out;
  Variable dens;
};

[[nodiscard]] std::uint64_t first_cell();   // of this rank
[[nodiscard]] Simple open_simple(Session& session, const std::string& path, Type external = Type::float64,
                                 const std::string& name = "dens",
                                 std::vector<Box> blocks = {{{first_cell()}, {cells}}});
[[nodiscard]] std::vector<double> values();

// The program goes on: another file in the same session arrives whole. Collective.
void expect_another_file_arrives(Session& session, const std::string& path);

// What the program does wrong: input_faults.cpp. All are collective.
void unknown_keys(const World& world);
void bad_definitions(const World& world, Session& session);
void bad_puts(const World& world, Session& session);
void faults_that_only_the_drain_sees(const World& world, Session& session);
void find_variable_of_a_name_that_is_not_there(const World& world, Session& session);
void an_abandoned_output_is_not_published(const World& world, Session& session);

// What the world does: storage_faults.cpp.
void paths_that_cannot_be(const World& world, Session& session);
void disk_full_before_the_file_is_made(const World& world, Session& session);
void disk_full(const World& world, Session& session);
void disk_full_after_close_reaches_the_next_call(const World& world, Session& session);
void a_full_pool_is_waited_for_as_long_as_was_said(const World& world);

}  // namespace glean::test
