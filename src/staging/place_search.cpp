// SPDX-License-Identifier: BSD-3-Clause
#include "staging/place_search.hpp"

#include <pthread.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "staging/address_file.hpp"
#include "staging/control_client.hpp"

namespace glean::staging {
namespace {

constexpr double connecting_seconds = 3, answer_seconds = 20;
constexpr std::chrono::seconds between_rounds{1};

}  // namespace

PlaceSearch::PlaceSearch(JobPlaces job, const wire::Key& key, std::function<void()> wake)
    : job_(std::move(job)), key_(key), wake_(std::move(wake)) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

PlaceSearch::~PlaceSearch() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PlaceSearch::begin(int stager) {
  const std::chrono::duration<double> after(job_.join.restart_seconds);
  const std::scoped_lock lock(mutex_);
  sought_.try_emplace(stager, Clock::now() + std::chrono::duration_cast<Clock::duration>(after));
  changed_.notify_all();
}

void PlaceSearch::end(int stager) {
  const std::scoped_lock lock(mutex_);
  sought_.erase(stager);
  std::erase_if(found_, [&](const auto& each) { return each.first == stager; });
}

std::vector<std::pair<int, std::string>> PlaceSearch::found() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(found_, {});
}

void PlaceSearch::run() {
  pthread_setname_np(pthread_self(), "glean-places");
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const auto next = std::min_element(sought_.begin(), sought_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (next == sought_.end()) {
      changed_.wait(lock);
    } else if (next->second > Clock::now()) {
      changed_.wait_until(lock, next->second);
    } else {
      const int stager = next->first;
      next->second = Clock::now() + between_rounds;
      lock.unlock();
      const std::string door = ask(stager);
      lock.lock();
      if (door.empty() || sought_.erase(stager) == 0) continue;
      found_.emplace_back(stager, door);
      wake_();
    }
  }
}

// Where those are asked that may take the place of that stager, in order.
std::vector<std::vector<std::string>> PlaceSearch::services(std::size_t lost) const {
  const auto stagers = static_cast<std::size_t>(job_.join.stagers);
  std::vector<std::vector<std::string>> services;
  for (std::size_t next = 1; next < stagers; ++next) services.push_back(job_.services[(lost + next) % stagers]);
  try {
    for (const Stager& each : read_address_file(job_.address_file)) {
      if (std::find(job_.services.begin(), job_.services.end(), each.addresses) == job_.services.end()) services.push_back(each.addresses);
    }
  } catch (const base::Error&) {
    // This node does not see it, or no other service is there.
  }
  return services;
}

bool PlaceSearch::is_sought(int stager) {
  const std::scoped_lock lock(mutex_);
  return !ends_ && sought_.contains(stager);
}

// Empty: no process takes it now.
std::string PlaceSearch::ask(int stager) {
  const auto lost = static_cast<std::size_t>(stager - job_.join.clients);
  const TakeRequest request{job_, static_cast<int>(lost)};
  for (const std::vector<std::string>& addresses : services(lost)) {
    if (!is_sought(stager)) break;   // any more
    std::optional<ControlClient> service;
    try {
      service.emplace(addresses, key_, connecting_seconds);
      return taken_place_from(service->ask(to_json(request), answer_seconds));
    } catch (const base::Error& error) {
      base::log(base::LogLevel::info, "the place of node {} is not taken: {}", stager, error.what());
      // It may have taken it all the same: then no other must, and it says so when it is asked again.
      if (service && (error.code() == base::Errc::timeout || !service->is_connected())) break;
    }
  }
  return {};
}

}  // namespace glean::staging
