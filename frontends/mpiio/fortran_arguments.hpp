// SPDX-License-Identifier: BSD-3-Clause
//
// What a Fortran program passes for each parameter of a C function of MPI. Every argument is an address; which kind it is
// follows from the type that mpi.h declares for the parameter.
//
// For Open MPI, where handles of C are pointers of different types. Each Argument is made of the Fortran argument, converts
// to the C one, and writes results back in finish(), which is called when the function has succeeded.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

// MPI_BOTTOM of Fortran is the address of a variable, whose name depends on how the compiler changes names.
extern "C" {
[[gnu::weak]] extern int mpi_fortran_bottom_;
[[gnu::weak]] extern int mpi_fortran_bottom;
[[gnu::weak]] extern int mpi_fortran_bottom__;
[[gnu::weak]] extern int MPI_FORTRAN_BOTTOM;
}

namespace glean::mpiio {

template <class C>
class Argument;

// Given to MPI as it is, results included.
template <class C>
class SameArgument {
 public:
  explicit SameArgument(void* address) : address_(static_cast<C*>(address)) {}
  operator C*() const { return address_; }
  void finish() const {}

 private:
  C* address_;
};
template <> struct Argument<int*> : SameArgument<int> { using SameArgument::SameArgument; };
template <> struct Argument<MPI_Offset*> : SameArgument<MPI_Offset> { using SameArgument::SameArgument; };
template <> struct Argument<MPI_Aint*> : SameArgument<MPI_Aint> { using SameArgument::SameArgument; };

template <class C, class InFortran = C>
class ValueArgument {
 public:
  explicit ValueArgument(const void* address) : value_(static_cast<C>(*static_cast<const InFortran*>(address))) {}
  operator C() const { return value_; }
  void finish() const {}

 private:
  C value_;
};
template <> struct Argument<int> : ValueArgument<int, MPI_Fint> { using ValueArgument::ValueArgument; };
template <> struct Argument<MPI_Offset> : ValueArgument<MPI_Offset> { using ValueArgument::ValueArgument; };

class BufferArgument {
 public:
  explicit BufferArgument(void* address) : address_(is_bottom(address) ? MPI_BOTTOM : address) {}
  operator void*() const { return address_; }
  void finish() const {}

 private:
  static bool is_bottom(const void* address) {
    return address != nullptr && (address == &mpi_fortran_bottom_ || address == &mpi_fortran_bottom ||
                                  address == &mpi_fortran_bottom__ || address == &MPI_FORTRAN_BOTTOM);
  }
  void* address_;
};
template <> struct Argument<void*> : BufferArgument { using BufferArgument::BufferArgument; };
template <> struct Argument<const void*> : BufferArgument { using BufferArgument::BufferArgument; };

template <class Handle, Handle (*from_fortran)(MPI_Fint)>
class HandleArgument {
 public:
  explicit HandleArgument(const void* address) : handle_(from_fortran(*static_cast<const MPI_Fint*>(address))) {}
  operator Handle() const { return handle_; }
  void finish() const {}

 private:
  Handle handle_;
};
template <> struct Argument<MPI_Comm> : HandleArgument<MPI_Comm, MPI_Comm_f2c> { using HandleArgument::HandleArgument; };
template <> struct Argument<MPI_Info> : HandleArgument<MPI_Info, MPI_Info_f2c> { using HandleArgument::HandleArgument; };
template <> struct Argument<MPI_File> : HandleArgument<MPI_File, MPI_File_f2c> { using HandleArgument::HandleArgument; };
template <> struct Argument<MPI_Datatype> : HandleArgument<MPI_Datatype, MPI_Type_f2c> {
  using HandleArgument::HandleArgument;
};

template <class Handle, MPI_Fint (*to_fortran)(Handle)>
class HandleResult {
 public:
  explicit HandleResult(void* address) : address_(static_cast<MPI_Fint*>(address)) {}
  operator Handle*() { return &handle_; }
  void finish() { *address_ = to_fortran(handle_); }

 protected:
  MPI_Fint* address_;
  Handle handle_{};
};
template <> struct Argument<MPI_Info*> : HandleResult<MPI_Info, MPI_Info_c2f> { using HandleResult::HandleResult; };
template <> struct Argument<MPI_Group*> : HandleResult<MPI_Group, MPI_Group_c2f> { using HandleResult::HandleResult; };
template <> struct Argument<MPI_Request*> : HandleResult<MPI_Request, MPI_Request_c2f> { using HandleResult::HandleResult; };
template <> struct Argument<MPI_Datatype*> : HandleResult<MPI_Datatype, MPI_Type_c2f> { using HandleResult::HandleResult; };
// MPI_File_close reads it, and MPI_File_open takes whatever is there.
template <>
struct Argument<MPI_File*> : HandleResult<MPI_File, MPI_File_c2f> {
  enum class Before { counts, undefined };
  explicit Argument(void* address, Before before = Before::counts) : HandleResult(address) {
    if (before == Before::counts) handle_ = MPI_File_f2c(*address_);
  }
};

template <>
class Argument<MPI_Status*> {
 public:
  explicit Argument(void* address) : address_(static_cast<MPI_Fint*>(address)) {}
  operator MPI_Status*() { return is_ignored() ? MPI_STATUS_IGNORE : &status_; }
  void finish() {
    if (!is_ignored()) PMPI_Status_c2f(&status_, address_);
  }

 private:
  [[nodiscard]] bool is_ignored() const { return address_ == nullptr || address_ == MPI_F_STATUS_IGNORE; }
  MPI_Fint* address_;
  MPI_Status status_{};
};

// The characters of a string of Fortran that count: without blanks before and after.
inline std::string string_from_fortran(const char* characters, int length) {
  const std::string_view all(characters, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t first = all.find_first_not_of(' ');
  return first == all.npos ? std::string() : std::string(all.substr(first, all.find_last_not_of(' ') - first + 1));
}
inline void string_to_fortran(std::string_view text, char* characters, int length) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(length > 0 ? length : 0); ++i) characters[i] = i < text.size() ? text[i] : ' ';
}

// Calls a function of MPI with what its arguments in Fortran mean.
template <class... C, class... Address>
void call_from_fortran(int (*function)(C...), void* error, Address... arguments) {
  static_assert(sizeof...(C) == sizeof...(Address), "how many arguments the function has is in mpi.h");
  std::tuple<Argument<C>...> converted{Argument<C>(arguments)...};
  const int result = std::apply([&](auto&... each) { return function(static_cast<C>(each)...); }, converted);
  if (result == MPI_SUCCESS) std::apply([](auto&... each) { (each.finish(), ...); }, converted);
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

}  // namespace glean::mpiio
