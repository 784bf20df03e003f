// SPDX-License-Identifier: BSD-3-Clause
#include "drain/final_path.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "pool/description.hpp"
#include "pool/test_pool.hpp"
#include "store/description.hpp"

namespace glean::drain {
namespace {

class FinalPath : public testing::Test {
 protected:
  // In chunks of 4 KiB.
  void describe(const std::string& path) {
    store::OutputDescription description;
    description.display_path = path.substr(1);
    description.names = {path.substr(0, path.rfind('/')) + "/.working.part", path};
    auto bytes = description.encode_names();
    bytes.resize(bytes.size() + 10'000);   // a layout
    const auto parts = pool::write_parts(made_.pool, key_, bytes);
    ASSERT_TRUE(parts.has_value());
    made_.pool.slot(key_.slot).description = parts->newest;
  }
  [[nodiscard]] std::string found() { return std::string(final_path_of(made_.pool, key_, buffer_)); }

  pool::TestPool made_{1};
  pool::OutputKey key_ = made_.claim_slot();
  std::array<char, 6000> buffer_{};
};

TEST_F(FinalPath, IsThatOfTheDescription) {
  describe("/run/plt0.bin");
  EXPECT_EQ(found(), "/run/plt0.bin");
}

TEST_F(FinalPath, MayBeInSeveralParts) {
  const std::string path = "/run/" + std::string(5000, 'x');
  describe(path);
  EXPECT_EQ(found(), path);
}

TEST_F(FinalPath, IsNoneOfWhatIsNotDescribedOrTooLong) {
  EXPECT_EQ(found(), "");
  describe("/run/" + std::string(6000, 'x'));
  EXPECT_EQ(found(), "");
  describe("/run/plt0.bin");
  ++made_.pool.slot(key_.slot).generation;
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace glean::drain
