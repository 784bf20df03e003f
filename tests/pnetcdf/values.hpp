// SPDX-License-Identifier: BSD-3-Clause
//
// What random programs are made of: values of the types that programs have in memory, variables, hints.
#pragma once

#include <random>
#include <vector>

#include "puts.hpp"

inline constexpr int sizes[types] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 4, 8, 0};

MPI_Datatype datatype_of(Type type);
void store(Type type, void* at, double value);
// The type of memory that is the variable's own.
Type own_type(nc_type type);

using Random = std::mt19937;
int one_of(Random& random, int n);
bool chance(Random& random, int percent);

struct Variable {
  int id;
  nc_type type;
  Offsets shape;   // 0 first: records
  bool has_records;
  bool is_pending = false;
};

unsigned long long hash_of(const std::vector<char>& data);
// Hints for ROMIO: ranks that write around holes undo what others write meanwhile, or fill them with what was in memory.
MPI_Info make_hints();

// What the library refuses.
void spoil(Random& random, const Variable& variable, Elements& elements);
