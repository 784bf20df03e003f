// SPDX-License-Identifier: BSD-3-Clause
//
// writer WAY PATH FILES BYTES [COUNT]: a program that writes containers. Each task has a number of its generation and the text that follows
// from it and from its rank.
//   whole      one container, waited for
//   names      the same: each rank begins three logical files
//   again      COUNT generations one after the other under the same name; PATH.durable says which one was waited for
//   throws     rank 1 throws before it closes the second generation; the others are told
//   kept       as whole, and once more when that has failed
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

struct Arguments {
  std::string way, path;
  int files = 1;
  std::size_t bytes = 0;
  int count = 1, rank = 0;
};

// What tests/container/container_files_test.py expects.
std::string text_of(int rank, int generation, std::size_t bytes) {
  std::string text = "generation " + std::to_string(generation) + " of rank " + std::to_string(rank) + "\n";
  const std::string line = text;
  text.reserve(bytes + line.size());
  while (text.size() < bytes) text += line;
  text.resize(bytes);
  return text;
}

glean::TaskFile write(glean::Session& session, const Arguments& to, int generation) {
  glean::TaskFile out = session.create_container(to.path, {.chunk_bytes = to.bytes / 3 + 1, .files = to.files, .block_bytes = 4096});
  const std::string text = text_of(to.rank, generation, to.bytes);
  for (std::size_t done = 0, part = 0; done < text.size(); done += part) {
    part = std::min<std::size_t>(text.size() - done, 5000);
    out.write(std::span(text).subspan(done, part));
  }
  return out;
}

void write_names(glean::Session& session, const Arguments& to) {
  glean::TaskFile out = session.create_container(to.path, {.chunk_bytes = to.bytes + 1, .files = to.files});
  for (int number = 0; number < 3; ++number) {
    out.begin_file("rank" + std::to_string(to.rank) + "/" + std::to_string(number));
    const std::string text = text_of(to.rank, number, to.bytes);
    out.write(std::span(text));
  }
  out.close(glean::Level::durable);
}

void write_again(glean::Session& session, const Arguments& to) {
  for (int generation = 1; generation <= to.count; ++generation) {
    write(session, to, generation).close();
    if (generation % 4 != 0) continue;
    session.wait(glean::Level::durable);
    if (to.rank == 0) {
      std::ofstream(to.path + ".new") << generation << '\n';
      std::rename((to.path + ".new").c_str(), (to.path + ".durable").c_str());
    }
  }
}

void run(Arguments& to) {
  glean::Session session(MPI_COMM_WORLD);
  if (session.is_writer()) return;
  MPI_Comm_rank(session.application_comm(), &to.rank);
  if (to.way == "names") return write_names(session, to);
  if (to.way == "again") return write_again(session, to);
  try {
    write(session, to, 1).close(glean::Level::durable);
  } catch (const glean::Error& error) {
    if (to.way != "kept") throw;
    std::cout << "ERROR " << error.what() << std::endl;
    write(session, to, 2).close(glean::Level::durable);
  }
  if (to.way != "throws") return;
  glean::TaskFile out = write(session, to, 2);
  if (to.rank == 1) throw std::runtime_error("the program has thrown");
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  Arguments to{argv[1], argv[2], std::atoi(argv[3]), static_cast<std::size_t>(std::atoll(argv[4])), argc > 5 ? std::atoi(argv[5]) : 1, 0};
  int status = 0;
  try {
    run(to);
  } catch (const std::exception& error) {
    std::cout << "ERROR " << error.what() << std::endl;
    status = 1;
  }
  if (status != 0 && to.way == "throws") _exit(status);   // the other ranks may be anywhere
  MPI_Finalize();
  return status;
}
