// SPDX-License-Identifier: BSD-3-Clause
//
// What the verbs of `glean container` share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/verbs.hpp"
#include "store/container/pack.hpp"

namespace glean::cli {

// Which of the files in a container are meant: all, if nothing is given.
struct Selection {
  std::vector<std::string> patterns;
  std::vector<std::uint64_t> tasks;
};
void add_selection(CLI::App& verb, Selection& selection);
// In the order of the container. Throws not_found: nothing fits a pattern, or a task is not there; all are named.
[[nodiscard]] std::vector<store::LogicalFile> chosen_files(const store::Container& container, const Selection& selection);

// On standard error.
void warn_if_cut_off(const store::Container& container);
// A name as a terminal may see it.
[[nodiscard]] std::string printable(const std::string& name);

void print_json(const nlohmann::ordered_json& json);

// extract, pack and verify.
void add_container_files(CLI::App& container, int& exit_code);

}  // namespace glean::cli
