// SPDX-License-Identifier: BSD-3-Clause
//
// glean report: what a run's report says, and what would have been better.
#include <iostream>
#include <memory>
#include <string>

#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "foresight/page.hpp"
#include "topology/machine_files.hpp"

namespace glean::cli {
namespace {

struct ReportOptions {
  std::string report;
  std::string html;      // empty: none
  std::string machine;   // empty: what the run has met
  int ranks = 0, ranks_per_node = 0;   // for advice; 0: as in the run
};

void show_report(const ReportOptions& options) {
  const foresight::RecordedRun run = foresight::load_run(options.report);
  const topology::Machine machine = options.machine.empty() ? foresight::machine_of(run) : topology::load_machine(options.machine);
  const foresight::Wanted wanted{.ranks = options.ranks, .ranks_per_node = options.ranks_per_node};
  const foresight::Forecast forecast = foresight::forecast(run, machine, wanted);
  const std::vector<foresight::Advice> advice = foresight::advice_for(run, forecast);
  if (options.html.empty()) std::cout << foresight::to_text(run, forecast, advice);
  else write_text_file(options.html, foresight::to_html(run, forecast, advice));
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand("report", "Show the report of a run, and what would have been better");
  verb->add_option("REPORT", options->report, "That a session has written: report.file")->required();
  verb->add_option("--html", options->html, "Write a page with plots, that is complete in itself, instead");
  auto* machine = verb->add_option("--machine", options->machine, "For advice: its name or file; default: what the run has met");
  auto* ranks = verb->add_option("--ranks", options->ranks, "For advice: with so many ranks on --machine; default: as in the run");
  auto* per_node = verb->add_option("--ranks-per-node", options->ranks_per_node, "The same of a node");
  for (CLI::Option* each : {ranks, per_node}) each->check(WholeNumber(1))->needs(machine);
  verb->footer("Exit code: 0, or 2 where the report or the machine cannot be used.");
  verb->callback([options, &exit_code] {
    show_report(*options);
    exit_code = success;
  });
}

}  // namespace glean::cli
