// SPDX-License-Identifier: BSD-3-Clause
//
// Where the place of a stager is that does not come back: another process of the service takes it, when it is asked to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "staging/job_requests.hpp"

namespace glean::staging {

// All nodes that look for a place ask the same processes in the same order: the other stagers of the job, from the one that follows it in
// a ring, and then those that the address file names by now. A thread does it; the rest does not block.
class PlaceSearch {
 public:
  // `wake` is called by the thread when something is found. Everything must outlive it.
  PlaceSearch(JobPlaces job, const wire::Key& key, std::function<void()> wake);
  ~PlaceSearch();
  PlaceSearch(const PlaceSearch&) = delete;
  PlaceSearch& operator=(const PlaceSearch&) = delete;

  // The process of that stager, a node of the job, is gone: the search begins when the job has waited for its coming back.
  void begin(int stager);
  // It is back, or another one has its place.
  void end(int stager);
  // Stagers and where they are now. Each is returned once.
  [[nodiscard]] std::vector<std::pair<int, std::string>> found();

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  [[nodiscard]] std::string ask(int stager);
  [[nodiscard]] std::vector<std::vector<std::string>> services(std::size_t lost) const;
  [[nodiscard]] bool is_sought(int stager);

  const JobPlaces job_;
  const wire::Key key_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Clock::time_point> sought_;   // when it is asked for next
  std::vector<std::pair<int, std::string>> found_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace glean::staging
