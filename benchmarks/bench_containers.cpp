// SPDX-License-Identifier: BSD-3-Clause
//
// bench_containers WAY DIRECTORY TASKS BYTES [TASKS_PER_WRITER [FILES]]: as many task-local files as TASKS says, of BYTES bytes each,
// shared out among the ranks.
//   files      a file of its own for each
//   shared     one file, each at its place
//   container  one container of GLEAN's, in which each is a logical file
//   gathered   as `files`, of which `glean run` makes a container by a rule with `into`: it is on the storage when MPI has ended
// TASKS_PER_WRITER: the chunks of so many ranks share blocks of the container. FILES: the container has so many physical files.
// Prints, as JSON, what the slowest rank was in the calls, when all was on the storage, and how long it took to read what the next rank has
// written, from the storage and not from the page cache, but for `gathered`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

struct Work {
  std::string way, directory;
  int tasks = 0, rank = 0, ranks = 1, tasks_per_writer = 1, files = 1;
  std::vector<char> data{};

  [[nodiscard]] int begin() const { return begin_of(rank); }
  [[nodiscard]] int end() const { return begin_of(rank + 1); }
  [[nodiscard]] int begin_of(int of_rank) const { return static_cast<int>(static_cast<long>(tasks) * of_rank / ranks); }
  [[nodiscard]] static std::string name(int task) {
    char text[32];
    std::snprintf(text, sizeof text, "task.%06d", task);
    return text;
  }
};

int opened(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  return file;
}

void write_all(int file, std::span<const char> data, off_t offset) {
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t now = pwrite(file, data.data() + done, data.size() - done, offset + static_cast<off_t>(done));
    if (now <= 0) throw std::runtime_error(std::string("cannot write: ") + std::strerror(errno));
    done += static_cast<std::size_t>(now);
  }
}

// Everything of the file system of `directory` is on the storage.
void synchronize(const std::string& directory) {
  const int file = opened(directory, O_RDONLY | O_DIRECTORY);
  if (syncfs(file) != 0) throw std::runtime_error(std::string("cannot synchronize: ") + std::strerror(errno));
  close(file);
}

// What is on the storage leaves the page cache, so that reading does not find it there.
void forget_pages(const Work& work) {
  if (work.rank == 0) {
    for (const auto& entry : std::filesystem::directory_iterator(work.directory)) {
      if (!entry.is_regular_file()) continue;
      const int file = opened(entry.path().string(), O_RDONLY);
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void write_files(const Work& work) {
  for (int task = work.begin(); task < work.end(); ++task) {
    const int file = opened(work.directory + "/" + Work::name(task), O_WRONLY | O_CREAT | O_EXCL);
    write_all(file, work.data, 0);
    close(file);
  }
}

void write_shared(const Work& work) {
  const std::string path = work.directory + "/shared";
  if (work.rank == 0) close(opened(path, O_WRONLY | O_CREAT | O_EXCL));
  MPI_Barrier(MPI_COMM_WORLD);
  const int file = opened(path, O_WRONLY);
  for (int task = work.begin(); task < work.end(); ++task) {
    write_all(file, work.data, static_cast<off_t>(work.data.size()) * task);
  }
  close(file);
}

glean::TaskFile write_container(glean::Session& session, const Work& work) {
  const auto mine = static_cast<std::uint64_t>(work.end() - work.begin()) * work.data.size();
  glean::TaskFile out = session.create_container(work.directory + "/container.sion",
                                                   {.chunk_bytes = mine, .files = work.files, .tasks_per_writer = work.tasks_per_writer});
  for (int task = work.begin(); task < work.end(); ++task) {
    out.begin_file(Work::name(task));
    out.write(std::span(work.data));
  }
  out.close();
  return out;
}

void read_all(int file, std::span<char> into, off_t offset) {
  for (std::size_t done = 0; done < into.size();) {
    const ssize_t now = pread(file, into.data() + done, into.size() - done, offset + static_cast<off_t>(done));
    if (now <= 0) throw std::runtime_error("cannot read what was written");
    done += static_cast<std::size_t>(now);
  }
}

// What the next rank has written.
void read_back(const Work& work) {
  const int next = (work.rank + 1) % work.ranks;
  std::vector<char> into(work.data.size());
  std::optional<glean::ContainerInput> container;
  if (work.way == "container") container.emplace(glean::open_container(work.directory + "/container.sion"));
  const int shared = work.way == "shared" ? opened(work.directory + "/shared", O_RDONLY) : -1;
  for (int task = work.begin_of(next); task < work.begin_of(next + 1); ++task) {
    if (container) {
      glean::TaskInput in = container->open(Work::name(task));
      if (in.read(std::span(into)) != into.size()) throw std::runtime_error("cannot read what was written");
    } else if (shared >= 0) {
      read_all(shared, into, static_cast<off_t>(into.size()) * task);
    } else {
      const int file = opened(work.directory + "/" + Work::name(task), O_RDONLY);
      read_all(file, into, 0);
      close(file);
    }
    if (into != work.data) throw std::runtime_error("what is read is not what was written");
  }
  if (shared >= 0) close(shared);
}

double slowest(double seconds) {
  double all = 0;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

void print(const Work& work, double blocked, double durable, double reading) {
  const int creates = work.way == "files" ? work.tasks : work.way == "container" ? work.files : 1;
  if (work.rank != 0) return;
  std::printf("{\"creates\": %d, \"blocked_seconds\": %.6f, \"durable_seconds\": %.6f, \"read_seconds\": %.6f}\n", creates, blocked,
              durable, reading);
}

// Ends MPI, in which the files are gathered.
void run_gathered(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  write_files(work);
  const double blocked = slowest(seconds());
  MPI_Finalize();
  print(work, blocked, seconds(), 0);
}

void run(const Work& work) {
  std::optional<glean::Session> session;
  if (work.way == "container") session.emplace(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  std::optional<glean::TaskFile> container;
  if (work.way == "files") write_files(work);
  else if (work.way == "shared") write_shared(work);
  else container.emplace(write_container(*session, work));
  const double blocked = slowest(MPI_Wtime() - begin);
  if (container) container->wait(glean::Level::durable);
  else if (work.rank == 0) synchronize(work.directory);
  const double durable = slowest(MPI_Wtime() - begin);
  container.reset();
  forget_pages(work);
  const double from = MPI_Wtime();
  read_back(work);
  const double reading = slowest(MPI_Wtime() - from);
  if (session) session->close();
  print(work, blocked, durable, reading);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5 || argc > 7) return 2;
  Work work{argv[1], argv[2], std::atoi(argv[3])};
  work.data.assign(static_cast<std::size_t>(std::atol(argv[4])), 'x');
  if (argc > 5) work.tasks_per_writer = std::atoi(argv[5]);
  if (argc > 6) work.files = std::atoi(argv[6]);
  MPI_Comm_rank(MPI_COMM_WORLD, &work.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &work.ranks);
  try {
    if (work.way == "gathered") return run_gathered(work), 0;
    run(work);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_containers: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
