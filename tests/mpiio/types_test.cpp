// SPDX-License-Identifier: BSD-3-Clause
//
// Flattened datatypes against what MPI does with them: MPI_Pack and MPI_Unpack of memory.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "mpiio/typed_memory.hpp"
#include "random_type.hpp"

namespace glean::test {
namespace {

using base::Bytes;
using mpiio::FlatType;
using mpiio::TypedMemory;

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  for (auto& byte : memory) byte = static_cast<std::byte>(random());
  return memory;
}

// Nothing where Open MPI is of two minds, as it says of itself in FlatType.OfWhichMpiSaysSomethingElseIsNotMade.
std::optional<FlatType> flat_if_mpi_agrees(MPI_Datatype type) {
  try {
    return FlatType(type);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::unsupported);
    return std::nullopt;
  }
}

// A buffer around what `count` of a type touch, with `origin` where a call would say that the buffer is.
struct Buffer {
  Buffer(std::mt19937& random, const FlatType& type, int count) {
    const std::int64_t last = (count - 1) * type.extent();
    const std::int64_t low = type.true_lb() + std::min<std::int64_t>(last, 0);
    const std::int64_t high = type.true_ub() + std::max<std::int64_t>(last, 0);
    bytes = random_bytes(random, static_cast<std::size_t>(high - low + 64));
    before = 32 - low;
  }
  [[nodiscard]] std::byte* origin() { return bytes.data() + before; }
  std::vector<std::byte> bytes;
  std::int64_t before = 0;
};

std::vector<std::byte> packed(const void* memory, int count, MPI_Datatype type) {
  int bytes = 0, position = 0;
  MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
  std::vector<std::byte> stream(static_cast<std::size_t>(bytes) + 1);
  MPI_Pack(memory, count, type, stream.data(), bytes, &position, MPI_COMM_SELF);
  stream.resize(static_cast<std::size_t>(position));
  return stream;
}

}  // namespace

TEST(TypedMemory, HoldsWhatMpiPacks) {
  RandomTypes types(1, Kind::any);
  std::mt19937 random(2);
  int with_bytes = 0;
  for (int round = 0; round < 3000; ++round) {
    const Type type = types.nested(types.between(0, 4), types.basic());
    const int count = types.between(1, 3);
    const std::string described = description(type);
    const auto flattened = flat_if_mpi_agrees(type);
    if (!flattened) continue;
    const FlatType& flat = *flattened;
    if (flat.size() > 50000) continue;
    Buffer buffer(random, flat, count);
    const auto expected = packed(buffer.origin(), count, type);

    const TypedMemory memory(buffer.origin(), static_cast<std::uint64_t>(count), flat);

    ASSERT_EQ(memory.bytes(), expected.size()) << round << ' ' << described;
    std::vector<std::byte> whole(expected.size()), in_pieces(expected.size());
    memory.copy_out(0, whole);
    for (std::size_t first = 0; first < expected.size();) {
      const std::size_t bytes = std::min<std::size_t>(1 + random() % 40, expected.size() - first);
      memory.copy_out(first, std::span(in_pieces).subspan(first, bytes));
      first += bytes;
    }
    ASSERT_EQ(whole, expected) << round << ' ' << described;
    ASSERT_EQ(in_pieces, expected) << round << ' ' << described;
    if (memory.is_contiguous() && !expected.empty()) {
      ASSERT_EQ(std::memcmp(memory.data(), expected.data(), expected.size()), 0) << round << ' ' << described;
    }
    if (!expected.empty()) ++with_bytes;
  }
  EXPECT_GT(with_bytes, 1000);
}

TEST(TypedMemory, MayBeMadeOfAddresses) {
  int one = 0x01020304;
  double two[3] = {1.5, 2.5, 3.5};
  MPI_Aint addresses[2];
  MPI_Get_address(&two[1], &addresses[0]);
  MPI_Get_address(&one, &addresses[1]);
  const int lengths[2] = {2, 1};
  const MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT};
  const Type type = make_type(MPI_Type_create_struct, 2, lengths, addresses, parts);
  std::byte stream[20];

  const TypedMemory memory(MPI_BOTTOM, 1, FlatType(type));
  memory.copy_out(0, stream);

  EXPECT_EQ(memory.bytes(), 20u);
  EXPECT_EQ(std::memcmp(stream, &two[1], 16), 0);
  EXPECT_EQ(std::memcmp(stream + 16, &one, 4), 0);
}

namespace {

using Offsets = std::vector<std::int64_t>;

// Where each block of the typemap begins, for types whose blocks are those of the standard's (double, char) pairs.
Offsets starts(const FlatType& type, std::initializer_list<Bytes> sizes) {
  Offsets offsets;
  for (Bytes byte = 0; byte < type.size();) {
    for (const Bytes size : sizes) {
      offsets.push_back(type.map().offset_of(byte));
      byte += size;
    }
  }
  return offsets;
}

Offsets pairs_at(std::initializer_list<std::int64_t> elements) {
  Offsets offsets;
  for (const auto element : elements) offsets.insert(offsets.end(), {element, element + 8});
  return offsets;
}

// {(double, 0), (char, 8)} with extent 16, on which the standard builds its examples of constructors.
Type double_and_char() {
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR};
  return make_type(MPI_Type_create_struct, 2, lengths, displacements, parts);
}

}  // namespace

TEST(FlatType, IsWhatTheStandardsExamplesSay) {
  const Type pair = double_and_char();
  const int lengths[] = {3, 1};
  const int displacements[] = {4, 0};
  const MPI_Aint in_bytes[] = {64, 0};

  const FlatType flat(pair);
  const FlatType contiguous(make_type(MPI_Type_contiguous, 3, MPI_Datatype(pair)));
  const FlatType vector(make_type(MPI_Type_vector, 2, 3, 4, MPI_Datatype(pair)));
  const FlatType backwards(make_type(MPI_Type_vector, 3, 1, -2, MPI_Datatype(pair)));
  const FlatType indexed(make_type(MPI_Type_indexed, 2, lengths, displacements, MPI_Datatype(pair)));
  const FlatType hindexed(make_type(MPI_Type_create_hindexed, 2, lengths, in_bytes, MPI_Datatype(pair)));

  EXPECT_EQ(flat.size(), 9u);
  EXPECT_EQ(flat.extent(), 16);
  EXPECT_EQ(flat.true_ub(), 9);
  EXPECT_EQ(starts(contiguous, {8, 1}), pairs_at({0, 16, 32}));
  EXPECT_EQ(starts(vector, {8, 1}), pairs_at({0, 16, 32, 64, 80, 96}));
  EXPECT_EQ(starts(backwards, {8, 1}), pairs_at({0, -32, -64}));
  EXPECT_EQ(backwards.lb(), -64);
  EXPECT_EQ(starts(indexed, {8, 1}), pairs_at({64, 80, 96, 0}));
  EXPECT_EQ(starts(hindexed, {8, 1}), pairs_at({64, 80, 96, 0}));
}

TEST(FlatType, OfAStructureIsWhatTheStandardsExampleSays) {
  const Type pair = double_and_char();
  const int lengths[] = {2, 1, 3};
  const MPI_Aint displacements[] = {0, 16, 26};
  const MPI_Datatype parts[] = {MPI_FLOAT, pair, MPI_CHAR};

  const FlatType flat(make_type(MPI_Type_create_struct, 3, lengths, displacements, parts));

  EXPECT_EQ(starts(flat, {4, 4, 8, 1, 1, 1, 1}), (Offsets{0, 4, 16, 24, 26, 27, 28}));
}

TEST(FlatType, OfADistributedArrayIsThePartOfOneProcess) {
  // 6 x 4 ints in C order, the rows dealt out two by two to two processes, the columns in two halves.
  const int sizes[] = {6, 4}, arguments[] = {2, 2}, grid[] = {2, 2};
  const int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};

  const FlatType flat(make_type(MPI_Type_create_darray, 4, 3, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT));

  EXPECT_EQ(starts(flat, {8}), (Offsets{40, 56}));
  EXPECT_EQ(flat.extent(), 96);
}

TEST(FlatType, KnowsTheHoleInAShortAndAnInt) {
  const FlatType flat(MPI_SHORT_INT);

  EXPECT_EQ(flat.size(), 6u);
  EXPECT_EQ(starts(flat, {2, 4}), (Offsets{0, 4}));
}

TEST(FlatType, IsMadeOfTypesWithoutBytes) {
  const Type empty = make_type(MPI_Type_contiguous, 0, MPI_INT);
  const Type resized = make_type(MPI_Type_create_resized, MPI_Datatype(empty), MPI_Aint{-4}, MPI_Aint{40});
  const FlatType flat(make_type(MPI_Type_contiguous, 3, MPI_Datatype(resized)));

  EXPECT_EQ(FlatType(empty).size(), 0u);
  EXPECT_EQ(FlatType(resized).lb(), -4);
  EXPECT_EQ(FlatType(resized).extent(), 40);
  EXPECT_EQ(flat.size(), 0u);
}

TEST(FlatType, OfATypeOfFortransKindsIsItsBytes) {
  MPI_Datatype real = MPI_DATATYPE_NULL, integer = MPI_DATATYPE_NULL, complex = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(12, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_integer(9, &integer);
  MPI_Type_create_f90_complex(12, MPI_UNDEFINED, &complex);
  const int lengths[] = {2, 1, 1};
  const MPI_Aint displacements[] = {0, 16, 24};
  const MPI_Datatype parts[] = {real, integer, complex};

  const FlatType flat(make_type(MPI_Type_create_struct, 3, lengths, displacements, parts));

  EXPECT_EQ(starts(flat, {16, 4, 16}), (Offsets{0, 16, 24}));
}

#ifdef OPEN_MPI
TEST(FlatType, OfWhichMpiSaysSomethingElseIsNotMade) {
  // Open MPI takes a stride of -1 bytes for none given, and counts bounds of parts without bytes that it does not keep to.
  const Type backwards = make_type(MPI_Type_vector, 4, 1, -1, MPI_CHAR);
  const Type nothing = make_type(MPI_Type_contiguous, 0, MPI_DOUBLE);
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 20};
  const MPI_Datatype parts[] = {MPI_DOUBLE, nothing};
  const Type with_nothing = make_type(MPI_Type_create_struct, 2, lengths, displacements, parts);

  EXPECT_THROW(FlatType{backwards}, base::Error);
  EXPECT_THROW(FlatType{with_nothing}, base::Error);
}

// Left in the library for programs that were linked long ago.
extern "C" int PMPI_Type_hvector_of_mpi_1(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype*) __asm__("PMPI_Type_hvector");
extern "C" int PMPI_Type_hindexed_of_mpi_1(int, int*, MPI_Aint*, MPI_Datatype, MPI_Datatype*) __asm__("PMPI_Type_hindexed");
extern "C" int PMPI_Type_struct_of_mpi_1(int, int*, MPI_Aint*, MPI_Datatype*, MPI_Datatype*) __asm__("PMPI_Type_struct");

TEST(FlatType, OfTheCallsThatMpi3RemovedIsTheSame) {
  int lengths[] = {3, 1};
  MPI_Aint displacements[] = {64, 0};
  MPI_Datatype parts[] = {MPI_INT, MPI_CHAR};

  EXPECT_EQ(starts(FlatType(make_type(PMPI_Type_hvector_of_mpi_1, 2, 1, MPI_Aint{24}, MPI_INT)), {4}), (Offsets{0, 24}));
  EXPECT_EQ(starts(FlatType(make_type(PMPI_Type_hindexed_of_mpi_1, 2, lengths, displacements, MPI_INT)), {12, 4}), (Offsets{64, 0}));
  EXPECT_EQ(starts(FlatType(make_type(PMPI_Type_struct_of_mpi_1, 2, lengths, displacements, parts)), {12, 1}), (Offsets{64, 0}));
}
#endif

TEST(FlatType, GivesBackTheTypesThatItWasShown) {
  static int deleted = 0;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Type_create_keyval(
      MPI_TYPE_NULL_COPY_FN, [](MPI_Datatype, int, void*, void*) { return ++deleted, MPI_SUCCESS; }, &keyval, nullptr);
  {
    const Type inner = make_type(MPI_Type_vector, 2, 1, 2, MPI_INT);
    MPI_Type_set_attr(inner, keyval, nullptr);
    const Type outer = make_type(MPI_Type_contiguous, 2, MPI_Datatype(inner));
    for (int time = 0; time < 3; ++time) EXPECT_EQ(FlatType(outer).size(), 16u);
    EXPECT_EQ(deleted, 0);
  }

  EXPECT_EQ(deleted, 1);
  MPI_Type_free_keyval(&keyval);
}

TEST(FlatType, OfAMillionIsOneLoop) {
  const int lengths[] = {1, 1};
  const MPI_Aint apart[] = {0, 12};
  const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT};
  const Type pair = make_type(MPI_Type_create_struct, 2, lengths, apart, parts);
  const FlatType vector(make_type(MPI_Type_vector, 1000000, 1, 3, MPI_DOUBLE));
  const FlatType of_pairs(make_type(MPI_Type_vector, 1000000, 1, 3, MPI_Datatype(pair)));
  std::vector<int> displacements;
  for (int i = 0; i < 1000000; ++i) displacements.push_back(5 * i);
  const FlatType listed(make_type(MPI_Type_create_indexed_block, 1000000, 1, displacements.data(), MPI_DOUBLE));

  EXPECT_EQ(vector.map().visits(0, vector.size()), 1u);
  EXPECT_EQ(of_pairs.map().visits(12, 24), 4u);
  EXPECT_EQ(listed.map().visits(0, listed.size()), 1u);
}

}  // namespace glean::test
