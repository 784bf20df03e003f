// SPDX-License-Identifier: BSD-3-Clause
//
// MPI datatypes at random, and what frees them.
#pragma once

#include <mpi.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace glean::test {

// Owns a datatype, unless it is a predefined one.
class Type {
 public:
  Type(MPI_Datatype named) : handle_(named) {}
  static Type made(MPI_Datatype handle) {
    Type type(handle);
    type.is_derived_ = true;
    MPI_Type_commit(&type.handle_);
    return type;
  }
  Type(Type&& other) noexcept : handle_(other.handle_), is_derived_(std::exchange(other.is_derived_, false)) {}
  Type& operator=(Type&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(is_derived_, other.is_derived_);
    return *this;
  }
  ~Type() {
    if (is_derived_) MPI_Type_free(&handle_);
  }
  operator MPI_Datatype() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  bool is_derived_ = false;
};

// Makes a type by MPI's constructor `make`, whose last argument is where the new handle goes.
template <class Make, class... Arguments>
Type make_type(Make make, Arguments... arguments) {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  make(arguments..., &handle);
  return Type::made(handle);
}

// As a program would write it, for messages.
std::string description(MPI_Datatype type);

enum class Kind {
  any,         // negative displacements, overlaps
  ascending,   // what a file view may have
  simple,      // what ROMIO writes through without an accident: a lower bound of 0, nothing that is empty
};

class RandomTypes {
 public:
  RandomTypes(unsigned seed, Kind kind) : random_(seed), kind_(kind) {}

  // Nested `depth` times; only the outermost may be without bytes.
  Type nested(int depth, MPI_Datatype basic);
  MPI_Datatype basic();
  [[nodiscard]] Kind kind() const { return kind_; }
  int between(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }

 private:
  Type around(MPI_Datatype inner, int depth, MPI_Datatype basic);
  Type subarray(MPI_Datatype inner);
  Type darray(MPI_Datatype inner);
  Type resized(MPI_Datatype inner);
  Type structure(MPI_Datatype inner, int depth, MPI_Datatype basic);
  // Displacements of blocks of `lengths` elements of `unit` bytes that span `span`, in multiples of `unit`.
  std::vector<int> displacements(const std::vector<int>& lengths, int span, int unit);

  std::mt19937 random_;
  Kind kind_;
};

}  // namespace glean::test
