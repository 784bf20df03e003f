// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/verbs.hpp"

glean::cli::ExitCode glean::cli::say(const std::exception& error) {
  std::cerr << "glean: " << error.what() << '\n';
  const auto* known = dynamic_cast<const base::Error*>(&error);
  if (known == nullptr) return found_a_failure;
  if (!known->hint().empty()) std::cerr << "glean: " << known->hint() << '\n';
  return bad_input;
}

glean::base::Bytes glean::cli::bytes_of(const std::string& text, const char* option) {
  if (const auto bytes = base::parse_bytes(text)) return *bytes;
  throw base::Error(base::Errc::invalid_argument, std::string(option) + " takes a size, not '" + text + "'", "such as 64KiB, 1MiB, 1GB");
}

namespace {

// Takes what follows `glean run … --` off the command line: it is another command's, whatever it looks like.
std::vector<std::string> take_command(int& argc, char** argv) {
  std::vector<std::string> command;
  if (argc < 2 || std::string_view(argv[1]) != "run") return command;
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (dashes != end) command.assign(dashes + 1, end);
  argc = static_cast<int>(dashes - argv);
  return command;
}

// CLI11 would only say that a subcommand is missing.
void require_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) throw glean::base::Error(glean::base::Errc::invalid_argument, "what is to be done?", "`glean --help` lists the commands");
  const std::string verb = argv[1];
  std::vector<std::string> known;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == verb) return;
    if (!each->get_group().empty()) known.push_back(each->get_name());
  }
  if (verb.starts_with('-')) return;
  throw glean::base::Error(glean::base::Errc::invalid_argument, "there is no command '" + verb + "'",
                           "did you mean `glean " + glean::base::nearest(verb, known) + "`? `glean --help` lists all");
}

glean::base::Error without_value(const std::string& option) {
  return {glean::base::Errc::invalid_argument, option + " has no value", "--help says what it takes"};
}

// CLI11 would take the next argument for the value of `--machine=`.
void require_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      throw without_value(std::string(argument.substr(0, argument.size() - 1)));
    }
  }
}

// Of an option that comes last CLI11 says "--machine: 1 required TEXT missing".
glean::base::Error in_words(const CLI::ArgumentMismatch& error) {
  const std::string said = error.what(), option = said.substr(0, said.find(':'));
  if (said.ends_with(" missing") && option.starts_with('-')) return without_value(option);
  return {glean::base::Errc::invalid_argument, said, "--help says what it takes"};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> command = take_command(argc, argv);
  CLI::App app("Gets the output of parallel programs off their ranks and into files, in the background.", "glean");
  app.set_version_flag("--version", "glean " GLEAN_VERSION);
  app.require_subcommand(1);
  app.footer("Manual pages: glean(1), glean-calibrate(1), glean-config(1), glean-container(1), glean-convert(1),\n"
             "              glean-doctor(1), glean-join(1), glean-latest(1), glean-plan(1), glean-recover(1), glean-report(1),\n"
             "              glean-run(1), glean-simulate(1), glean-stage(1), glean-topology(1), glean-verify(1), glean-view(1),\n"
             "              glean.toml(5), glean-machine(5)");

  int exit_code = glean::cli::success;
  glean::cli::add_analysis_host(app, exit_code);
  glean::cli::add_calibrate(app, exit_code);
  glean::cli::add_config(app, exit_code);
  glean::cli::add_container(app, exit_code);
  glean::cli::add_convert(app, exit_code);
  glean::cli::add_doctor(app, exit_code);
  glean::cli::add_drain(app, exit_code);
  glean::cli::add_join(app, exit_code);
  glean::cli::add_latest(app, exit_code);
  glean::cli::add_plan(app, exit_code);
  glean::cli::add_recover(app, exit_code);
  glean::cli::add_report(app, exit_code);
  glean::cli::add_run(app, command, exit_code);
  glean::cli::add_simulate(app, exit_code);
  glean::cli::add_stage(app, exit_code);
  glean::cli::add_topology(app, exit_code);
  glean::cli::add_verify(app, exit_code);
  glean::cli::add_view(app, exit_code);
  try {
    require_verb(app, argc, argv);
    require_values(argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {
    return glean::cli::say(in_words(error));
  } catch (const CLI::ParseError& error) {
    // --help and --version come this way too.
    return app.exit(error) == 0 ? glean::cli::success : glean::cli::bad_input;
  } catch (const std::exception& error) {
    return glean::cli::say(error);
  }
  return exit_code;
}
