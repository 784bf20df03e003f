// SPDX-License-Identifier: BSD-3-Clause
//
// glean doctor: what GLEAN finds on this machine, and what to do about it.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/config.hpp"
#include "base/error.hpp"
#include "cli/findings.hpp"
#include "cli/verbs.hpp"
#include "topology/discover/discover.hpp"

namespace glean::cli {
namespace {

struct DoctorOptions {
  bool json = false;
  int ranks = 0;   // 0: one per core
  std::vector<std::string> directories = {"."};
};

// The settings of a session here; the defaults where the configuration is wrong.
base::Settings find_configuration(Findings& findings) {
  try {
    const base::Configuration configuration = base::load_configuration({}, base::process_environment());
    findings.push_back({"configuration", Verdict::ok,
                        configuration.file.empty() ? "no file" : "from " + configuration.file, {}});
    return configuration.settings;
  } catch (const base::Error& error) {
    findings.push_back({"configuration", Verdict::fail, error.what(), error.hint()});
    return {};
  }
}

Findings examine(const DoctorOptions& options) {
  Findings findings;
  const base::Settings settings = find_configuration(findings);
  find_mpi(findings);
  find_pnetcdf(findings);
  find_kernel(findings);
  try {
    const topology::Node node = topology::discover_node();
    find_node(findings, node, settings);
    find_plan(findings, node, settings, options.ranks > 0 ? options.ranks : static_cast<int>(node.cores.size()));
  } catch (const base::Error& error) {
    findings.push_back({"node", Verdict::fail, error.what(), error.hint()});
  }
  find_job_end(findings, settings);
  find_pools(findings);
  for (const std::string& directory : options.directories) find_storage(findings, directory, settings);
  return findings;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand("doctor", "Look at this machine and say what to do about it");
  verb->add_option("DIR", options->directories, "Directories that files will be written to")->capture_default_str();
  verb->add_option("--ranks", options->ranks, "Ranks on this node, for the plan (default: one per core)")
      ->check(CLI::Range(1, 100'000));
  verb->add_flag("--json", options->json, "Print JSON");
  verb->footer("Exit code: 0, or 1 when something fails.");
  verb->callback([options, &exit_code] {
    const Findings findings = examine(*options);
    std::cout << (options->json ? to_json(findings) : to_text(findings));
    exit_code = worst_of(findings) == Verdict::fail ? found_a_failure : success;
  });
}

}  // namespace glean::cli
