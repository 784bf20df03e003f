// SPDX-License-Identifier: BSD-3-Clause
#include "random_names.hpp"

#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>

std::string rename_or_remove(Random& names, const std::string& path, int rank, int ranks,
                             void (*say)(const char* what, long long value)) {
  const std::string old = path + ".old", other = path + ".other";
  const int kind = one_of(names, 5);
  if (kind == 0) return path;
  if (kind <= 2) {   // another file is written and removed, or gets another name
    int file = -1;
    say("create", ncmpi_create(MPI_COMM_WORLD, other.c_str(), NC_CLOBBER, MPI_INFO_NULL, &file));
    say("enddef", ncmpi_enddef(file));
    say("close", ncmpi_close(file));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == one_of(names, ranks)) {
    if (kind == 1) say("remove", std::remove(other.c_str()));
    if (kind == 2) say("rename", std::rename(other.c_str(), old.c_str()));
    if (kind >= 2) say("rename", std::rename(path.c_str(), old.c_str()));   // over that, or a name that is free
    if (kind == 4) say("rename back", std::rename(old.c_str(), path.c_str()));
    if (kind == 1 || kind == 4) say("look", access(path.c_str(), F_OK));
    else say("look", access(path.c_str(), F_OK)), say("look", access(old.c_str(), F_OK));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return kind == 2 || kind == 3 ? old : path;
}
