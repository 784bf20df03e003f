// SPDX-License-Identifier: BSD-3-Clause
#include "view/live/live_view.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"

namespace glean::view {
namespace {

constexpr double wait_seconds = 0.1;    // for a step
constexpr double shown_seconds = 0.5;   // a step that is too large to be held
constexpr char by_itself[] = "auto", loopback[] = "127.0.0.1:0";

}  // namespace

LiveView::LiveView(drain::Engine& engine, pool::Pool& pool, const std::string& where) {
  if (where.empty()) return;
  try {
    source_ = std::make_unique<LiveSource>(engine.consumers(), pool);
    Server::Options options;
    options.listen = where == by_itself ? loopback : where;
    server_ = std::make_unique<Server>(options, *source_);
    write_url(pool);
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception& error) {
    server_.reset();
    source_.reset();
    base::log(base::LogLevel::warning, "there is no view of this run: {}", error.what());
  }
}

LiveView::~LiveView() {
  is_stopped_ = true;
  if (thread_.joinable()) thread_.join();
  server_.reset();   // before what it asks
  source_.reset();
  if (!url_file_.empty()) unlink(url_file_.c_str());
}

void LiveView::write_url(const pool::Pool& pool) {
  url_file_ = fmt::format("glean-view.{}.url", pool.name().substr(pool.name().find('.') + 1));
  unlink(url_file_.c_str());   // of a process that was killed while it drained this pool
  const int file = open(url_file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const std::string text = server_->url() + "\n";
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const base::Error error = base::system_error(errno, "cannot write '" + url_file_ + "'");
    if (file >= 0) close(file);
    if (file < 0) url_file_.clear();
    throw error;
  }
  close(file);
  base::log(base::LogLevel::info, "the view of this run: its URL is in {}", url_file_);
}

void LiveView::run() {
  pthread_setname_np(pthread_self(), "glean-live");
  while (!is_stopped_) {
    const bool is_watched = server_->counts().viewers != 0;
    if (source_->collect(wait_seconds, is_watched)) server_->wake();
    source_->let_go_of_large(shown_seconds);
  }
}

}  // namespace glean::view
