// SPDX-License-Identifier: BSD-3-Clause
//
// glean run: a command whose MPI-IO is captured, whatever it is.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/run_notes.hpp"
#include "cli/checked_configuration.hpp"
#include "cli/executable.hpp"
#include "cli/private_stagers.hpp"
#include "cli/rank_files.hpp"
#include "cli/run_findings.hpp"
#include "cli/stage_options.hpp"
#include "cli/verbs.hpp"
#include "drain/retired_files.hpp"

namespace glean::cli {
namespace {

constexpr const char* library_name = "libglean_preload.so";
constexpr int cannot_be_run = 126, not_found = 127;   // as of a shell

struct RunOptions {
  std::string mode;
  std::string config;
  int stagers = 0;   // of its own
  std::string view;  // of what they have, as the setting `view` has it
  bool check = false;
  std::vector<std::string> command;
};

// Beside this command, as it was built or installed.
std::string find_library() {
  std::error_code ignored;
  const auto directory = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::filesystem::path& place : {directory / "../lib", directory / "../" GLEAN_LIBRARY_DIRECTORY,
                                             std::filesystem::path(GLEAN_INSTALLED_LIBRARIES)}) {
    const auto library = place / library_name;
    if (std::filesystem::exists(library, ignored)) return std::filesystem::canonical(library, ignored).string();
  }
  throw base::Error(base::Errc::not_found,
                    fmt::format("{} is neither beside this command nor in {}", library_name, GLEAN_INSTALLED_LIBRARIES),
                    "install GLEAN with its libraries, or build the target glean_preload");
}

void check_can_be_preloaded(const std::string& library) {
  if (library.find_first_of(" \t\n:") == std::string::npos) return;
  throw base::Error(base::Errc::unsupported,
                    fmt::format("'{}' cannot be preloaded: in LD_PRELOAD blanks and colons separate libraries", library),
                    "install GLEAN where the path has none");
}

// AddressSanitizer ends a program that has its library behind another one in LD_PRELOAD, unless it is told that this is meant.
void let_sanitized_programs_start(const std::vector<Executable>& programs) {
  const bool some = std::any_of(programs.begin(), programs.end(), [](const Executable& program) {
    return std::any_of(program.libraries.begin(), program.libraries.end(),
                       [](const std::string& library) { return library.starts_with("libasan.so"); });
  });
  if (!some) return;
  const char* before = std::getenv("ASAN_OPTIONS");
  const std::string options = (before == nullptr || *before == '\0' ? "" : std::string(before) + ":") + "verify_asan_link_order=0";
  setenv("ASAN_OPTIONS", options.c_str(), 1);
}

// What the command is to find in its environment, besides the directory of the run.
void set_environment(const RunOptions& options, const std::string& library) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preload = before == nullptr || *before == '\0' ? library : library + ":" + before;
  setenv("LD_PRELOAD", preload.c_str(), 1);
  if (!options.mode.empty()) setenv("GLEAN_MODE", options.mode.c_str(), 1);
  // Programs may change their directory before they start MPI.
  if (!options.config.empty()) setenv("GLEAN_CONFIG", std::filesystem::absolute(options.config).c_str(), 1);
}

void say(const RunFinding& finding) {
  std::cerr << "glean: " << finding.what << '\n';
  if (!finding.advice.empty()) std::cerr << "glean: " << finding.advice << '\n';
}

// A directory of this user's, that goes with it: in the working directory where other hosts are to see it, too, if one can be made there.
class RunDirectory {
 public:
  explicit RunDirectory(bool is_for_other_hosts) {
    std::error_code missing;
    const auto here = std::filesystem::current_path(missing);
    if (is_for_other_hosts && !missing && make((here / ".glean-run.XXXXXX").string())) return;
    const auto temporary = std::filesystem::temp_directory_path(missing);   // TMPDIR may be that of another host
    const std::string pattern = ((missing ? std::filesystem::path("/tmp") : temporary) / "glean-run.XXXXXX").string();
    if (!make(pattern)) throw base::system_error(errno, "cannot make a directory like '" + pattern + "'");
  }
  ~RunDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool make(std::string pattern) {
    if (mkdtemp(pattern.data()) == nullptr) return false;
    path_ = pattern;
    return true;
  }

  std::string path_;
};

volatile pid_t child = 0;

// What a terminal sends all of its foreground processes get, the command too; what is sent to this process alone it passes on.
void pass_on(int signal, siginfo_t* info, void*) {
  if (child > 0 && info->si_code <= 0) kill(child, signal);
}

constexpr std::array passed_on = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};

// Its status as waitpid() gives it.
int run_and_wait(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);   // until it is known to whom to pass them on
  const pid_t started = fork();
  if (started < 0) throw base::system_error(errno, "cannot start a process");
  if (started == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    std::cerr << "glean: " << base::system_error(error, fmt::format("cannot run '{}'", arguments[0])).what() << std::endl;
    _exit(error == ENOENT ? not_found : cannot_be_run);
  }
  child = started;
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : passed_on) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(started, &status, 0) < 0 && errno == EINTR) {}
  child = 0;
  return status;
}

// Ends as the command has ended.
[[noreturn]] void end_by(int signal) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);
}

// Files in this directory that an earlier job on this host had removed when its node went down.
void restore_what_is_hidden() {
  try {
    store::SystemCalls calls;
    const drain::Retired retired = drain::restore_in(".", calls, drain::OfHosts::this_one);
    for (const std::string& path : retired.restored) {
      std::cerr << fmt::format("glean: '{}', which an earlier job has removed, is there again: what it had closed before may be lost\n",
                               path);
    }
  } catch (const base::Error&) {
    // The directory cannot be listed.
  }
}

// A line for each file that the program believes to be there, and that is not.
std::vector<std::string> read_unpublished(const std::string& directory) {
  std::vector<std::string> lines;
  std::ifstream file(directory + "/" + base::unpublished_note);
  for (std::string line; std::getline(file, line);) {   // several nodes may say the same
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines;
}

constexpr int exited(int code) { return W_EXITCODE(code, 0); }

// The status of the command as waitpid() gives it, or what stands for it.
int run(const RunOptions& options) {
  const std::string library = find_library();
  check_can_be_preloaded(library);
  set_environment(options, library);
  static_cast<void>(checked_configuration());   // wrong settings are found now, once
  const Executable examined = examine_library(library);
  const auto programs = programs_of(options.command);
  const auto known = examine_programs(programs, examined);
  let_sanitized_programs_start(programs);
  if (!options.check && !known.empty()) std::cerr << "glean: not everything is going to be captured:\n";
  for (const RunFinding& finding : known) say(finding);
  if (options.check) {
    if (programs.empty()) throw base::Error(base::Errc::not_found, "the command has no program that is there and can be run");
    if (known.empty()) std::cout << fmt::format("LD_PRELOAD={}\n", std::getenv("LD_PRELOAD"));
    return exited(known.empty() ? success : found_a_failure);
  }
  restore_what_is_hidden();
  int status = 0;
  std::vector<std::string> unpublished;
  {
    const bool is_for_other_hosts = may_reach_other_hosts(options.command);
    const RunDirectory directory(is_for_other_hosts);
    setenv("GLEAN_RUN_DIRECTORY", directory.path().c_str(), 1);
    status = run_and_wait(options.command);
    unsetenv("LD_PRELOAD");
    const RunNotes notes = read_notes(directory.path());
    const auto findings = explain(programs, examined, notes, known, status != 0);
    const bool started = !WIFEXITED(status) || (WEXITSTATUS(status) != not_found && WEXITSTATUS(status) != cannot_be_run);
    if (started && !findings.empty()) {
      const bool is_unknown = is_for_other_hosts && nothing_is_seen(programs, notes);
      std::cerr << (is_unknown ? "glean: it could not be seen from here whether MPI-IO was captured: the program says so itself when its "
                                 "MPI starts, in a line 'glean: … ranks, MPI-IO captured'. If there is none:\n"
                               : "glean: MPI-IO was not captured:\n");
      for (const RunFinding& finding : findings) say(finding);
    }
    unpublished = read_unpublished(directory.path());
    const auto not_gathered = finish_rank_files(directory.path(), status != 0);
    unpublished.insert(unpublished.end(), not_gathered.begin(), not_gathered.end());
    for (const std::string& line : unpublished) std::cerr << "glean: " << line << '\n';
  }
  return status == 0 && !unpublished.empty() ? exited(found_a_failure) : status;
}

int run_with_stagers(RunOptions options) {
  if (!options.mode.empty() && options.mode != "staged") {
    throw base::Error(base::Errc::invalid_argument, "--stagers are for mode staged, not " + options.mode);
  }
  options.mode.clear();   // the stagers set it
  const RunDirectory directory(may_reach_other_hosts(options.command));
  PrivateStagers stagers(options.stagers, directory.path(), options.view);
  const int status = run(options);
  return !stagers.finish() && status == 0 ? exited(found_a_failure) : status;
}

// Without -- the command begins with the first word that is no option.
std::vector<std::string> whole_command(std::vector<std::string> before, const std::vector<std::string>& after_dashes) {
  if (before.empty()) return after_dashes;
  if (before[0].starts_with('-')) {
    throw base::Error(base::Errc::invalid_argument, "glean run has no option " + before[0], "glean run --help");
  }
  if (!after_dashes.empty()) before.emplace_back("--");
  before.insert(before.end(), after_dashes.begin(), after_dashes.end());
  return before;
}

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a command so that the MPI-IO of its programs is captured");
  verb->add_option("--mode", options->mode, "As the setting mode: threaded, dedicated, passthrough, …");
  verb->add_option("--config", options->config, "The configuration file");
  auto* stagers = verb->add_option("--stagers", options->stagers, "Start so many stagers on this host, which write for the programs")
                      ->check(CLI::Range(1, 1024));
  verb->add_option("--view", options->view, "Live view of what the stagers have, at HOST:PORT or, auto, any free port of this machine")
      ->check(check_view)
      ->needs(stagers);
  verb->add_flag("--check", options->check, "Do not run it: only say what would not be captured, and why");
  verb->prefix_command();
  verb->footer("The command follows: glean run [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
               "Exit code: that of the command; 1 when that is 0 and a file that was closed is not published;\n"
               "2 when the configuration is wrong, 126 or 127 when the command cannot be run;\n"
               "with --check 1 when something would not be captured.");
  verb->callback([verb, options, command, &exit_code] {
    options->command = whole_command(verb->remaining(), command);
    if (options->command.empty()) {
      throw base::Error(base::Errc::invalid_argument, "no command to run", "glean run -- mpirun -n 8 ./program");
    }
    const int status = options->stagers != 0 ? run_with_stagers(*options) : run(*options);
    if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
    exit_code = WEXITSTATUS(status);
  });
}

}  // namespace glean::cli
