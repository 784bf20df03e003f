// SPDX-License-Identifier: BSD-3-Clause
//
// What tests on several ranks have in common.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace glean::test {

extern std::vector<std::string> arguments;   // of the program

using Settings = std::map<std::string, std::string>;

inline Settings with(Settings more) {
  more.insert({"pool.budget", "16MiB"});
  more.insert({"pool.deadline", "60s"});
  return more;
}

// All ranks, and an empty directory that they share.
class Ranks : public testing::Test {
 protected:
  void SetUp() override { make_directory(std::filesystem::temp_directory_path()); }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove_all(directory_);
  }

  void make_directory(const std::filesystem::path& parent) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::string name = (parent / "glean-session-XXXXXX").string();
    ASSERT_TRUE(rank_ != 0 || mkdtemp(name.data()) != nullptr);
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name;
  }

  // For a test with a deadline that is shorter than what the storage may take. Collective.
  void move_to_memory() {
    if (rank_ == 0) std::filesystem::remove_all(directory_);
    make_directory("/dev/shm");
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The names in the directory, but for `known`.
  [[nodiscard]] std::vector<std::string> others(const std::vector<std::string>& known = {}) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      const std::string name = entry.path().filename().string();
      if (std::find(known.begin(), known.end(), name) == known.end()) names.push_back(name);
    }
    return names;
  }
  // The working file of the only output that is open.
  [[nodiscard]] std::string working_name() const {
    for (const std::string& name : others()) {
      if (name.ends_with(".part")) return name;
    }
    return "no working file";
  }
  // On rank 0, with the others waiting.
  void expect_same_files(const std::string& name, const std::string& expected_name) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      const std::string found = content(name), expected = content(expected_name);
      EXPECT_FALSE(expected.empty()) << expected_name;
      EXPECT_EQ(found.size(), expected.size()) << name;
      if (found != expected) {
        const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first;
        ADD_FAILURE() << name << " differs from " << expected_name << " at byte " << at - found.begin();
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
  std::filesystem::path directory_;
};

// What `call` throws.
template <class Call>
std::optional<Error> thrown(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline bool says(const std::optional<Error>& error, const std::string& text) {
  return error && std::string(error->what()).find(text) != std::string::npos;
}

#define EXPECT_ERROR(call, expected_code, text)                                                       \
  do {                                                                                                \
    const auto error_ = ::glean::test::thrown([&] { call; });                                         \
    ASSERT_TRUE(error_.has_value()) << #call << " threw nothing";                                     \
    EXPECT_EQ(error_->code(), expected_code) << error_->what();                                       \
    EXPECT_TRUE(::glean::test::says(error_, text)) << "'" << error_->what() << "' does not say " << text; \
  } while (false)

// A file with one array of doubles, each rank an equal part of it, and one record variable of the same shape.
struct Simple {
  Simple(Session& session, const std::string& path, std::uint64_t per_rank = 8, Format format = Format::cdf5)
      : out(session.open(path, format)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    elements = per_rank;
    const Dimension dimensions[] = {out.define_unlimited("t"),
                                    out.define_dimension("x", per_rank * static_cast<std::uint64_t>(size))};
    const Box mine{{per_rank * static_cast<std::uint64_t>(rank)}, {per_rank}};
    fixed = out.define_variable("fixed", Type::float64, std::span(dimensions + 1, 1), {mine});
    record = out.define_variable("record", Type::float64, dimensions, {mine});
  }
  void step(double value) {
    const std::vector<double> data(elements, value);
    out.begin_step();
    if (first) out.put(fixed, data);
    first = false;
    out.put(record, data);
  }
  void whole_step(double value) {
    step(value);
    out.end_step();
  }

  Output out;
  Variable fixed, record;
  std::uint64_t elements = 0;
  int rank = 0, size = 1;
  bool first = true;
};

}  // namespace glean::test
