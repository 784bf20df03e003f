// SPDX-License-Identifier: BSD-3-Clause
//
// glean drain: the helper process of a session with drain.place = "process". Sessions start it, people do not.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cli/verbs.hpp"
#include "service/serve.hpp"
#include "view/live/live_view.hpp"

namespace glean::cli {
namespace {

// Standard error of the application's launcher must not be kept open, and a file is only worth having when something is
// said: what is said goes into memory first.
class Messages {
 public:
  explicit Messages(std::string file) : file_(std::move(file)), memory_(memfd_create("glean-drain", MFD_CLOEXEC)) {
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(memory_ >= 0 ? memory_ : nowhere, STDERR_FILENO);
    close(nowhere);
    copier_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        copy();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
      copy();
    });
  }

 private:
  void copy() {
    char text[4096];
    for (ssize_t bytes = 0; (bytes = pread(memory_, text, sizeof text, copied_)) > 0; copied_ += bytes) {
      if (out_ < 0) out_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (out_ < 0 || write(out_, text, static_cast<std::size_t>(bytes)) != bytes) return;
    }
  }

  std::string file_;
  int memory_;
  int out_ = -1;
  off_t copied_ = 0;
  std::jthread copier_;   // last: it ends first
};

// In a process of its own, which no launcher waits for or ends together with the application.
int drain_in_background(const std::string& pool, const std::string& view) {
  const pid_t child = fork();
  if (child != 0) return child < 0 ? found_a_failure : success;
  setsid();
  const Messages messages("glean-drain." + pool.substr(pool.find('.') + 1) + ".log");
  try {
    const service::BesideDrain beside = [&view](drain::Engine& engine, pool::Pool& drained) {
      return std::make_shared<view::LiveView>(engine, drained, view);
    };
    return service::serve(pool, {}, {}, {}, beside) == 0 ? success : found_a_failure;
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "{}", error.what());
    return found_a_failure;
  }
}

}  // namespace

void add_drain(CLI::App& app, int& exit_code) {
  const auto pool = std::make_shared<std::string>(), view = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("drain", "Drain a pool in the background (sessions call it)");
  verb->group("");   // not shown
  verb->add_option("POOL", *pool, "Name of the shared memory object")->required();
  verb->add_option("--view", *view, "Where to serve a live view, as the setting `view` has it");
  verb->callback([pool, view, &exit_code] { exit_code = drain_in_background(*pool, *view); });
}

}  // namespace glean::cli
