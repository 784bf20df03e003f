// SPDX-License-Identifier: BSD-3-Clause
//
// Containers of task-local files, as programs write and read them: on one node or several (GLEAN_TOPOLOGY_RANKS_PER_NODE), in the mode
// that the environment says (GLEAN_MODE).
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>

#include "ranks.hpp"

namespace glean::test {
namespace {

// Other bytes for each rank.
std::string text_of(std::uint64_t rank, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint64_t state = rank * 2 + 12345;
  for (char& each : text) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    each = static_cast<char>(state >> 56);
  }
  return text;
}

std::string all_of(TaskInput in) {
  std::string text(in.bytes(), '\0');
  const std::size_t half = text.size() / 2;
  EXPECT_EQ(in.read_bytes(text.data(), half), half);
  EXPECT_EQ(in.read(std::span(text).subspan(half)), text.size() - half);
  EXPECT_TRUE(in.eof());
  return text;
}

class Containers : public Ranks {
 protected:
  // In mode dedicated some ranks only write for the others.
  template <class Program>
  void in_session(Program program, const Settings& more = {}) {
    Session session(MPI_COMM_WORLD, with(more));
    if (session.is_writer()) return;
    comm_ = session.application_comm();
    MPI_Comm_rank(comm_, &task_);
    MPI_Comm_size(comm_, &tasks_);
    program(session);
    session.close();
  }
  void barrier() const { MPI_Barrier(comm_); }
  // How much each rank writes: some nothing.
  [[nodiscard]] static std::size_t bytes_of(int rank) { return rank % 4 == 3 ? 0 : 1 + static_cast<std::size_t>(rank) * 7919 % 40'000; }
  void write(Session& session, const std::string& name, const ContainerOptions& options) const {
    TaskFile out = session.create_container(path(name), options);
    const std::string mine = text_of(static_cast<std::uint64_t>(task_), bytes_of(task_));
    std::mt19937 random(static_cast<unsigned>(task_));
    for (std::size_t done = 0; done < mine.size();) {   // in parts of any size
      const std::size_t part = std::min<std::size_t>(mine.size() - done, 1 + random() % 9000);
      out.write(std::span(mine).subspan(done, part));
      done += part;
    }
    EXPECT_EQ(out.position(), mine.size());
    out.close();
  }
  void expect_written(const ContainerInput& in) const {
    const auto all = in.tasks();
    ASSERT_EQ(all.size(), static_cast<std::size_t>(tasks_));
    EXPECT_TRUE(in.is_complete());
    for (int rank = 0; rank < tasks_; ++rank) {
      const ContainerTask& task = all[static_cast<std::size_t>(rank)];
      EXPECT_EQ(task.task, static_cast<std::uint64_t>(rank));
      EXPECT_EQ(task.bytes, bytes_of(rank));
      EXPECT_TRUE(all_of(in.open(task.task)) == text_of(task.task, bytes_of(rank))) << rank;
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int task_ = 0, tasks_ = 1;
};

TEST_F(Containers, EveryRankReadsWhatEveryRankHasWritten) {
  in_session([&](Session& session) {
    for (const int files : {1, 2, 0}) {
      if (files > tasks_) continue;
      const std::string name = "of" + std::to_string(files) + ".sion";
      write(session, name, {.chunk_bytes = 10'000, .files = files, .block_bytes = 4096});
      expect_written(session.open_container(path(name)));   // waits until it is there
      barrier();
      const ContainerInput in = glean::open_container(path(name));
      EXPECT_EQ(in.path(), path(name));
      expect_written(in);
    }
    barrier();
    for (const std::string& name : others()) EXPECT_FALSE(name.ends_with(".part")) << name;
  });
}

TEST_F(Containers, RanksHaveChunksOfTheirOwnSize) {
  in_session([&](Session& session) {
    write(session, "a.sion", {.chunk_bytes = 1 + static_cast<std::uint64_t>(task_) * 5000, .block_bytes = 512});
    expect_written(session.open_container(path("a.sion")));
    barrier();
  });
}

TEST_F(Containers, OneThatIsThereIsReplacedWhenTheNewOneIsComplete) {
  in_session([&](Session& session) {
    for (const int files : {1, tasks_ > 1 ? 2 : 1}) {
      write(session, "a.sion", {.files = files});
      {
        TaskFile out = session.create_container(path("a.sion"));
        out.write(std::span<const char>("short", 5));
        out.wait(Level::durable);
        expect_written(open_container(path("a.sion")));
        barrier();
        out.close(Level::durable);
      }
      const ContainerInput in = open_container(path("a.sion"));
      EXPECT_EQ(all_of(in.open(static_cast<std::uint64_t>(task_))), "short");
      barrier();
    }
  });
}

TEST_F(Containers, ChunksOfTheTasksOfAWriterShareBlocks) {
  in_session([&](Session& session) {
    constexpr std::uint64_t block = 1 << 20;
    write(session, "grouped.sion", {.chunk_bytes = 50'000, .block_bytes = block, .tasks_per_writer = 4});
    write(session, "aligned.sion", {.chunk_bytes = 50'000, .block_bytes = block});
    expect_written(session.open_container(path("grouped.sion")));
    expect_written(session.open_container(path("aligned.sion")));
    const auto blocks = [&](const std::string& name) { return (std::filesystem::file_size(path(name)) - block) / block; };
    EXPECT_EQ(blocks("aligned.sion"), static_cast<std::uint64_t>(tasks_));
    EXPECT_EQ(blocks("grouped.sion"), static_cast<std::uint64_t>((tasks_ + 3) / 4));
    barrier();
  });
}

TEST_F(Containers, ATaskHasSeveralLogicalFiles) {
  in_session([&](Session& session) {
    const auto name = [](int rank, int number) { return "rank" + std::to_string(rank) + "/part" + std::to_string(number); };
    TaskFile out = session.create_container(path("a.sion"), {.chunk_bytes = 3000, .name = name(task_, 0)});
    for (int number = 0; number < 5; ++number) {
      if (number > 0) out.begin_file(name(task_, number));
      const std::string text = text_of(static_cast<std::uint64_t>(100 * task_ + number), 1000 * static_cast<std::size_t>(number));
      out.write(std::span(text));
    }
    out.close();

    const ContainerInput in = session.open_container(path("a.sion"));
    EXPECT_EQ(in.files().size(), static_cast<std::size_t>(5 * tasks_));
    for (int rank = 0; rank < tasks_; ++rank) {
      for (int number = 0; number < 5; ++number) {
        const std::size_t bytes = 1000 * static_cast<std::size_t>(number);
        EXPECT_TRUE(all_of(in.open(name(rank, number))) == text_of(static_cast<std::uint64_t>(100 * rank + number), bytes));
      }
    }
    EXPECT_ERROR(static_cast<void>(in.open("rank0/part9")), Errc::not_found, "rank0/part9");
    EXPECT_ERROR(static_cast<void>(in.open(1'000)), Errc::not_found, "1000");
    barrier();
  });
}

TEST_F(Containers, ARecordIsKeptInOneChunkAndFoundByIt) {
  in_session([&](Session& session) {
    TaskFile out = session.create_container(path("a.sion"), {.chunk_bytes = 1000, .block_bytes = 1024});
    const std::uint64_t capacity = out.bytes_avail_in_block();
    ASSERT_EQ(capacity, 2048U - 64U);   // the trailer does not fit into one block
    const std::string record = text_of(7, 700);
    for (int i = 0; i < 5; ++i) {
      out.ensure_free_space(record.size());
      EXPECT_GE(out.bytes_avail_in_block(), record.size());
      out.write(std::span(record));
    }
    EXPECT_EQ(out.bytes_avail_in_block(), capacity - 700);
    EXPECT_ERROR(out.ensure_free_space(capacity + 1), Errc::invalid_argument, "do not fit");
    out.close();

    const ContainerInput all = session.open_container(path("a.sion"));
    TaskInput in = all.open(static_cast<std::uint64_t>(task_));
    EXPECT_EQ(in.bytes_avail_in_block(), 1400U);
    for (int i = 0; i < 5; ++i) {   // two in each chunk
      in.seek(static_cast<std::uint64_t>(i / 2), static_cast<std::uint64_t>(i % 2) * 700);
      EXPECT_EQ(in.position(), static_cast<std::uint64_t>(i) * 700);
      std::string text(700, '\0');
      EXPECT_EQ(in.read(std::span(text)), 700U);
      EXPECT_TRUE(text == record);
    }
    EXPECT_TRUE(in.eof());
    EXPECT_EQ(in.bytes_avail_in_block(), 0U);
    in.seek(3499);
    EXPECT_FALSE(in.eof());
    EXPECT_ERROR(in.seek(3501), Errc::out_of_range, "3501");
    EXPECT_ERROR(in.seek(0, 1400), Errc::out_of_range, "chunk 0");
    EXPECT_ERROR(in.seek(9, 0), Errc::out_of_range, "chunk 9");
    barrier();
  });
}

TEST_F(Containers, ATaskMayBeLargerThanThePool) {
  in_session([&](Session& session) {
    const std::string mine = text_of(static_cast<std::uint64_t>(task_), 9'000'000);
    TaskFile out = session.create_container(path("a.sion"), {.chunk_bytes = 5'000'000, .files = tasks_ > 1 ? 2 : 1});
    out.write(std::span(mine));
    out.write_bytes(mine.data(), 1'000'000);
    out.close();
    const ContainerInput in = session.open_container(path("a.sion"));
    EXPECT_TRUE(all_of(in.open(static_cast<std::uint64_t>(task_))) == mine + mine.substr(0, 1'000'000));
    barrier();
  }, {{"pool.budget", "8MiB"}});
}

TEST_F(Containers, EveryLevelCanBeWaitedFor) {
  in_session([&](Session& session) {
    TaskFile out = session.create_container(path("a.sion"));
    for (const Level level : {Level::captured, Level::staged, Level::written, Level::durable}) {
      out.write(std::span<const char>("text", 4));
      out.wait(level);
      session.wait(level);
      EXPECT_FALSE(exists("a.sion"));
    }
    EXPECT_ERROR(static_cast<void>(session.open_container(path("a.sion"))), Errc::invalid_state, "close it first");
    barrier();
    out.close();
    session.wait(Level::durable);
    out.wait(Level::durable);
    EXPECT_TRUE(exists("a.sion"));
    EXPECT_ERROR(out.write(std::span<const char>("text", 4)), Errc::invalid_state, "closed");
    EXPECT_EQ(all_of(open_container(path("a.sion")).open(static_cast<std::uint64_t>(task_))), "texttexttexttext");
    barrier();
  });
}

TEST_F(Containers, ClosingWaitsForTheStorageWhereTheSettingsSaySo) {
  in_session([&](Session& session) {
    write(session, "a.sion", {});
    expect_written(open_container(path("a.sion")));
    barrier();
  }, {{"close", "durable"}});
}

// --- what is refused

TEST_F(Containers, AllThatIsWrongIsOneErrorOnAllRanks) {
  in_session([&](Session& session) {
    const int last = tasks_ - 1;
    const auto refused = [&](const ContainerOptions& options, const std::string& text) {
      EXPECT_ERROR(static_cast<void>(session.create_container(path("a.sion"), options)), Errc::invalid_argument, text);
    };
    refused({.chunk_bytes = task_ == last ? 0U : 100U}, "rank " + std::to_string(last) + " asks for chunks of 0 bytes");
    refused({.chunk_bytes = std::uint64_t{1} << 60}, "1 TiB");
    refused({.files = tasks_ + 1}, "cannot be in");
    refused({.files = -1}, "cannot be in");
    refused({.block_bytes = std::uint64_t{1} << 40}, "1 GiB");
    refused({.tasks_per_writer = 0}, "at least one task");
    refused({.chunk_bytes = 0, .name = "/absolute"}, "'/absolute' of rank 0 cannot be");
    refused({.chunk_bytes = 0, .name = "/absolute"}, "rank 0 asks for chunks of 0 bytes");   // both are said
    if (tasks_ > 1) {
      refused({.name = "the same"}, "ranks 0 and 1 both call their file 'the same'");
      refused({.block_bytes = task_ == last ? 512U : 1024U}, "rank " + std::to_string(last) + " has another path, or other");
    }
    EXPECT_ERROR(static_cast<void>(session.create_container(path("missing/a.sion"))), Errc::not_found, "missing");
    EXPECT_ERROR(static_cast<void>(session.open_container(path("missing/a.sion"))), Errc::not_found, "missing");
    EXPECT_ERROR(static_cast<void>(open_container(path("a.sion"))), Errc::not_found, "a.sion");
    const std::string text = path("text." + std::to_string(task_));
    std::ofstream(text) << "a text";
    EXPECT_ERROR(static_cast<void>(session.open_container(text)), Errc::invalid_argument, "it is not a container");
    EXPECT_ERROR(static_cast<void>(session.open_input(text)), Errc::invalid_argument, text);
    std::filesystem::remove(text);
    barrier();
    EXPECT_EQ(others(), std::vector<std::string>{});
    barrier();
    write(session, "a.sion", {});   // the session goes on
    expect_written(session.open_container(path("a.sion")));
    barrier();
  });
}

TEST_F(Containers, WhatOneRankIsRefusedAllAreToldWhenItIsClosed) {
  in_session([&](Session& session) {
    const bool is_it = task_ == tasks_ - 1;
    const auto lose = [&](auto refused, const std::string& text) {
      TaskFile out = session.create_container(path("a.sion"), {.name = "rank" + std::to_string(task_)});
      if (is_it) refused(out);
      out.write(std::span<const char>("more", 4));
      EXPECT_ERROR(out.close(), Errc::invalid_argument, text);
      EXPECT_ERROR(out.wait(Level::durable), Errc::invalid_argument, text);
    };
    lose([](TaskFile& out) { EXPECT_ERROR(out.begin_file("../outside"), Errc::invalid_argument, "../outside"); }, "cannot be the name");
    const std::string mine = "rank" + std::to_string(task_);
    lose([&](TaskFile& out) { EXPECT_ERROR(out.begin_file(mine), Errc::invalid_argument, mine); }, "before");
    lose([](TaskFile& out) { out.fail(Error(Errc::invalid_argument, "of another shape")); }, "of another shape");
    session.wait(Level::durable);
    EXPECT_FALSE(exists("a.sion"));
    barrier();
  });
}

TEST_F(Containers, OneNameOfTwoRanksIsFoundWhenItIsClosed) {
  in_session([&](Session& session) {
    if (tasks_ == 1) return;
    TaskFile out = session.create_container(path("a.sion"));
    out.begin_file("the same");
    EXPECT_ERROR(out.close(), Errc::invalid_argument, "ranks 0 and 1 have both written a file 'the same'");
    EXPECT_ERROR(out.wait(Level::durable), Errc::invalid_argument, "ranks 0 and 1 have both written a file 'the same'");
    session.wait(Level::durable);
    EXPECT_FALSE(exists("a.sion"));
    barrier();
  });
}

TEST_F(Containers, OneThatIsNotClosedLeavesTheOldOne) {
  in_session([&](Session& session) {
    write(session, "a.sion", {});
    session.wait(Level::durable);
    {
      TaskFile out = session.create_container(path("a.sion"));
      out.write(std::span<const char>("lost", 4));
    }
    barrier();
    write(session, "b.sion", {});
    session.wait(Level::durable);
    expect_written(open_container(path("a.sion")));
    barrier();
  });
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(others({"a.sion", "b.sion"}), std::vector<std::string>{});
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Containers, OneThatIsBeingWrittenIsRefusedToAnotherWriter) {
  in_session([&](Session& session) {
    TaskFile out = session.create_container(path("a.sion"));
    EXPECT_ERROR(static_cast<void>(session.create_container(path("a.sion"))), Errc::invalid_state, "a.sion");
    {
      Session other(comm_, with({{"mode", "passthrough"}}));   // as another job would be
      EXPECT_ERROR(static_cast<void>(other.create_container(path("a.sion"))), Errc::invalid_state, "by another job");
      other.close();
    }
    out.write(std::span<const char>("text", 4));
    out.close(Level::durable);
    EXPECT_EQ(all_of(open_container(path("a.sion")).open(static_cast<std::uint64_t>(task_))), "text");
    barrier();
    write(session, "a.sion", {});
    barrier();
  });
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(others({"a.sion"}), std::vector<std::string>{});   // what was refused leaves nothing
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Containers, OneThatARankHasLetGoOfIsWaitedForByAllRanksOrNone) {
  in_session([&](Session& session) {
    std::optional<TaskFile> out(session.create_container(path("a.sion")));
    if (task_ == tasks_ - 1) out.reset();
    for (int again = 0; again < 2; ++again) {
      try {
        session.wait(Level::durable);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a.sion"), std::string::npos) << error.what();
      }
    }
    out.reset();
    write(session, "b.sion", {});
    session.wait(Level::durable);
    expect_written(open_container(path("b.sion")));
    barrier();
  });
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(others({"b.sion"}), std::vector<std::string>{});
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Containers, ASessionThatEndsGivesUpWhatIsOpen) {
  std::optional<TaskFile> out;
  in_session([&](Session& session) {
    out.emplace(session.create_container(path("a.sion")));
    out->write(std::span<const char>("lost", 4));
  });
  if (out) EXPECT_ERROR(out->write(std::span<const char>("text", 4)), Errc::invalid_state, "session is closed");
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(others(), std::vector<std::string>{});
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace glean::test
