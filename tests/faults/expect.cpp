// SPDX-License-Identifier: BSD-3-Clause
#include "expect.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace glean::test {
namespace {

std::string current_case;
int failures = 0;

std::string old_bytes(const std::string& name) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += "the checkpoint before " + name + ", line " + std::to_string(i) + "\n";
  return bytes;
}

std::string read(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

}  // namespace

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void begin_case(const std::string& name) {
  MPI_Barrier(MPI_COMM_WORLD);
  current_case = name;
  if (world_rank() == 0) {
    std::printf("  %s\n", name.c_str());
    std::fflush(stdout);
  }
}

int failures_of_all_ranks() {
  int all = failures;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "rank %d: %s: not so: %s\n", world_rank(), current_case.c_str(), what.c_str());
}

std::optional<Error> thrown_by(const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

void expect_error(const std::optional<Error>& error, Errc code, const std::vector<std::string>& words) {
  if (!error) return expect(false, "there is an error of kind " + std::to_string(static_cast<int>(code)));
  const std::string message = error->what();
  expect(error->code() == code, "the error is of kind " + std::to_string(static_cast<int>(code)) + ", not " +
                                    std::to_string(static_cast<int>(error->code())) + ": " + message);
  for (const std::string& word : words) {
    expect(message.find(word) != std::string::npos, "the message names '" + word + "': " + message);
  }
}

void expect_no_error(const std::optional<Error>& error, const std::string& what) {
  expect(!error, what + " succeeds: " + (error ? error->what() : ""));
}

void expect_error_everywhere(Errc code, const std::vector<std::string>& words,
                             const std::function<void()>& action) {
  expect_error(thrown_by(action), code, words);
}

Files::Files(std::string directory) : directory_(std::move(directory)) {
  if (world_rank() == 0) {
    // Emptied, not made anew: it may be a mount point.
    std::filesystem::create_directories(directory_);
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::filesystem::remove_all(entry.path());
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Files::make_old(const std::string& name) {
  if (world_rank() == 0) std::ofstream(path(name), std::ios::binary) << old_bytes(name);
  old_names_.push_back(name);
  MPI_Barrier(MPI_COMM_WORLD);
}

void Files::expect_only_old_and(const std::vector<std::string>& new_names) const {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) {
    for (const std::string& name : old_names_) {
      expect(read(path(name)) == old_bytes(name), "the old file '" + name + "' is untouched");
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      found.push_back(entry.path().filename().string());
    }
    std::vector<std::string> expected = old_names_;
    expected.insert(expected.end(), new_names.begin(), new_names.end());
    for (const std::string& name : found) {
      expect(std::find(expected.begin(), expected.end(), name) != expected.end(), "there is no file '" + name + "'");
    }
    for (const std::string& name : expected) {
      expect(std::find(found.begin(), found.end(), name) != found.end(), "there is a file '" + name + "'");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace glean::test
