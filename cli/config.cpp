// SPDX-License-Identifier: BSD-3-Clause
//
// glean config: every value and where it came from.
#include "base/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/checked_configuration.hpp"
#include "cli/verbs.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

struct ConfigOptions {
  bool json = false;
  bool keys = false;
};

void print_values(const base::Configuration& configuration, bool json) {
  if (json) {
    ordered_json values = ordered_json::object();
    for (const base::Entry& entry : configuration.entries) {
      values[entry.key] = {{"value", entry.value}, {"origin", entry.origin}};
    }
    const ordered_json file = configuration.file.empty() ? ordered_json() : ordered_json(configuration.file);
    std::cout << ordered_json{{"file", file}, {"values", values}}.dump(2) << '\n';
    return;
  }
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const base::Entry& entry : configuration.entries) {
    key_width = std::max(key_width, entry.key.size());
    value_width = std::max(value_width, entry.value.size());
  }
  for (const base::Entry& entry : configuration.entries) {
    std::cout << fmt::format("{:{}}  {:{}}  {}\n", entry.key, key_width, entry.value, value_width, entry.origin);
  }
}

void print_keys(bool json) {
  const auto keys = base::configuration_keys();
  if (json) {
    ordered_json list = ordered_json::array();
    for (const base::KeyDescription& key : keys) {
      list.push_back({{"key", key.name},
                      {"environment", key.environment},
                      {"takes", key.values},
                      {"default", key.default_value},
                      {"description", key.description}});
    }
    std::cout << list.dump(2) << '\n';
    return;
  }
  for (const base::KeyDescription& key : keys) {
    std::cout << fmt::format("{}  ({})\n    {}\n    Takes {}; default \"{}\".\n", key.name, key.environment,
                             key.description, key.values, key.default_value);
  }
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ConfigOptions>();
  CLI::App* verb = app.add_subcommand("config", "Print every setting and where it came from");
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--keys", options->keys, "Print what can be set, instead of what is set");
  verb->footer("Read are the file that GLEAN_CONFIG names or else ./glean.toml, and the variables GLEAN_*.\n"
               "Exit code: 0, or 2 when the configuration is wrong.");
  verb->callback([options, &exit_code] {
    if (options->keys) {
      print_keys(options->json);
    } else {
      print_values(checked_configuration(), options->json);
    }
    exit_code = success;
  });
}

}  // namespace glean::cli
