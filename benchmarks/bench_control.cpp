// SPDX-License-Identifier: BSD-3-Clause
//
// Many connections to one `glean stage`, most of them idle: how long a question takes beside them.
//
// Its memory and processor time are read from /proc of the process that --pid names.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "staging/address_file.hpp"
#include "staging/control_client.hpp"
#include "staging/job_requests.hpp"
#include "wire/key.hpp"

using namespace glean;
using benchmarks::Json;
using benchmarks::now_seconds;

namespace {

constexpr double deadline_seconds = 60;

struct Options {
  std::string address_file, key_file, json;
  int connections = 5120, questions = 50, pid = 0;
  double idle_seconds = 10;
};

struct Usage {
  double memory_mib = 0, cpu_seconds = 0;
};

Usage usage_of(int pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream statm(process + "/statm"), stat(process + "/stat");
  std::uint64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  std::string text;
  std::getline(stat, text);
  std::istringstream rest(text.substr(text.rfind(')') + 2));   // from the state on (proc(5)): user and system time are 12th and 13th
  std::string word;
  for (int skip = 0; skip < 11; ++skip) rest >> word;
  double user = 0, system = 0;
  rest >> user >> system;
  return {static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20),
          (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))};
}

template <class Call>
Json times_of(int count, Call call) {
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const double begin = now_seconds();
    call(i);
    seconds.push_back(now_seconds() - begin);
  }
  return {{"median_seconds", benchmarks::median(seconds)}, {"longest_seconds", *std::max_element(seconds.begin(), seconds.end())}};
}

// What `glean stage status` does, what a job does when it begins, and a question over a connection that is there.
Json questions(const Options& options, const std::vector<std::string>& addresses, const wire::Key& key, const std::string& sessions) {
  staging::ControlClient there(addresses, key, deadline_seconds);
  const auto status = times_of(options.questions, [&](int) {
    static_cast<void>(staging::ControlClient(addresses, key, deadline_seconds).ask({{"ask", "status"}}, deadline_seconds));
  });
  const auto join = times_of(options.questions, [&](int i) {
    const staging::JoinRequest request{sessions + std::to_string(i), "a job", 1, 1, 0, 4 << 10, 4 << 10};
    static_cast<void>(staging::ControlClient(addresses, key, deadline_seconds).ask(staging::to_json(request), deadline_seconds));
  });
  const auto asked = times_of(options.questions, [&](int) { static_cast<void>(there.ask({{"ask", "status"}}, deadline_seconds)); });
  return {{"connect_and_status", status}, {"connect_and_join", join}, {"status", asked}};
}

int run(const Options& options) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const wire::Key key = wire::find_key(options.key_file);
  const auto addresses = staging::read_address_file(options.address_file).at(0).addresses;
  const Usage before = usage_of(options.pid);
  const Json alone = questions(options, addresses, key, "alone ");
  const Usage asked = usage_of(options.pid);
  std::vector<std::unique_ptr<staging::ControlClient>> idle;
  const double begin = now_seconds();
  while (static_cast<int>(idle.size()) < options.connections) {
    idle.push_back(std::make_unique<staging::ControlClient>(addresses, key, deadline_seconds));
  }
  const double connecting = now_seconds() - begin;
  const Usage connected = usage_of(options.pid);
  std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_seconds));
  const Usage rested = usage_of(options.pid);
  const Json beside = questions(options, addresses, key, "beside ");
  benchmarks::write_json({{"connections", idle.size()},
                          {"alone", alone},
                          {"beside", beside},
                          {"connect_seconds", connecting},
                          {"connect_cpu_seconds", connected.cpu_seconds - asked.cpu_seconds},
                          {"idle_seconds", options.idle_seconds},
                          {"idle_cpu_seconds", rested.cpu_seconds - connected.cpu_seconds},
                          {"memory_mib_before", before.memory_mib},
                          {"memory_mib", rested.memory_mib}},
                         options.json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Many connections to one glean stage, most of them idle");
  app.add_option("--address-file", options.address_file)->required();
  app.add_option("--key", options.key_file)->required();
  app.add_option("--pid", options.pid, "of the service")->required();
  app.add_option("--connections", options.connections);
  app.add_option("--questions", options.questions);
  app.add_option("--idle", options.idle_seconds);
  app.add_option("--json", options.json);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
