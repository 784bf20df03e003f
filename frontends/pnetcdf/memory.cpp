// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "frontends/mpiio/type_cache.hpp"

namespace glean::pnetcdf {
namespace {

using mesh::Type;

constexpr std::size_t part_bytes = 16 * 1024;   // small enough for the nearest cache
constexpr std::array<std::byte, 8> no_fill_value{};   // what does not fit is the library's

bool is_floating(Type type) { return type == Type::float32 || type == Type::float64; }
bool is_signed(Type type) { return type == Type::int8 || type == Type::int16 || type == Type::int32 || type == Type::int64; }

// Every value of the one is a value of the other, or becomes one that is near: the library could not say NC_ERANGE.
bool always_fits(Type memory, Type external, store::CdfVersion format) {
  if (memory == external) return true;
  if (memory == Type::text || external == Type::text) return false;
  if (is_floating(external)) return !is_floating(memory) || mesh::size_of(memory) < mesh::size_of(external);
  if (is_floating(memory)) return false;
  // CDF-1 and CDF-2 keep either in their only type of a byte.
  if (memory == Type::uint8 && external == Type::int8) return format != store::CdfVersion::cdf5;
  if (is_signed(memory) && !is_signed(external)) return false;
  const bool needs_sign = !is_signed(memory) && is_signed(external);
  return mesh::size_of(external) >= mesh::size_of(memory) + (needs_sign ? 1 : 0);
}

struct Named {
  MPI_Datatype datatype;
  Type type;
};

// The library's own list, without MPI_BYTE.
std::optional<Type> type_of_name(MPI_Datatype datatype) {
  const Named names[] = {
      {MPI_CHAR, Type::text},          {MPI_SIGNED_CHAR, Type::int8},    {MPI_UNSIGNED_CHAR, Type::uint8},
      {MPI_SHORT, Type::int16},        {MPI_UNSIGNED_SHORT, Type::uint16}, {MPI_INT, Type::int32},
      {MPI_UNSIGNED, Type::uint32},    {MPI_LONG, Type::int64},
      {MPI_LONG_LONG_INT, Type::int64}, {MPI_UNSIGNED_LONG_LONG, Type::uint64}, {MPI_FLOAT, Type::float32},
      {MPI_DOUBLE, Type::float64},     {MPI_CHARACTER, Type::text},      {MPI_INTEGER, Type::int32},
      {MPI_REAL, Type::float32},       {MPI_DOUBLE_PRECISION, Type::float64}};
  for (const Named& name : names) {
    if (name.datatype != datatype) continue;
    int size = 0;
    PMPI_Type_size(datatype, &size);
    // Where Fortran's integers are of another size, say.
    return static_cast<std::size_t>(size) == mesh::size_of(name.type) ? std::optional(name.type) : std::nullopt;
  }
  return std::nullopt;
}

// The only type of its elements, if the library has no doubts about it either.
std::optional<Type> element_type_of(MPI_Datatype datatype) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
  switch (combiner) {
    case MPI_COMBINER_NAMED: return type_of_name(datatype);
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_SUBARRAY: break;
    default: return std::nullopt;
  }
  std::vector<int> integer_values(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> address_values(static_cast<std::size_t>(addresses));
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (types != 1 || PMPI_Type_get_contents(datatype, integers, addresses, types, integer_values.data(), address_values.data(),
                                           &inner) != MPI_SUCCESS) {
    return std::nullopt;
  }
  const auto type = element_type_of(inner);
  PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&inner);
  return type;
}

// The distances of varm are those of contiguous elements, as those of no distances.
bool is_contiguous(const MPI_Offset* map, const Slab& slab) {
  if (map == nullptr || slab.elements() == 1) return true;
  MPI_Offset distance = 1;
  for (std::size_t d = slab.count.size(); d-- > 0; distance *= static_cast<MPI_Offset>(slab.count[d])) {
    if (map[d] != distance) return false;
  }
  return true;
}

// None where distances are negative or too large for the library.
std::optional<mpiio::ByteMap> mapped(const MPI_Offset* map, const Slab& slab, Bytes element_bytes) {
  auto bytes = mpiio::ByteMap::block(element_bytes);
  for (std::size_t d = slab.count.size(); d-- > 0;) {
    if (map[d] <= 0 || map[d] > std::numeric_limits<int>::max()) return std::nullopt;
    bytes = bytes.repeated(slab.count[d], map[d] * static_cast<std::int64_t>(element_bytes));
  }
  return bytes;
}

// None where it is not simple enough.
std::optional<mpiio::TypedMemory> typed(const Buffer& buffer, bool is_derived, const Selection& selection, const std::vector<Slab>& slabs,
                                        Bytes bytes, Bytes element_bytes) {
  std::shared_ptr<const mpiio::FlatType> flat;
  if (is_derived) {
    if (buffer.count <= 0 || buffer.count > std::numeric_limits<int>::max()) return std::nullopt;
    flat = mpiio::flat_type(buffer.datatype);
    if (!flat || flat->size() * static_cast<Bytes>(buffer.count) != bytes) return std::nullopt;
    if (flat->is_contiguous() && flat->true_lb() == 0) flat.reset();   // as if it were typed
  }
  const bool is_mapped = selection.map != nullptr && !is_contiguous(selection.map, slabs.front());
  if (flat) {
    if (is_mapped) return std::nullopt;
    return mpiio::TypedMemory(buffer.data, static_cast<std::uint64_t>(buffer.count), *flat);
  }
  auto places = std::optional(mpiio::ByteMap::block(bytes));
  if (is_mapped) places = mapped(selection.map, slabs.front(), element_bytes);
  if (!places) return std::nullopt;
  return mpiio::TypedMemory(buffer.data, std::move(*places));
}

}  // namespace

std::optional<Memory> Memory::of(const Buffer& buffer, const Selection& selection, const Variable& variable,
                                 const std::vector<Slab>& slabs, store::CdfVersion format, Range range) {
  if (buffer.data == nullptr) return std::nullopt;
  const std::uint64_t elements = elements_of(slabs);
  const bool is_derived = !buffer.type && buffer.datatype != MPI_DATATYPE_NULL;
  const auto type = buffer.type ? buffer.type : is_derived ? element_type_of(buffer.datatype) : variable.external;
  if (!type || (*type == Type::text) != (variable.external == Type::text)) return std::nullopt;
  if (range == Range::of_types && !always_fits(*type, variable.external, format)) return std::nullopt;
  const Bytes element_bytes = mesh::size_of(*type);
  // What the library refuses: more than 2 GiB at once.
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  if (elements > most / std::max<Bytes>(variable.element_bytes(), element_bytes)) return std::nullopt;

  auto memory = typed(buffer, is_derived, selection, slabs, elements * element_bytes, element_bytes);
  if (!memory) return std::nullopt;
  return Memory(std::move(*memory), *type, variable.external, format);
}

Memory::Memory(mpiio::TypedMemory memory, Type type, Type external, store::CdfVersion format)
    : memory_(std::move(memory)), type_(type), element_bytes_(mesh::size_of(type)), external_bytes_(mesh::size_of(external)),
      converter_(store::converter(type, external, store::stored_in(format))),
      streaming_converter_(store::streaming_converter(type, external, store::stored_in(format))),
      is_plain_(memory_.is_contiguous() && type == external) {}

template <class Take>
void Memory::for_each_part(Bytes first_element, std::uint64_t count, Take take) const {
  std::array<std::byte, part_bytes> together;
  const std::uint64_t most = memory_.is_contiguous() ? count : together.size() / element_bytes_;
  for (std::uint64_t done = 0; done < count;) {
    const std::size_t here = std::min<std::uint64_t>(most, count - done);
    const std::byte* source = together.data();
    if (memory_.is_contiguous()) source = memory_.data() + (first_element + done) * element_bytes_;
    else memory_.copy_out((first_element + done) * element_bytes_, {together.data(), here * element_bytes_});
    take(source, here);
    done += here;
  }
}

// Much goes past the cache to the target, as other copies into the pool do.
void Memory::convert(Bytes first_element, std::byte* target, std::size_t count) const {
  const auto converter = count * external_bytes_ < part_bytes ? converter_ : streaming_converter_;
  for_each_part(first_element, count, [&](const std::byte* source, std::size_t elements) {
    if (converter(source, target, elements, no_fill_value.data()).count != 0) all_copied_fit_ = false;
    target += elements * external_bytes_;
  });
}

void Memory::copy_out(Bytes first, std::span<std::byte> target) const {
  // The pool's pieces may end inside of an element.
  const auto part = [&](Bytes element, Bytes skipped, Bytes bytes) {
    std::array<std::byte, 8> one;
    convert(element, one.data(), 1);
    std::memcpy(target.data(), one.data() + skipped, bytes);
    target = target.subspan(bytes);
  };
  Bytes element = first / external_bytes_;
  if (const Bytes skipped = first % external_bytes_; skipped != 0) {
    part(element++, skipped, std::min<Bytes>(external_bytes_ - skipped, target.size()));
  }
  const std::size_t whole = target.size() / external_bytes_;
  if (whole != 0) convert(element, target.data(), whole);
  target = target.subspan(whole * external_bytes_);
  if (!target.empty()) part(element + whole, 0, target.size());
}

std::array<std::byte, 8> Memory::element(std::uint64_t index) const {
  std::array<std::byte, 8> element{};
  memory_.copy_out(index * element_bytes_, {element.data(), element_bytes_});
  return element;
}

MPI_Datatype Memory::element_type() const {
  switch (type_) {
    case Type::int8: return MPI_SIGNED_CHAR;
    case Type::uint8: return MPI_UNSIGNED_CHAR;
    case Type::int16: return MPI_SHORT;
    case Type::uint16: return MPI_UNSIGNED_SHORT;
    case Type::int32: return MPI_INT;
    case Type::uint32: return MPI_UNSIGNED;
    case Type::int64: return MPI_LONG_LONG_INT;
    case Type::uint64: return MPI_UNSIGNED_LONG_LONG;
    case Type::float32: return MPI_FLOAT;
    case Type::float64: return MPI_DOUBLE;
    case Type::text: return MPI_CHAR;
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace glean::pnetcdf
