// SPDX-License-Identifier: BSD-3-Clause
//
// glean view: files in a browser, as they appear.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "view/files/file_source.hpp"
#include "view/server.hpp"

namespace glean::cli {
namespace {

struct ViewOptions {
  std::vector<std::string> places;
  std::string listen = "127.0.0.1:0";
  std::string host;
  int viewers = 32;
  bool opens_no_browser = false;
};

// Only where there is a screen: elsewhere a browser of text would take the terminal.
void open_browser(const std::string& url) {
  if (getenv("DISPLAY") == nullptr && getenv("WAYLAND_DISPLAY") == nullptr) return;
  const pid_t child = fork();
  if (child != 0) return;
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  execlp("xdg-open", "xdg-open", url.c_str(), nullptr);
  _exit(127);
}

void serve(const ViewOptions& options) {
  std::vector<std::string> places = options.places;
  if (places.empty()) places.emplace_back(".");
  for (const std::string& place : places) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored)) continue;
    throw base::Error(base::Errc::not_found, "there is no '" + place + "' to view", "name a directory, or files of NetCDF or HDF5");
  }
  sigset_t ends{};
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGCHLD, SIG_IGN);   // of the browser

  view::FileSource source(places);
  view::Server::Options server_options;
  server_options.listen = options.listen;
  server_options.host = options.host;
  server_options.viewers_max = static_cast<std::size_t>(options.viewers);
  view::Server server(server_options, source);
  std::cout << server.url() << std::endl;   // a program that waits for it gets it at once
  std::cerr << "glean: the view ends with Ctrl-C; the URL lets in whatever has it\n";
  if (!options.opens_no_browser) open_browser(server.url());
  int signal = 0;
  sigwait(&ends, &signal);
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ViewOptions>();
  CLI::App* verb = app.add_subcommand("view", "Show files in a browser, and new ones as they appear");
  verb->add_option("DIRECTORY|FILE", options->places, "What to show: NetCDF, HDF5, FLASH and VTKHDF files; default: the current directory");
  verb->add_option("--listen", options->listen, "HOST:PORT; default: 127.0.0.1:0, a free port that only this machine reaches");
  verb->add_option("--host", options->host, "A name by which browsers may reach this server beside that of this machine");
  verb->add_option("--viewers", options->viewers, "At most so many at once; default: 32")->check(WholeNumber(1));
  verb->add_flag("--no-open", options->opens_no_browser, "Start no browser where there is a screen");
  verb->footer("Prints the URL with the token that lets in; serves until it is interrupted.\n"
               "Exit code: 0, or 2 where it cannot listen or there is no such file.");
  verb->callback([options, &exit_code] {
    serve(*options);
    exit_code = success;
  });
}

}  // namespace glean::cli
