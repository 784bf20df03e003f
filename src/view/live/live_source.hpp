// SPDX-License-Identifier: BSD-3-Clause
//
// Shows the newest steps that are in a pool, before their files are complete.
//
// Steps are pinned in the pool while they are shown, at most a quarter of it: the newest of each series, if half of that holds them, for as
// long as there are viewers. A larger step is let go when what viewers have asked for is answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.hpp"
#include "drain/consumers.hpp"
#include "pool/pool.hpp"
#include "view/exhibit.hpp"
#include "view/live/live_dataset.hpp"
#include "view/source.hpp"

namespace glean::view {

using base::Bytes;

class LiveSource : public Source {
 public:
  // Both must outlive it. Adds itself to the consumers. Throws where these have no room for it.
  LiveSource(drain::Consumers& consumers, pool::Pool& pool);
  ~LiveSource() override;   // lets go of all steps; no thread may be in collect()

  [[nodiscard]] std::uint64_t look() override { return version_; }
  [[nodiscard]] Answer answer(const nlohmann::json& request) override;

  // Waits for the next step for so long, and takes it up: it is to be shown. False: none came. From one thread. `is_watched`: there are
  // viewers; without them steps are noted and let go at once.
  bool collect(double seconds, bool is_watched);
  // What is too large to be held is let go once it was shown for so long.
  void let_go_of_large(double after_seconds);

 private:
  // A step, pinned until the last that uses it is done.
  struct Held {
    Held(drain::Consumers& of, drain::Consumers::Id which, drain::CompleteStep step, std::shared_ptr<const FixedValues> fixed)
        : consumers(of), id(which), number(step.number), dataset(std::move(step), std::move(fixed)) {}
    ~Held() { consumers.release(id, number); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    drain::Consumers& consumers;
    drain::Consumers::Id id;
    std::uint64_t number;
    LiveDataset dataset;
    std::unique_ptr<Exhibit> exhibit;   // made when it is first asked for
    Bytes bytes = 0;
    double complete_s = 0;              // seconds since 1970
  };
  struct Series {
    std::shared_ptr<Held> newest;       // null: let go
    nlohmann::json fields = nlohmann::json::array();
    std::string file, problem;
    std::uint64_t steps = 0;            // that were complete
    double complete_s = 0;
    std::map<std::string, std::deque<nlohmann::json>> history;   // by variable
  };
  struct Output {
    std::string series;
    std::shared_ptr<const FixedValues> fixed;
  };

  void take_up(drain::CompleteStep step, bool is_watched);
  using Fixed = std::shared_ptr<const FixedValues>;
  [[nodiscard]] static Fixed fixed_with(const LiveDataset& dataset, const Fixed& before);
  [[nodiscard]] Answer picture(const nlohmann::json& request, const std::string& what);
  [[nodiscard]] Answer list();
  [[nodiscard]] Answer pool_now() const;

  drain::Consumers& consumers_;
  pool::Pool& pool_;
  Bytes budget_;
  drain::Consumers::Id consumer_;
  std::atomic<std::uint64_t> version_{1};
  mutable std::mutex mutex_;
  std::map<std::string, Series> series_;
  std::map<pool::OutputKey, Output> outputs_;
};

}  // namespace glean::view
