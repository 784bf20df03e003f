// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "staging/place_search.hpp"
#include "staging/test_service.hpp"

namespace glean::staging {
namespace {

using nlohmann::json;

constexpr int lost_stager = 1;   // of a job of one client and three stagers: the first of these, node 1

// Where its place is looked for: first at the second stager, and then at the third, which takes it.
class Places : public testing::Test {
 protected:
  void look(ControlServer::Options options, ControlServer::Handler handler) {
    options.key = key_;
    second_.emplace(options, std::move(handler));
    JobPlaces job{.join = {.session = "s", .label = "", .clients = 1, .stagers = 3, .chunk_bytes = 1, .request_bytes = 1, .keeps = true},
                  .doors = {"1", "2", "3"}, .services = {{}, second_->addresses(), third_.addresses()}, .address_file = "/nowhere"};
    search_.emplace(job, key_, [] {});
    search_->begin(lost_stager);
  }
  [[nodiscard]] bool finds() {
    return comes_true([&] { return !search_->found().empty(); });
  }

  const wire::Key key_ = wire::make_key();
  std::atomic<int> asked_third_ = 0;
  ControlServer third_{[&] {
                         auto options = options_at();
                         options.key = key_;
                         return options;
                       }(),
                       [&](const json&, const Peer&) {
                         ++asked_third_;
                         return taken_place("third");
                       }};
  std::optional<ControlServer> second_;
  std::optional<PlaceSearch> search_;
};

TEST_F(Places, AreLookedForAtTheNextStagerWhenOneRefuses) {
  look(options_at(), [](const json&, const Peer&) -> Answer { throw base::Error(base::Errc::invalid_state, "no"); });
  EXPECT_TRUE(finds());
  EXPECT_EQ(asked_third_, 1);
}

TEST_F(Places, AreNotLookedForAnyMoreWhenTheStagerIsBack) {
  std::binary_semaphore is_asked(0), is_back(0);
  look(options_at(), [&](const json&, const Peer&) -> Answer {
    is_asked.release();
    is_back.acquire();
    throw base::Error(base::Errc::invalid_state, "no");
  });
  is_asked.acquire();
  search_->end(lost_stager);
  is_back.release();
  search_.reset();   // the round is over
  EXPECT_EQ(asked_third_, 0);
}

// Whether it has taken the place is not known when the connection is lost before its answer has come.
TEST_F(Places, AreLookedForAgainAtAStagerThatMayHaveTakenThem) {
  std::atomic<int> asked = 0;
  auto options = options_at();
  options.message_bytes_max = 4 * default_message_bytes_max;
  look(options, [&](const json&, const Peer&) {
    return taken_place(++asked == 1 ? std::string(2 * default_message_bytes_max, 'x') : "second");   // the client hangs up
  });
  EXPECT_TRUE(finds());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(asked_third_, 0);
}

}  // namespace
}  // namespace glean::staging
