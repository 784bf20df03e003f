// SPDX-License-Identifier: BSD-3-Clause
#include "service/recovery.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "played_processes.hpp"
#include "virtual_ranks.hpp"
#include "capture/dropping.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/sums/verify.hpp"
#include "transport/local_messages.hpp"

namespace glean::tests::recovery_of_nodes_test {
namespace {

using store::TemporaryDirectory;

constexpr int nodes = Played::nodes, ranks_of_node = 2, steps = 3;

std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Pools of two nodes whose ranks have put outputs of three steps and are no more.
class LeftOnNodes : public testing::Test {
 protected:
  LeftOnNodes() {
    plan::NodePlan plan = pool::small_plan();
    plan.pool_bytes = 8 * base::MiB;
    plan.journal_bytes_per_rank = 512 * base::KiB;
    plan.request_bytes = 4 * base::KiB;
    for (int node = 0; node < nodes; ++node) {
      const pool::NodeShare share{"left", nodes, node};
      made_[node] = std::make_unique<pool::TestPool>(ranks_of_node, plan, share);
      for (int rank = 0; rank < ranks_of_node; ++rank) {
        made_[node]->pool.journal(rank).job_rank = static_cast<std::uint32_t>(node * ranks_of_node + rank);
      }
      names_.push_back(made_[node]->pool.name());
    }
  }
  ~LeftOnNodes() override {
    for (const auto& name : names_) shm_unlink(name.c_str());
  }

  // All ranks of all nodes have put and closed it, and nothing is written yet.
  VirtualOutput put(const std::string& name, base::Publish publish = base::Publish::rename) {
    VirtualOutput output;
    do {
      output = VirtualOutput::random(random_, nodes * ranks_of_node, steps, directory_ / name);
    } while (output.file().size() < 16 * base::KiB);   // both nodes have something of it
    output.description.share = {.machine = plan::plain_machine(nodes), .nodes = nodes, .window_bytes = 4 * base::KiB,
                                .request_bytes = 4 * base::KiB};
    if (publish == base::Publish::in_place) output.description.names.working_path = output.description.names.final_path;
    output.description.checksums = checksums_;
    const std::uint64_t number = ++outputs_;
    for (int node = 0; node < nodes; ++node) {
      VirtualRanks ranks(*made_[node]);
      auto opener = ranks.recorder(0);
      const auto key = ranks.open(opener, output);
      made_[node]->pool.slot(key.slot).nodes.job_output = number;
      while (full_ != base::WhenFull::block && made_[node]->pool.take_chunk()) {}   // recovery finds them
      for (int rank = 0; rank < ranks_of_node; ++rank) {
        auto recorder = ranks.recorder(rank);
        capture::FullPoolPolicy policy(made_[node]->pool, recorder, rank, calls_);
        for (const VirtualPut& put : output.puts) {
          if (put.rank == node * ranks_of_node + rank) VirtualRanks::put(policy, full_, key, output, put);
        }
        figures_.spilled_pieces += policy.figures().spilled_pieces;
        figures_.synchronous_puts += policy.figures().synchronous_puts;
        ranks.report(recorder, key, rank, steps | pool::rank_closed);
      }
    }
    return output;
  }
  // Everything is in the file, and node 0 has done with it; node 1 was killed before it heard how it ended.
  VirtualOutput put_and_write(const std::string& name, base::Publish publish = base::Publish::rename) {
    VirtualOutput output = put(name, publish);
    store::write_text(output.description.names.working_path, "written");
    first_slot_of(0).state = pool::OutputState::published;
    first_slot_of(1).nodes.part_durable = 1;
    first_slot_of(1).working_inode = inode_of(output.description.names.working_path);
    return output;
  }
  pool::OutputSlot& first_slot_of(int node) { return made_[node]->pool.slot(0); }

  // This process does not use the pools any more.
  void leave() {
    for (auto& made : made_) {
      if (made) const pool::Pool unmapped = std::move(made->pool);
      made.reset();
    }
  }
  // By one process, which sees them.
  std::vector<service::RecoveredPool> recover_alone(const std::vector<std::string>& pools) {
    leave();
    return service::recover_nodes(pools, *service::no_companions(), calls_, [] {});
  }
  // By a process for each node, with calls of its own.
  std::vector<std::vector<service::RecoveredPool>> recover_together(Played& played, const std::array<store::SystemCalls*, nodes>& calls) {
    leave();
    std::vector<std::vector<service::RecoveredPool>> recovered(nodes);
    std::vector<std::thread> processes;
    for (int process = 0; process < nodes; ++process) {
      processes.emplace_back([&, process] {
        const auto index = static_cast<std::size_t>(process);
        Played::Process companions(played, process);
        recovered[index] = service::recover_nodes({names_[index]}, companions, *calls[index], [] {});
      });
    }
    for (auto& process : processes) process.join();
    return recovered;
  }
  static const service::RecoveredPool& of(const std::vector<service::RecoveredPool>& recovered, const std::string& name) {
    return *std::find_if(recovered.begin(), recovered.end(), [&](const auto& each) { return each.pool == name; });
  }
  void expect_published(const service::RecoveredPool& pool, const VirtualOutput& output) {
    EXPECT_EQ(pool.problem, "");
    EXPECT_TRUE(pool.recovered.pool_removed);
    EXPECT_FALSE(pool::exists(pool.pool));
    ASSERT_EQ(pool.recovered.outputs.size(), 1U);
    EXPECT_EQ(pool.recovered.outputs[0].path, output.description.display_path);
    EXPECT_EQ(pool.recovered.outputs[0].state, "published") << pool.recovered.outputs[0].note;
    EXPECT_EQ(pool.recovered.outputs[0].steps, std::uint64_t{steps});
  }
  void expect_whole(const std::vector<service::RecoveredPool>& recovered, const VirtualOutput& output) {
    ASSERT_EQ(recovered.size(), std::size_t{nodes});
    for (const auto& pool : recovered) expect_published(pool, output);
    const std::vector<std::byte> expected = output.file(), found = bytes_of_file(output.description.names.final_path).value_or(expected);
    EXPECT_EQ(found.size(), expected.size());
    if (found != expected) {
      const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first - found.begin();
      ADD_FAILURE() << output.description.display_path << " differs from byte " << at << " on";
    }
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  }
  // The reasons of a pool that has none but failed outputs.
  static std::vector<std::string> reasons(const std::vector<service::RecoveredPool>& recovered, const std::string& name) {
    std::vector<std::string> reasons;
    for (const auto& output : of(recovered, name).recovered.outputs) {
      EXPECT_EQ(output.state, "failed") << output.path;
      reasons.push_back(output.note);
    }
    return reasons;
  }

  std::mt19937 random_{7};
  TemporaryDirectory directory_;
  store::SystemCalls calls_;
  std::array<std::unique_ptr<pool::TestPool>, nodes> made_;
  std::vector<std::string> names_;
  std::uint64_t outputs_ = 0;
  base::WhenFull full_ = base::WhenFull::block;   // and if it is anything else, the pools are
  capture::FullPoolPolicy::Figures figures_;
  bool checksums_ = false;
};

TEST_F(LeftOnNodes, IsCompletedByOneProcessThatSeesAll) {
  const auto output = put("whole.nc");

  expect_whole(recover_alone(names_), output);
}

TEST_F(LeftOnNodes, IsCompletedFromSpillFilesWhichGo) {
  full_ = base::WhenFull::spill;
  for (auto& made : made_) made->spill_to(directory_.string(), 64 * base::MiB);

  const auto output = put("spilled.nc");

  EXPECT_GT(figures_.spilled_pieces, 20U);
  expect_whole(recover_alone(names_), output);
  const std::vector<std::filesystem::path> only_it{directory_ / "spilled.nc"};
  EXPECT_EQ((std::vector<std::filesystem::path>(std::filesystem::directory_iterator(directory_.string()), {})), only_it);
}

// No node has anything of what was written before.
TEST_F(LeftOnNodes, GetsChecksumsOfAllOfIt) {
  checksums_ = true;
  const auto output = put("summed.nc");

  expect_whole(recover_alone(names_), output);

  const std::string& path = output.description.names.final_path;
  const auto sidecar = store::read_sidecar(calls_, path);
  ASSERT_TRUE(sidecar);
  EXPECT_TRUE(store::verify(calls_, path, *sidecar).good());
  const auto is_hole = [&](Bytes at) {
    return std::none_of(sidecar->sums.begin(), sidecar->sums.end(), [&](const store::StridedSum& sum) {
      return at >= sum.begin && at < sum.end() && (sum.stride == 0 || (at - sum.begin) % sum.stride < sum.length);
    });
  };
  const auto file = output.file();
  for (Bytes at = 0; at < file.size(); ++at) ASSERT_TRUE(file[at] == std::byte{0} || !is_hole(at)) << at;
}

TEST_F(LeftOnNodes, IsLeftByAllWhenOneOfThemCannotBeginAndAllSayWhy) {
  const auto output = put("later.nc");
  Played played(nodes);
  played.arrivals_of_node_1 = -1;
  store::SystemCalls calls;

  const auto recovered = recover_together(played, {&calls_, &calls});

  for (const auto& of_process : recovered) {
    ASSERT_EQ(of_process.size(), 1U);
    EXPECT_EQ(of_process[0].problem, "node 1: no cable");
    EXPECT_FALSE(of_process[0].recovered.pool_removed);
    EXPECT_TRUE(pool::exists(of_process[0].pool));
  }
  expect_whole(recover_alone(names_), output);
}

class LeftOnNodesOfWhichOneCannotWrite : public LeftOnNodes, public testing::WithParamInterface<int> {};

// Whichever is done first answers the other until that is, too.
TEST_P(LeftOnNodesOfWhichOneCannotWrite, IsLeftByAll) {
  const auto output = put("later.nc");
  Played played(nodes);
  store::SystemCalls whole;
  store::FaultyCalls broken({store::on("write").fails(EIO)});
  std::array<store::SystemCalls*, nodes> calls{&whole, &whole};
  calls[static_cast<std::size_t>(GetParam())] = &broken;

  for (const auto& of_process : recover_together(played, calls)) {
    ASSERT_EQ(of_process.size(), 1U);
    EXPECT_EQ(of_process[0].problem, "");
    EXPECT_TRUE(pool::exists(of_process[0].pool));
  }
  expect_whole(recover_alone(names_), output);
}

INSTANTIATE_TEST_SUITE_P(Node, LeftOnNodesOfWhichOneCannotWrite, testing::Range(0, int{nodes}));

TEST_F(LeftOnNodes, IsThereForAnotherTryWhateverEndsTheFirst) {
  const auto output = put("later.nc");
  leave();
  for (const int arrivals : {0, 1, 2, 5, 10}) {
    Played played(1);
    played.arrivals_of_node_1 = arrivals;
    Played::Process companions(played, 0);
    EXPECT_THROW(static_cast<void>(service::recover_nodes(names_, companions, calls_, [] {})), base::Error);
  }

  expect_whole(recover_alone(names_), output);
}

TEST_F(LeftOnNodes, IsPublishedWhereNode0HasRenamedTheFile) {
  const auto output = put_and_write("renamed.nc");
  std::filesystem::rename(output.description.names.working_path, output.description.names.final_path);

  const auto recovered = recover_alone(names_);

  ASSERT_EQ(recovered.size(), 2U);
  EXPECT_TRUE(of(recovered, names_[0]).recovered.outputs.empty());   // it has told its ranks
  expect_published(of(recovered, names_[1]), output);
  EXPECT_EQ(store::read_text(output.description.names.final_path), "written");
}

TEST_F(LeftOnNodes, IsPublishedInPlaceWhereAllPartsAreDurable) {
  const auto output = put_and_write("in_place.nc", base::Publish::in_place);

  const auto recovered = recover_alone(names_);

  ASSERT_EQ(recovered.size(), 2U);
  expect_published(of(recovered, names_[1]), output);
  EXPECT_EQ(store::read_text(output.description.names.final_path), "written");
}

TEST_F(LeftOnNodes, HasFailedWhereNode0CouldNotRenameTheFile) {
  store::write_text(directory_ / "refused.nc", "of an earlier job");
  const auto output = put_and_write("refused.nc");

  const auto recovered = recover_alone(names_);

  ASSERT_EQ(recovered.size(), 2U);
  EXPECT_EQ(reasons(recovered, names_[1]), std::vector<std::string>{"it had failed when the job ended"});
  EXPECT_EQ(store::read_text(output.description.names.final_path), "of an earlier job");
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}

TEST_F(LeftOnNodes, DoesNotNeedANodeThatHasNothingUnfinished) {
  const auto output = put_and_write("in_place.nc", base::Publish::in_place);
  leave();

  EXPECT_TRUE(service::remove_if_finished(names_[0]));
  EXPECT_FALSE(service::remove_if_finished(names_[1]));

  const auto recovered = recover_alone({names_[1]});
  ASSERT_EQ(recovered.size(), 1U);
  expect_published(recovered[0], output);
}

// Its process was killed before it had opened the output; then it has nothing unfinished, and its pool may be gone.
TEST_F(LeftOnNodes, DoesNotNeedANodeForWhatWasJustBeingOpened) {
  const auto output = put("opening.nc");
  for (int rank = 0; rank < ranks_of_node; ++rank) made_[0]->pool.rank_progress(0, rank) = 0;
  made_[1]->pool.slot(0).state = pool::OutputState::free;
  first_slot_of(0).nodes.job_last_rank = 0;
  leave();
  EXPECT_TRUE(service::remove_if_finished(names_[1]));

  const auto heard = recover_alone({names_[0]});
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_NE(heard[0].problem, "") << "node 1 had it open";

  pool::Pool::attach(names_[0]).slot(0).nodes.job_last_rank = nodes::NodeProgress::no_rank;
  const auto recovered = recover_alone({names_[0]});
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].problem, "");
  EXPECT_TRUE(recovered[0].recovered.pool_removed);
  EXPECT_EQ(recovered[0].recovered.outputs.at(0).state, "failed");
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}

TEST_F(LeftOnNodes, DoesNotNeedThePoolOfNode0OnceTheFileIsRenamed) {
  const auto output = put_and_write("renamed.nc");
  const std::vector<std::string> only_node_1{names_[1]};

  const auto before = recover_alone(only_node_1);
  ASSERT_EQ(before.size(), 1U);
  EXPECT_NE(before[0].problem.find("the pool of node 0 is not here or in use"), std::string::npos) << before[0].problem;
  EXPECT_TRUE(pool::exists(names_[1]));

  std::filesystem::rename(output.description.names.working_path, output.description.names.final_path);
  const auto after = recover_alone(only_node_1);
  ASSERT_EQ(after.size(), 1U);
  expect_published(after[0], output);
}

TEST_F(LeftOnNodes, MayHaveFailedWithAMessageThatIsNoText) {
  static_cast<void>(put("caf\xe9.nc"));
  pool::fail(first_slot_of(0), static_cast<std::uint32_t>(base::Errc::io), "no room for caf\xe9.nc", "");

  const auto recovered = recover_alone(names_);

  ASSERT_EQ(recovered.size(), 2U);
  EXPECT_EQ(reasons(recovered, names_[0]), std::vector<std::string>{"no room for caf\xe9.nc"});
  EXPECT_EQ(reasons(recovered, names_[1]), std::vector<std::string>{"no room for caf\xe9.nc"});
}

}  // namespace
}  // namespace glean::tests::recovery_of_nodes_test
