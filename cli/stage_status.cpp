// SPDX-License-Identifier: BSD-3-Clause
//
// glean stage status: what the processes of a staging service say of themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/stage_options.hpp"
#include "cli/verbs.hpp"
#include "staging/address_file.hpp"
#include "staging/control_client.hpp"
#include "wire/key.hpp"

namespace glean::cli {
namespace {

using nlohmann::json;

constexpr double connect_seconds = 5, answer_seconds = 10;
constexpr std::size_t asked_at_once = 32;
constexpr std::chrono::seconds between_looks{2};

struct Asked {
  staging::Stager stager;
  std::optional<json> status;
  std::string problem, hint;   // why there is none
};

void ask(Asked& asked, const wire::Key& key) {
  try {
    staging::ControlClient client(asked.stager.addresses, key, connect_seconds);
    asked.status = client.ask({{"ask", "status"}}, answer_seconds);
  } catch (const base::Error& error) {
    asked.problem = error.what();
    asked.hint = error.hint();
  }
}

std::vector<Asked> ask_all(const std::string& address_file, const wire::Key& key) {
  std::vector<Asked> all;
  for (auto& stager : staging::read_address_file(address_file)) all.push_back({std::move(stager), {}, {}, {}});
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < std::min(all.size(), asked_at_once); ++thread) {
    threads.emplace_back([&] {
      for (std::size_t which = 0; (which = next++) < all.size();) ask(all[which], key);
    });
  }
  threads.clear();
  return all;
}

json to_json(const Asked& asked) {
  json value = {{"identity", asked.stager.identity}, {"host", asked.stager.host},           {"pid", asked.stager.pid},
                {"started", asked.stager.started},   {"addresses", asked.stager.addresses}, {"answers", asked.status.has_value()}};
  if (asked.status) value["status"] = *asked.status;
  else value["problem"] = asked.problem;
  return value;
}

std::string time_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return seconds < 172'800 ? fmt::format("{:.0f} h", seconds / 3600) : fmt::format("{:.0f} days", seconds / 86'400);
}

// What a job says of itself must not change the terminal.
std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f'; }, '?');
  return text;
}

std::string bytes_in(const json& value, const char* key) { return base::readable_bytes(value.at(key).get<base::Bytes>()); }
std::string number_of(std::uint64_t number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }
std::uint64_t number_in(const json& value, const char* key) { return value.at(key).get<std::uint64_t>(); }

using Row = std::array<std::string, 8>;

void print_rows(const std::vector<Row>& rows) {
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], row[column].size());
  }
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t column = 0; column < row.size(); ++column) line += fmt::format(" {:<{}} ", row[column], widths[column]);
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

Row row_of(const json& job) {
  const json& files = job.at("files");
  std::string of_files = fmt::format("{} done, {} open", number_in(files, "published"), number_in(files, "open"));
  if (number_in(files, "failed") != 0) of_files += fmt::format(", {} failed", number_in(files, "failed"));
  if (number_in(files, "kept") != 0) of_files += fmt::format(", {} kept", number_in(files, "kept"));
  std::string of_pool = fmt::format("{} of {}", bytes_in(job, "pool_used_bytes"), bytes_in(job, "pool_bytes"));
  if (job.value("spilled_bytes", base::Bytes{0}) != 0) of_pool += fmt::format(", {} spilled", bytes_in(job, "spilled_bytes"));
  return {printable(job.at("label").get<std::string>()),
          job.at("state").get<std::string>(),
          time_text(job.at("seconds").get<double>()),
          fmt::format("{} of {}", number_in(job, "index") + 1, number_in(job, "stagers")),
          std::to_string(number_in(job, "clients")),
          of_files,
          bytes_in(job, "written_bytes"),
          of_pool};
}

void print_jobs(const json& jobs) {
  if (jobs.empty()) return;
  std::vector<Row> rows{{"JOB", "STATE", "SINCE", "STAGER", "CLIENTS", "FILES", "WRITTEN", "POOL"}};
  for (const json& job : jobs) rows.push_back(row_of(job));
  print_rows(rows);
}

void print_finished(const json& finished) {
  const json& files = finished.at("files");
  std::cout << fmt::format("  finished  {}, {} with a problem; {} published, {} failed; {} written\n",
                           number_of(number_in(finished, "jobs"), "job"), number_in(finished, "incomplete"),
                           number_of(number_in(files, "published"), "file"), number_in(files, "failed"),
                           bytes_in(finished, "written_bytes"));
  for (const json& job : finished.at("last")) {
    const auto problem = job.at("problem").get<std::string>(), left = job.at("left_pool").get<std::string>();
    if (problem.empty()) continue;
    std::cout << fmt::format("    job '{}': {}{}\n", printable(job.at("label").get<std::string>()), printable(problem),
                             left.empty() ? "" : "; " + left.substr(1) + " was left in memory");
  }
}

void print(const Asked& asked) {
  const staging::Stager& stager = asked.stager;
  std::cout << fmt::format("{}, process {}, at {}\n", stager.host, stager.pid, stager.addresses.front());
  if (!asked.status) {
    std::cout << "  does not answer: " << asked.problem << '\n';
    return;
  }
  const json& status = *asked.status;
  const json& memory = status.at("memory");
  std::cout << fmt::format("  {}  since {}, version {}, {}\n", status.at("state").get<std::string>(),
                           time_text(status.at("uptime_seconds").get<double>()), status.at("version").get<std::string>(),
                           number_of(number_in(status, "connections"), "connection"))
            << fmt::format("  writes below {}\n", fmt::join(status.at("directories").get<std::vector<std::string>>(), ", "))
            << fmt::format("  memory  {} of {} in use, {} at most so far", bytes_in(memory, "used_bytes"), bytes_in(memory, "budget_bytes"),
                           bytes_in(memory, "high_water_bytes"));
  if (number_in(memory, "left_bytes") != 0) {
    const auto kept = number_in(memory, "kept_files");
    std::cout << fmt::format("; {} of it left by {}, which `glean recover` on {} completes", bytes_in(memory, "left_bytes"),
                             number_of(number_in(memory, "left_jobs"), "job"), stager.host);
    if (kept != 0) std::cout << fmt::format("\n  kept    {} that the storage refuses, until there is room", number_of(kept, "file"));
  }
  std::cout << '\n';
  if (const json& reading = status.at("reading"); number_in(reading, "read_bytes") != 0) {
    std::cout << fmt::format("  read    {} by jobs that do not see the directories; {} open\n", bytes_in(reading, "read_bytes"),
                             number_of(number_in(reading, "open_files"), "file"));
  }
  print_jobs(status.at("jobs"));
  print_finished(status.at("finished"));
}

// A service of another version may leave something out.
void print_what_there_is(const Asked& asked) {
  try {
    print(asked);
  } catch (const json::exception&) {
    std::cout << fmt::format("  {} says something that this version does not understand; --json shows it\n", asked.stager.host);
  }
}

int look(const StageOptions& options, const wire::Key& key) {
  const std::vector<Asked> all = ask_all(options.address_file, key);
  if (options.watch && ::isatty(STDOUT_FILENO) != 0) std::cout << "\x1b[H\x1b[2J";
  if (options.json) {
    json stagers = json::array();
    for (const Asked& asked : all) stagers.push_back(to_json(asked));
    std::cout << json{{"stagers", stagers}}.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    for (const Asked& asked : all) print_what_there_is(asked);
  }
  std::cout.flush();
  int exit_code = success;
  for (const Asked& asked : all) {
    if (asked.status) continue;
    std::cerr << fmt::format("glean: process {} on {} does not answer: {}\n", asked.stager.pid, asked.stager.host, asked.problem);
    if (!asked.hint.empty()) std::cerr << "glean: " << asked.hint << '\n';
    exit_code = found_a_failure;
  }
  return exit_code;
}

}  // namespace

int stage_status(const StageOptions& options) {
  const wire::Key key = wire::find_key(key_file_of(options));
  int exit_code = look(options, key);
  while (options.watch && std::cout) {
    std::this_thread::sleep_for(between_looks);
    exit_code = look(options, key);
  }
  return exit_code;
}

}  // namespace glean::cli
