// SPDX-License-Identifier: BSD-3-Clause
//
// Puts between two marks that a system call tracer sees: silent_puts_test.py looks at what lies between them. That they allocate
// nothing the program sees itself.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {
thread_local std::uint64_t allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  std::uint64_t allocated = 0;
  MPI_Init(&argc, &argv);
  {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto mine = static_cast<std::uint64_t>(rank), all = static_cast<std::uint64_t>(ranks);
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "128MiB"}});
    glean::Output output = session.open(std::string(argv[1]) + "/silent.nc", glean::Format::cdf5);
    const glean::Dimension dimensions[] = {output.define_dimension("n", 1'000'000 * all)};
    std::vector<glean::Variable> variables;
    for (const char* name : {"a", "b", "c", "d"}) {
      variables.push_back(output.define_variable(name, glean::Type::float64, dimensions, {{{1'000'000 * mine}, {1'000'000}}}));
    }
    const std::vector<double> values(1'000'000, 1.0);
    output.begin_step();
    const std::uint64_t before = allocations;
    static_cast<void>(getppid());
    for (const auto variable : variables) {
      for (std::uint64_t part = 0; part < 100; ++part) {   // 80 KB each, several to a chunk
        const std::uint64_t start[] = {1'000'000 * mine + 10'000 * part}, count[] = {10'000};
        output.put(variable, start, count, values.data() + 10'000 * part);
      }
    }
    static_cast<void>(getppid());
    allocated = allocations - before;
    if (allocated != 0) std::fprintf(stderr, "%zu puts allocated %zu times\n", 100 * variables.size(), std::size_t{allocated});
    output.end_step();
    output.close();
    session.close();
  }
  MPI_Finalize();
  return allocated == 0 ? 0 : 1;
}
