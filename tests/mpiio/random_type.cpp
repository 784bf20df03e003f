// SPDX-License-Identifier: BSD-3-Clause
#include "random_type.hpp"

#include <algorithm>
#include <map>

namespace glean::test {
namespace {

struct Bounds {
  explicit Bounds(MPI_Datatype type) {
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Type_size(type, &size);
  }
  // From the lower bound to after the last byte or the upper bound, whichever is further.
  [[nodiscard]] int span() const { return static_cast<int>(std::max({extent, true_extent, MPI_Aint{1}})); }
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  int size = 0;
};

const std::map<int, std::string> names = {{MPI_COMBINER_DUP, "dup"},
                                          {MPI_COMBINER_CONTIGUOUS, "contiguous"},
                                          {MPI_COMBINER_VECTOR, "vector"},
                                          {MPI_COMBINER_HVECTOR, "hvector"},
                                          {MPI_COMBINER_INDEXED, "indexed"},
                                          {MPI_COMBINER_HINDEXED, "hindexed"},
                                          {MPI_COMBINER_INDEXED_BLOCK, "indexed_block"},
                                          {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block"},
                                          {MPI_COMBINER_STRUCT, "struct"},
                                          {MPI_COMBINER_SUBARRAY, "subarray"},
                                          {MPI_COMBINER_DARRAY, "darray"},
                                          {MPI_COMBINER_RESIZED, "resized"}};

}  // namespace

std::string description(MPI_Datatype type) {
  int integer_count = 0, address_count = 0, type_count = 0, combiner = 0;
  MPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner);
  if (combiner == MPI_COMBINER_NAMED) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    return name;
  }
  std::vector<int> integers(static_cast<std::size_t>(integer_count));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(address_count));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(type_count));
  MPI_Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(), types.data());
  std::string text = names.at(combiner) + "(";
  for (const int value : integers) text += std::to_string(value) + ",";
  text += ";";
  for (const MPI_Aint value : addresses) text += std::to_string(value) + ",";
  text += ";";
  for (MPI_Datatype inner : types) {
    text += description(inner) + ",";
    MPI_Type_get_envelope(inner, &integer_count, &address_count, &type_count, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&inner);
  }
  return text + ")";
}

MPI_Datatype RandomTypes::basic() {
  const MPI_Datatype types[] = {MPI_CHAR,      MPI_SHORT,      MPI_INT,             MPI_DOUBLE, MPI_BYTE,
                                MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT, MPI_2INT,   MPI_FLOAT_INT};
  return types[between(0, kind_ == Kind::simple ? 4 : 9)];
}

Type RandomTypes::nested(int depth, MPI_Datatype basic) {
  if (depth == 0) return basic;
  Type inner = nested(depth - 1, basic);
  if (Bounds(inner).size == 0) inner = basic;
  return around(inner, depth, basic);
}

std::vector<int> RandomTypes::displacements(const std::vector<int>& lengths, int span, int unit) {
  std::vector<int> displacements;
  int at = kind_ == Kind::any ? between(-3, 3) : between(0, 3);
  const int regular = between(0, 4);
  for (const int length : lengths) {
    displacements.push_back(at);
    if (kind_ == Kind::any && between(0, 3) == 0) {
      at = between(-10, 20);
    } else {
      at += (length * span + unit - 1) / unit + (between(0, 2) == 0 ? between(0, 6) : regular);
    }
  }
  return displacements;
}

Type RandomTypes::around(MPI_Datatype inner, int depth, MPI_Datatype basic) {
  const Bounds bounds(inner);
  const bool ascending = kind_ != Kind::any;
  const int least = kind_ == Kind::simple ? 1 : 0;
  const int count = between(least, 4);
  const int length = between(least, 3);
  std::vector<int> lengths(static_cast<std::size_t>(count), length);
  const bool fixed = between(0, 1) == 0;
  for (int& one : lengths) {
    if (!fixed) one = between(least, 3);
  }
  const int extent = static_cast<int>(std::max<MPI_Aint>(bounds.extent, 1));
  const auto in_extents = displacements(lengths, bounds.span(), extent);
  const auto in_bytes_of = displacements(lengths, bounds.span(), 1);
  const std::vector<MPI_Aint> in_bytes(in_bytes_of.begin(), in_bytes_of.end());
  const auto same = displacements(std::vector<int>(static_cast<std::size_t>(count), length), bounds.span(), extent);
  switch (between(0, kind_ == Kind::simple ? 10 : 11)) {   // ROMIO has its own idea of some darrays
    case 0: return make_type(MPI_Type_contiguous, count, inner);
    case 1: return make_type(MPI_Type_vector, count, length, ascending ? length + between(0, 3) : between(-4, 6), inner);
    case 2: {
      const MPI_Aint stride = ascending ? length * bounds.span() + between(0, 9) : between(-50, 90);
      return make_type(MPI_Type_create_hvector, count, length, stride, inner);
    }
    case 3: return make_type(MPI_Type_indexed, count, lengths.data(), in_extents.data(), inner);
    case 4: return make_type(MPI_Type_create_hindexed, count, lengths.data(), in_bytes.data(), inner);
    case 5: return make_type(MPI_Type_create_indexed_block, count, length, same.data(), inner);
    case 6: return make_type(MPI_Type_create_hindexed_block, count, fixed ? length : least, in_bytes.data(), inner);
    case 7: return structure(inner, depth, basic);
    case 8: return subarray(inner);
    case 9: return resized(inner);
    case 10: return make_type(MPI_Type_dup, inner);
    default: return darray(inner);
  }
}

Type RandomTypes::structure(MPI_Datatype inner, int depth, MPI_Datatype basic) {
  std::vector<Type> owned;
  std::vector<MPI_Datatype> types;
  std::vector<int> lengths;
  std::vector<MPI_Aint> displacements;
  MPI_Aint at = kind_ == Kind::any ? between(-20, 20) : between(0, 20);
  for (int count = between(kind_ == Kind::simple ? 1 : 0, 4); count > 0; --count) {
    owned.push_back(nested(between(0, depth - 1), basic));
    types.push_back(between(0, 2) == 0 || Bounds(owned.back()).size == 0 ? inner : MPI_Datatype(owned.back()));
    lengths.push_back(between(kind_ == Kind::simple ? 1 : 0, 2));
    displacements.push_back(at);
    const Bounds bounds(types.back());
    if (kind_ != Kind::any) {
      at += std::max<MPI_Aint>(bounds.true_lb, 0) + lengths.back() * bounds.span() + between(0, 10);
    } else {
      at += between(-40, 90);
    }
  }
  return make_type(MPI_Type_create_struct, static_cast<int>(types.size()), lengths.data(), displacements.data(), types.data());
}

Type RandomTypes::subarray(MPI_Datatype inner) {
  std::vector<int> sizes, subsizes, starts;
  for (int dimensions = between(1, 4); dimensions > 0; --dimensions) {
    sizes.push_back(between(1, 4));
    subsizes.push_back(between(1, sizes.back()));
    starts.push_back(between(0, sizes.back() - subsizes.back()));
  }
  const int order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  return make_type(MPI_Type_create_subarray, static_cast<int>(sizes.size()), sizes.data(), subsizes.data(), starts.data(), order,
                   inner);
}

Type RandomTypes::darray(MPI_Datatype inner) {
  std::vector<int> sizes, kinds, arguments, grid;
  int processes = 1;
  for (int dimensions = between(1, 3); dimensions > 0; --dimensions) {
    const int kind = between(0, 2), size = between(1, 8);
    grid.push_back(kind == 0 ? 1 : between(1, 3));
    sizes.push_back(size);
    processes *= grid.back();
    if (kind == 0) {
      kinds.push_back(MPI_DISTRIBUTE_NONE);
      arguments.push_back(MPI_DISTRIBUTE_DFLT_DARG);
    } else {
      kinds.push_back(kind == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC);
      const int least = kind == 1 ? (size + grid.back() - 1) / grid.back() : 1;
      arguments.push_back(between(0, 1) == 0 ? MPI_DISTRIBUTE_DFLT_DARG : between(least, least + 2));
    }
  }
  const int order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  return make_type(MPI_Type_create_darray, processes, between(0, processes - 1), static_cast<int>(sizes.size()), sizes.data(),
                   kinds.data(), arguments.data(), grid.data(), order, inner);
}

Type RandomTypes::resized(MPI_Datatype inner) {
  const Bounds bounds(inner);
  if (kind_ == Kind::any) return make_type(MPI_Type_create_resized, inner, MPI_Aint{between(-9, 9)}, MPI_Aint{between(0, 90)});
  const MPI_Aint end = std::max<MPI_Aint>(bounds.true_lb + bounds.true_extent, 1);
  return make_type(MPI_Type_create_resized, inner, MPI_Aint{0}, end + between(0, 20));
}

}  // namespace glean::test
