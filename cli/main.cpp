// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>

#include "base/error.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  CLI::App app("Gets the output of parallel programs off their ranks and into files, in the background.", "glean");
  app.set_version_flag("--version", "glean " GLEAN_VERSION);
  app.require_subcommand(1);
  app.footer("Manual pages: glean(1), glean-config(1), glean-doctor(1), glean-latest(1), glean-recover(1), glean-verify(1),\n"
             "              glean.toml(5)");

  int exit_code = glean::cli::success;
  glean::cli::add_config(app, exit_code);
  glean::cli::add_doctor(app, exit_code);
  glean::cli::add_drain(app, exit_code);
  glean::cli::add_latest(app, exit_code);
  glean::cli::add_recover(app, exit_code);
  glean::cli::add_verify(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version come this way too.
    return app.exit(error) == 0 ? glean::cli::success : glean::cli::bad_input;
  } catch (const glean::base::Error& error) {
    std::cerr << "glean: " << error.what() << '\n';
    if (!error.hint().empty()) std::cerr << "glean: " << error.hint() << '\n';
    return glean::cli::bad_input;
  } catch (const std::exception& error) {
    std::cerr << "glean: " << error.what() << '\n';
    return glean::cli::found_a_failure;
  }
  return exit_code;
}
