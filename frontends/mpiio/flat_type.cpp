// SPDX-License-Identifier: BSD-3-Clause
#include "flat_type.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array_types.hpp"
#include "base/error.hpp"

namespace glean::mpiio {
namespace {

base::Error unsupported(const std::string& what) {
  return {base::Errc::unsupported, "a datatype that cannot be flattened: " + what};
}

void check(int status, const char* call) {
  if (status != MPI_SUCCESS) throw unsupported(std::string(call) + " failed with code " + std::to_string(status));
}

// Types of MPI_Type_create_f90_real and its like have no datatype inside and may not be freed.
bool names_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

bool is_predefined(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  check(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), "MPI_Type_get_envelope");
  return names_predefined(combiner);
}

// What MPI_Type_get_contents tells. Frees the datatypes that it was given.
struct Contents {
  explicit Contents(MPI_Datatype type) {
    int integer_count = 0, address_count = 0, type_count = 0;
    check(PMPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner), "MPI_Type_get_envelope");
    if (names_predefined(combiner)) return;
    integers.resize(static_cast<std::size_t>(integer_count));
    addresses.resize(static_cast<std::size_t>(address_count));
    std::vector<MPI_Datatype> received(static_cast<std::size_t>(type_count));
    // Exactly as many as there are: Open MPI reads what it has not set if there is room for more datatypes.
    check(PMPI_Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(),
                                 received.data()),
          "MPI_Type_get_contents");
    types = std::move(received);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& type : types) {
      if (!is_predefined(type)) PMPI_Type_free(&type);
    }
  }

  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
};

ByteMap map_of_predefined(MPI_Datatype type) {
  MPI_Count size = 0, true_lb = 0, true_extent = 0;
  check(PMPI_Type_size_x(type, &size), "MPI_Type_size_x");
  check(PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent), "MPI_Type_get_true_extent_x");
  if (type == MPI_SHORT_INT) {   // of the types for MINLOC the only one with a hole between its two
    struct ShortInt {
      short value;
      int index;
    };
    return ByteMap::sequence({ByteMap::block(sizeof(short)), ByteMap::block(sizeof(int)).shifted(offsetof(ShortInt, index))});
  }
  return ByteMap::block(static_cast<Bytes>(size)).shifted(true_lb);
}

ByteMap map_of(MPI_Datatype type);

// What is repeated: a datatype inside of another, and what MPI repeats it at.
struct Element {
  explicit Element(MPI_Datatype type) : map(map_of(type)) {
    MPI_Count lb = 0, ext = 0;
    check(PMPI_Type_get_extent_x(type, &lb, &ext), "MPI_Type_get_extent_x");
    extent = ext;
  }
  // `count` of them, one behind the other.
  [[nodiscard]] ByteMap run(int count) const { return map.repeated(static_cast<std::uint64_t>(count), extent); }

  ByteMap map;
  std::int64_t extent = 0;
};

// Blocks of elements of one datatype at displacements. `length` and `displacement` are functions of the block.
template <class Length, class Displacement>
ByteMap map_of_blocks(int count, const Element& element, Length length, Displacement displacement) {
  std::vector<ByteMap> parts;
  parts.reserve(static_cast<std::size_t>(count));
  int last_length = 0;
  ByteMap run;
  for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b) {
    if (const int here = length(b); here != last_length) {
      run = element.run(here);
      last_length = here;
    }
    parts.push_back(run.shifted(displacement(b)));
  }
  return ByteMap::sequence(std::move(parts));
}

ByteMap map_of_struct(const Contents& contents) {
  const auto count = static_cast<std::size_t>(contents.integers[0]);
  std::vector<ByteMap> parts;
  parts.reserve(count);
  std::optional<Element> element;
  bool has_bounds_only = false;
  for (std::size_t b = 0; b < count; ++b) {
    if (b == 0 || contents.types[b] != contents.types[b - 1]) element.emplace(contents.types[b]);
    has_bounds_only = has_bounds_only || (element->map.bytes() == 0 && contents.integers[1 + b] != 0 && !is_predefined(contents.types[b]));
    parts.push_back(element->run(contents.integers[1 + b]).shifted(contents.addresses[b]));
  }
  ByteMap map = ByteMap::sequence(std::move(parts));
  // Open MPI 4.1 counts the bounds of such a part in the extent, and then may not keep to the extent.
  if (has_bounds_only && map.bytes() != 0) throw unsupported("a structure with a part that has bounds but no bytes");
  return map;
}

ByteMap map_of(MPI_Datatype type) {
  const Contents contents(type);
  if (names_predefined(contents.combiner)) return map_of_predefined(type);
  if (contents.combiner == MPI_COMBINER_STRUCT) return map_of_struct(contents);
  if (contents.types.size() != 1) throw unsupported("combiner " + std::to_string(contents.combiner));

  const Element element(contents.types[0]);
  const auto& integers = contents.integers;
  const auto& addresses = contents.addresses;
  const auto length = [&](std::size_t b) { return integers[1 + b]; };
  const auto same_length = [&](std::size_t) { return integers[1]; };
  const auto address = [&](std::size_t b) { return std::int64_t{addresses[b]}; };
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return element.map;
    case MPI_COMBINER_CONTIGUOUS: return element.run(integers[0]);
    case MPI_COMBINER_VECTOR:
      return element.run(integers[1]).repeated(static_cast<std::uint64_t>(integers[0]), integers[2] * element.extent);
    case MPI_COMBINER_HVECTOR:
      return element.run(integers[1]).repeated(static_cast<std::uint64_t>(integers[0]), addresses[0]);
    case MPI_COMBINER_INDEXED: {
      const auto first = static_cast<std::size_t>(1 + integers[0]);
      return map_of_blocks(integers[0], element, length, [&](std::size_t b) { return integers[first + b] * element.extent; });
    }
    case MPI_COMBINER_HINDEXED: return map_of_blocks(integers[0], element, length, address);
    case MPI_COMBINER_INDEXED_BLOCK:
      return map_of_blocks(integers[0], element, same_length, [&](std::size_t b) { return integers[2 + b] * element.extent; });
    case MPI_COMBINER_HINDEXED_BLOCK: return map_of_blocks(integers[0], element, same_length, address);
    case MPI_COMBINER_SUBARRAY: return map_of_subarray(integers, element.map, element.extent);
    case MPI_COMBINER_DARRAY: return map_of_darray(integers, element.map, element.extent);
    default: throw unsupported("combiner " + std::to_string(contents.combiner));
  }
}

}  // namespace

FlatType::FlatType(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw unsupported("MPI_DATATYPE_NULL");
  map_ = map_of(type);
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  check(PMPI_Type_size_x(type, &size), "MPI_Type_size_x");
  check(PMPI_Type_get_extent_x(type, &lb, &extent), "MPI_Type_get_extent_x");
  check(PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent), "MPI_Type_get_true_extent_x");
  lb_ = lb;
  extent_ = extent;
  if (static_cast<Bytes>(size) != map_.bytes()) {
    throw unsupported("it has " + std::to_string(map_.bytes()) + " bytes, MPI says " + std::to_string(size));
  }
  if (size != 0 && (true_lb != map_.begin() || true_lb + true_extent != map_.end())) {
    throw unsupported("its bytes lie from " + std::to_string(map_.begin()) + " to " + std::to_string(map_.end()) +
                      ", MPI says from " + std::to_string(true_lb) + " to " + std::to_string(true_lb + true_extent));
  }
}

}  // namespace glean::mpiio
