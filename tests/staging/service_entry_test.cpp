// SPDX-License-Identifier: BSD-3-Clause
//
// The address file of a service, where other services were before.
#include "cli/service_entry.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_error.hpp"
#include "held_process.hpp"
#include "staging/endpoint.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests {
namespace {

using base::error_of;
using cli::ServiceEntry;

class AddressFileOfAnother : public testing::Test {
 protected:
  // Another process that listens and does not answer has it.
  [[nodiscard]] bool start_other() {
    const staging::OwnedSocket socket = staging::listen_at("127.0.0.1:0");   // the other process has it, too, and keeps it
    staging::Stager other = staging::this_stager(staging::addresses_of(socket));
    if (!other_.start([] { return true; })) return false;
    other.pid = other_.id();
    staging::write_address_file(path(), {other});
    return true;
  }
  [[nodiscard]] std::string path() const { return directory_ / "stage.json"; }
  void enter() {
    const ServiceEntry entry(path(), staging::this_stager({"127.0.0.1:1"}), wire::make_key(), ServiceEntry::Others::of_another);
    EXPECT_EQ(staging::read_address_file(path()).front().pid, getpid());
  }

  store::TemporaryDirectory directory_;
  HeldProcess other_;
};

TEST_F(AddressFileOfAnother, IsItsOwnWhileItDoesNotAnswer) {
  if (!start_other()) GTEST_SKIP() << "no process may be debugged here";
  EXPECT_EQ(error_of([&] { enter(); }).code(), base::Errc::exists);
}

// It may take seconds until it is gone; the kernel lets clients connect up to then.
TEST_F(AddressFileOfAnother, IsFreeWhenItWasKilledAndIsNotGoneYet) {
  if (!start_other()) GTEST_SKIP() << "no process may be debugged here";
  other_.kill_and_hold();
  enter();
}

}  // namespace
}  // namespace glean::tests
