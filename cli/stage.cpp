// SPDX-License-Identifier: BSD-3-Clause
//
// glean stage: the staging service, in the foreground.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/launcher.hpp"
#include "cli/service_entry.hpp"
#include "cli/stage_options.hpp"
#include "cli/staging_service.hpp"
#include "cli/verbs.hpp"
#include "staging/address_file.hpp"
#include "staging/endpoint.hpp"
#include "topology/discover/discover.hpp"
#include "view/live/live_view.hpp"
#include "wire/key.hpp"

namespace glean::cli {
namespace {

namespace fs = std::filesystem;

// As long as nodes wait by default (staging.restart): the process before may not be gone for good yet, or another one may have its port.
constexpr std::chrono::seconds just_started{30};

// What is said while it runs goes to a file or a journal as often as to a terminal: every line at once. Problems go to standard error.
void say_line(const std::string& line, StagingService::Tone tone = StagingService::Tone::plain) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (tone == StagingService::Tone::problem) std::cerr << "glean: " << line << std::endl;
  else std::cout << line << std::endl;
}

// Signals by which a service is told to end. They stay blocked, in all threads, and are waited for.
class EndSignals {
 public:
  EndSignals() {
    std::signal(SIGPIPE, SIG_IGN);   // the reader of what it says may be gone
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      struct sigaction action{};
      ::sigaction(signal, nullptr, &action);
      if (signal != SIGHUP || action.sa_handler != SIG_IGN) sigaddset(&set_, signal);   // nohup
    }
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  [[nodiscard]] bool comes_within(std::chrono::nanoseconds time) const {
    const timespec timeout{.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
    return sigtimedwait(&set_, nullptr, &timeout) > 0;
  }

 private:
  sigset_t set_{};
};

// Another process may make it at the same time.
wire::Key find_or_make_key(const std::string& path) {
  const auto find = [&] { return wire::find_key(path); };
  try {
    return find();
  } catch (const base::Error& error) {
    if (error.code() != base::Errc::not_found) throw;
  }
  const fs::path directory = fs::path(path).parent_path();
  if (!directory.empty() && ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw base::system_error(errno, fmt::format("cannot make the directory '{}' of the key file", directory.string()));
  }
  try {
    return wire::make_key_file(path);
  } catch (const base::Error& error) {
    if (error.code() != base::Errc::exists) throw;
  }
  return find();
}

std::string canonical_directory(const std::string& path, const char* purpose = "write below") {
  std::error_code error;
  const fs::path directory = fs::canonical(path, error);
  if (error) throw base::system_error(error.value(), fmt::format("cannot {} '{}'", purpose, path));
  if (!fs::is_directory(directory)) throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' is no directory", path));
  return directory.string();
}

std::string spill_directory(const std::string& path) {
  const std::string directory = canonical_directory(path, "spill to");
  if (::access(directory.c_str(), W_OK | X_OK) != 0) throw base::system_error(errno, fmt::format("cannot spill to '{}'", path));
  return directory;
}

// Its socket takes IPv4, too; a node may have no IPv6.
std::vector<std::string> default_listen() {
  try {
    static_cast<void>(staging::listen_at("[::]:0"));
    return {"[::]:0"};
  } catch (const base::Error&) {
    return {"0.0.0.0:0"};
  }
}

StagingService::Options service_options(const StageOptions& options) {
  StagingService::Options made;
  made.listen = options.listen.empty() ? default_listen() : options.listen;
  for (const std::string& each : options.directories) {
    made.directories.push_back(canonical_directory(each));
    std::string called = fs::absolute(each).lexically_normal().string();
    if (called.size() > 1 && called.ends_with('/')) called.pop_back();
    if (called != made.directories.back()) made.also_called.push_back(called);
  }
  if (options.directories.empty()) made.directories.push_back(canonical_directory("."));
  made.key = find_or_make_key(key_file_of(options));
  const auto bytes = [](const std::string& text) { return base::parse_bytes(text).value_or(0); };
  if (options.memory.empty()) {
    const topology::Node node = topology::discover_node();
    made.memory_bytes = base::align_down(std::min(node.shared_memory_available_bytes, node.memory_available_bytes) / 2, base::MiB);
  } else {
    made.memory_bytes = bytes(options.memory);
  }
  made.job_memory_bytes = options.job_memory.empty() ? std::min(base::GiB, made.memory_bytes) : bytes(options.job_memory);
  if (!options.spill.empty()) {
    made.spill_directory = spill_directory(options.spill);
    made.spill_budget_bytes = bytes(options.spill_budget);
  }
  made.drain_threads = options.threads;
  made.runs_programs = options.programs;
  made.tell = say_line;
  if (!options.view.empty()) {
    made.beside = [where = options.view](const std::string& job, drain::Engine& engine, pool::Pool& pool) {
      auto live = std::make_shared<view::LiveView>(engine, pool, where);
      if (!live->url_file().empty()) say_line(fmt::format("{} has a view: its URL is in {}", job, live->url_file()));
      return live;
    };
  }
  return made;
}

void say_start(const StagingService& service, const StagingService::Options& made, const std::string& address_file) {
  for (const std::string& address : service.addresses()) say_line("listens at " + address);
  say_line(fmt::format("address file {}", address_file));
  if (!made.spill_directory.empty()) {
    say_line(fmt::format("spills to {}, {} for a job", made.spill_directory, base::readable_bytes(made.spill_budget_bytes)));
  }
  say_line(fmt::format("writes below {}; memory {}, {} of it for a job", fmt::join(made.directories, ", "),
                       base::readable_bytes(made.memory_bytes), base::readable_bytes(made.job_memory_bytes)));
}

// Lets jobs end. A signal shortens the time that they have; one more ends the process as it is.
void end_jobs(StagingService& service, const EndSignals& signals, double grace_seconds, ServiceEntry& entry) {
  using Clock = std::chrono::steady_clock;
  service.refuse_jobs();
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace_seconds));
  bool told = false;
  while (!service.wait_until_idle(0.05)) {
    const bool has_signal = signals.comes_within(std::chrono::milliseconds(1));
    if (told && has_signal) {
      say_line("ends at once; what jobs have not done is left in memory: `glean recover` on this host completes it",
               StagingService::Tone::problem);
      entry.remove();
      std::_Exit(found_a_failure);
    }
    if (!told && (has_signal || Clock::now() > deadline)) {
      say_line("jobs that still run are ended", StagingService::Tone::problem);
      service.end_jobs_soon();
      told = true;
    }
  }
}

int say_end(StagingService& service) {
  const auto done = service.status().at("finished");
  const auto left = service.left_in_memory();
  const auto memory = service.status().at("memory");
  say_line(fmt::format("{:<22}{}", "jobs", done.at("jobs").get<std::uint64_t>()));
  say_line(fmt::format("{:<22}{}", "  that had a problem", done.at("incomplete").get<std::uint64_t>()));
  say_line(fmt::format("{:<22}{}", "files published", done.at("files").at("published").get<std::uint64_t>()));
  say_line(fmt::format("{:<22}{}", "files that failed", done.at("files").at("failed").get<std::uint64_t>()));
  if (const auto kept = memory.at("kept_files").get<std::uint64_t>(); kept != 0) {
    say_line(fmt::format("{:<22}{}", "files kept in memory", kept));
  }
  say_line(fmt::format("{:<22}{}", "written", base::readable_bytes(done.at("written_bytes").get<Bytes>())));
  for (const std::string& pool : left) say_line(fmt::format("{:<22}{}", "left in memory", pool.substr(1)));
  if (!left.empty()) say_line("`glean recover` on this host completes what is left");
  return left.empty() ? success : found_a_failure;
}

int stage(const StageOptions& options) {
  const EndSignals signals;
  const StagingService::Options made = service_options(options);
  const std::string address_file = fs::absolute(options.address_file).lexically_normal().string();
  const bool has_companions = find_launcher([](const char* name) { return std::getenv(name); }).count > 1;
  StagingService service(made);
  ServiceEntry entry(address_file, staging::this_stager(service.addresses()), made.key,
                     has_companions ? ServiceEntry::Others::of_this_service : ServiceEntry::Others::of_another);
  say_start(service, made, address_file);
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  for (;;) {
    const bool has_just_started = Clock::now() < started + just_started;
    if (has_just_started) service.go_on_with_left_jobs();
    const auto look_again = std::chrono::milliseconds(has_just_started ? 100 : options.once ? 200 : 60'000);
    if (signals.comes_within(look_again) || (options.once && service.jobs_over() != 0)) break;
  }
  end_jobs(service, signals, *base::parse_seconds(options.grace), entry);
  entry.remove();
  service.try_what_is_kept();
  return say_end(service);
}

std::string check_bytes(const std::string& text) { return base::parse_bytes(text) ? "" : "'" + text + "' is no number of bytes like 4GiB"; }

std::string check_spill(const std::string& text) {
  const auto bytes = base::parse_bytes(text);
  return bytes && *bytes >= base::MiB ? "" : "'" + text + "' is no number of bytes from 1MiB, like 200GiB";
}

}  // namespace

std::string check_view(const std::string& text) {
  return text == "auto" || text.find(':') != std::string::npos ? "" : "'" + text + "' is neither auto nor HOST:PORT";
}

std::string key_file_of(const StageOptions& options) {
  if (!options.key_file.empty()) return options.key_file;
  if (const char* named = std::getenv("GLEAN_STAGING_KEY"); named != nullptr && *named != '\0') return named;   // as jobs find it
  const char* home = std::getenv("HOME");
  const passwd* user = home == nullptr ? ::getpwuid(::getuid()) : nullptr;
  if (user != nullptr) home = user->pw_dir;
  if (home == nullptr) throw base::Error(base::Errc::not_found, "there is no home directory for the key file", "name one with --key");
  return std::string(home) + "/.glean/stage.key";
}

void add_stage(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<StageOptions>();
  CLI::App* verb = app.add_subcommand("stage", "Receive, write and publish the files of jobs that are staged, on this node");
  CLI::App* status = verb->add_subcommand("status", "Show what the processes of a staging service do");
  for (CLI::App* each : {verb, status}) {
    each->add_option("--address-file", options->address_file, "By which clients find the service (default: glean-stage.json)");
    each->add_option("--key", options->key_file,
                     "File with its key, made if it is missing (default: GLEAN_STAGING_KEY, or ~/.glean/stage.key)");
  }
  verb->add_option("--listen", options->listen,
                   "HOST:PORT, [IPv6]:PORT or unix:PATH, once or several times (default: any free port of all interfaces)")
      ->allow_extra_args(false);
  verb->add_option("--directory", options->directories, "Below which jobs may write, once or several times (default: this one)")
      ->allow_extra_args(false);
  verb->add_option("--memory", options->memory, "Shared memory for all jobs (default: half of what is free)")->check(check_bytes);
  verb->add_option("--job-memory", options->job_memory, "For one job at most (default: 1GiB, or all if that is less)")->check(check_bytes);
  auto* spill = verb->add_option("--spill", options->spill,
                                 "Directory on storage of this node where a job goes on whose memory is nearly full (default: none)");
  spill->needs(verb->add_option("--spill-budget", options->spill_budget, "Bytes there, for each job")->check(check_spill)->needs(spill));
  verb->add_option("--threads", options->threads, "That write, of each job (default: 1)")->check(CLI::Range(1, 64));
  verb->add_option("--view", options->view,
                   "HOST:PORT where each job has a live view while it runs, or auto: any free port, of this machine only (default: none)")
      ->check(check_view);
  verb->add_option("--grace", options->grace, "How long jobs may go on when it is told to end (default: 30s)")
      ->check([](const std::string& text) { return base::parse_seconds(text) ? "" : "'" + text + "' is no duration like 30s"; });
  verb->add_flag("--programs", options->programs, "Start what jobs ask for with analyse_with and trigger_run, as this user");
  verb->add_flag("--once", options->once, "End when the first job is over");
  auto* json = status->add_flag("--json", options->json, "Print JSON");
  status->add_flag("--watch", options->watch, "Print it again every 2 s")->excludes(json);
  verb->footer("It runs in the foreground; SIGTERM or SIGINT ends it. Started again after it was\n"
               "killed, it goes on with its jobs.\n"
               "Exit code: 0; 1 when something is left in memory, which `glean recover` completes;\n"
               "2 when it cannot start. Several nodes: mpirun --map-by ppr:1:node glean stage,\n"
               "or srun -N NODES -n NODES glean stage");
  status->footer("Exit code: 0; 1 when a process of the service does not answer;\n"
                 "2 when there is no address file, or the key cannot be read.");
  verb->callback([options, status, &exit_code] {
    exit_code = status->parsed() ? stage_status(*options) : stage(*options);
  });
}

}  // namespace glean::cli
