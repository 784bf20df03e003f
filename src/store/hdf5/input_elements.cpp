// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/input_elements.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/hdf5/input_types.hpp"

namespace glean::store {
namespace {

const std::string reading_elements = "its elements cannot be read";

Handle element_type(hid_t dataset, const std::vector<std::string>& by_library) {
  Handle type(H5Dget_type(dataset), H5Tclose, reading_elements);
  if (by_library.size() == 1) return type;
  const int part = check(H5Tget_member_index(type.id(), by_library[1].c_str()), reading_elements);
  return {H5Tget_member_type(type.id(), static_cast<unsigned>(part)), H5Tclose, reading_elements};
}

// Of texts the dimension of characters is none of the dataset.
struct Selected {
  std::vector<hsize_t> start, count;
  std::uint64_t characters = 1, first_character = 0, characters_wanted = 1;
};

Selected selected(const FileContents::Variable& variable, const Hdf5Element& element, std::uint64_t record, mesh::Box box) {
  Selected all;
  if (element.characters > 1) {
    all.characters = element.characters;
    all.first_character = box.start.back();
    all.characters_wanted = box.count.back();
    box.start.pop_back();
    box.count.pop_back();
  }
  if (variable.per_step) {
    all.start.push_back(record);
    all.count.push_back(1);
  }
  all.start.insert(all.start.end(), box.start.begin(), box.start.end());
  all.count.insert(all.count.end(), box.count.begin(), box.count.end());
  return all;
}

}  // namespace

void read_hdf5_elements(Hdf5Source source, const FileContents::Variable& variable, std::uint64_t record, const mesh::Box& box,
                        std::byte* values) {
  const Hdf5Input input(std::move(source));
  const Handle dataset(H5Dopen2(input.id(), variable.by_library.at(0).c_str(), H5P_DEFAULT), H5Dclose, reading_elements);
  const Handle file_type = element_type(dataset.id(), variable.by_library);
  const auto element = hdf5_element_of(file_type.id());
  const Handle space(H5Dget_space(dataset.id()), H5Sclose, reading_elements);
  const bool is_as_listed = element && element->type == variable.external;
  const Selected part = is_as_listed ? selected(variable, *element, record, box) : Selected{};
  if (!is_as_listed || H5Sget_simple_extent_ndims(space.id()) != static_cast<int>(part.start.size())) {
    throw base::Error(base::Errc::io, "it has changed since the file was opened");
  }
  const Handle plain = hdf5_memory_type(file_type.id(), *element, reading_elements);
  const bool is_part = variable.by_library.size() > 1;
  const Handle memory(is_part ? H5Tcreate(H5T_COMPOUND, H5Tget_size(plain.id())) : H5Tcopy(plain.id()), H5Tclose, reading_elements);
  if (is_part) check(H5Tinsert(memory.id(), variable.by_library[1].c_str(), 0, plain.id()), reading_elements);
  hsize_t elements = 1;
  for (const hsize_t count : part.count) elements *= count;
  const Handle memory_space(H5Screate_simple(1, &elements, nullptr), H5Sclose, reading_elements);
  if (!part.start.empty()) {
    check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, part.start.data(), nullptr, part.count.data(), nullptr), reading_elements);
  }
  if (part.characters == part.characters_wanted) {
    check(H5Dread(dataset.id(), memory.id(), memory_space.id(), space.id(), H5P_DEFAULT, values), reading_elements);
    return;
  }
  std::vector<std::byte> texts(elements * part.characters);
  check(H5Dread(dataset.id(), memory.id(), memory_space.id(), space.id(), H5P_DEFAULT, texts.data()), reading_elements);
  for (hsize_t e = 0; e < elements; ++e) {
    std::memcpy(values + e * part.characters_wanted, texts.data() + e * part.characters + part.first_character, part.characters_wanted);
  }
}

}  // namespace glean::store
