// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are put together without the library, read by the library.
#include "store/hdf5/image.hpp"

#include <gtest/gtest.h>
#include <hdf5_hl.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "store/format/contract.hpp"
#include "store/format/hdf5/chunk_index.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/format/hdf5/note.hpp"
#include "store/hdf5/library.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

mesh::Attribute text(int variable, const std::string& name, const std::string& value) {
  const auto bytes = std::as_bytes(std::span(value));
  return {variable, name, mesh::Type::text, {bytes.begin(), bytes.end()}};
}

template <class T>
mesh::Attribute numbers(int variable, const std::string& name, mesh::Type type, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {variable, name, type, {bytes.begin(), bytes.end()}};
}

// Every type once fixed and once with steps, some in groups.
mesh::Definitions all_types(const mesh::Shape& shape) {
  mesh::Definitions definitions;
  definitions.dimensions.push_back({"step", 0, true});
  for (std::size_t d = 0; d < shape.size(); ++d) definitions.dimensions.push_back({"d" + std::to_string(d), shape[d], false});
  for (int type = 0; type < mesh::type_count; ++type) {
    for (const bool per_step : {false, true}) {
      mesh::VariableDefinition& variable = definitions.variables.emplace_back();
      variable.external = static_cast<mesh::Type>(type);
      variable.name = std::string(type % 3 == 0 ? "fluid/" : "") + (per_step ? "steps/" : "");
      variable.name += mesh::name_of(variable.external);
      variable.fill = type % 2 == 0;
      if (per_step) variable.dimensions.push_back(0);
      for (std::size_t d = 0; d < shape.size(); ++d) variable.dimensions.push_back(static_cast<int>(d) + 1);
    }
  }
  return definitions;
}

std::vector<std::byte> read_record(const std::string& path, const std::string& name, bool per_step, std::uint64_t record) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, path);
  const Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, name);
  const Handle type(H5Dget_type(dataset.id()), H5Tclose, name), space(H5Dget_space(dataset.id()), H5Sclose, name);
  const int rank = H5Sget_simple_extent_ndims(space.id());
  std::vector<hsize_t> start(static_cast<std::size_t>(rank)), count(start);
  H5Sget_simple_extent_dims(space.id(), count.data(), nullptr);
  if (per_step) {
    start.at(0) = record;
    count.at(0) = 1;
  }
  if (rank > 0) check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), name);
  const auto elements = static_cast<std::size_t>(H5Sget_select_npoints(space.id()));
  std::vector<std::byte> values(elements * H5Tget_size(type.id()));
  const hsize_t all = elements;
  const Handle memory(H5Screate_simple(1, &all, nullptr), H5Sclose, name);
  check(H5Dread(dataset.id(), type.id(), memory.id(), space.id(), H5P_DEFAULT, values.data()), name);
  return values;
}

// Sparse: its elements are zeros.
void write_file(const std::string& path, const FileImage& image, const Written& written) {
  const Finished finished = make_hdf5_format()->finish(image, written);
  std::ofstream file(path, std::ios::binary);
  for (const std::vector<Patch>& patches : {image.metadata, finished.patches}) {
    for (const Patch& patch : patches) {
      file.seekp(static_cast<std::streamoff>(patch.offset));
      file.write(reinterpret_cast<const char*>(patch.bytes.data()), static_cast<std::streamsize>(patch.bytes.size()));
    }
  }
  file.close();
  std::filesystem::resize_file(path, written.goes_on ? std::max(written.highest_end, image.layout.header_bytes) : finished.size);
}

// With one record variable "v".
FileImage make_file(const std::string& path, mesh::Type type, const mesh::Shape& shape, const Written& written) {
  mesh::Definitions definitions;
  definitions.dimensions.push_back({"step", 0, true});
  mesh::VariableDefinition& variable = definitions.variables.emplace_back(mesh::VariableDefinition{"v", type, {0}});
  for (const std::uint64_t length : shape) {
    variable.dimensions.push_back(static_cast<int>(definitions.dimensions.size()));
    definitions.dimensions.push_back({"d" + std::to_string(variable.dimensions.back()), length, false});
  }
  FileImage image = make_hdf5_image(definitions, base::RangeRule::error);
  write_file(path, image, written);
  return image;
}

std::string play(const mesh::Definitions& definitions) {
  const TemporaryDirectory directory;
  const auto format = make_hdf5_format(make_hdf5_image);
  return FormatContract(*format, definitions, directory / "a.h5",
                        [&](const std::string& path, int variable, std::uint64_t record) {
                          const auto& name = definitions.variables[static_cast<std::size_t>(variable)].name;
                          return read_record(path, name, definitions.per_step(variable), record);
                        }).play();
}

TEST(Hdf5, KeepsTheContractOfFormats) {
  for (const mesh::Shape& shape : {mesh::Shape{}, mesh::Shape{5}, mesh::Shape{3, 4, 2}, mesh::Shape{90, 100}}) {
    mesh::Definitions definitions = all_types(shape);
    EXPECT_EQ(play(definitions), "") << shape.size() << " dimensions";
    definitions.attributes = {text(-1, "title", "a title"), text(0, "empty", ""),
                              numbers<double>(1, "bounds", mesh::Type::float64, {1, 2})};
    for (int i = 0; i < 40; ++i) {   // more than fit where the dataset is described
      definitions.attributes.push_back(text(1, "more " + std::to_string(i), std::string(100, 'x')));
      definitions.attributes.push_back(text(-1, "of the file " + std::to_string(i), std::string(100, 'x')));
    }
    EXPECT_EQ(play(definitions), "") << shape.size() << " dimensions, with attributes";
    for (std::size_t a = 0; a < definitions.attributes.size(); ++a) {
      definitions.attributes[a].changes = a % 3 == 0 && !definitions.attributes[a].values.empty();
    }
    definitions.attributes.push_back(text(2, "no ASCII", "\xc3\xa4"));
    for (const auto& [name, type] : {std::pair("byte", mesh::Type::int8), std::pair("text of one", mesh::Type::text)}) {
      definitions.attributes.push_back({-1, name, type, {std::byte{1}}});
    }
    for (auto last = definitions.attributes.end() - 3; last != definitions.attributes.end(); ++last) last->changes = true;
    EXPECT_EQ(play(definitions), "") << shape.size() << " dimensions, with attributes that change";
  }
}

// With coordinates along two of three dimensions.
mesh::Definitions with_coordinates() {
  mesh::Definitions definitions = all_types({3, 4});
  definitions.variables.push_back({"step", mesh::Type::float64, {0}});
  definitions.variables.push_back({"d1", mesh::Type::float32, {2}});
  return definitions;
}

TEST(Hdf5, CoordinatesAreDimensionScales) {
  const mesh::Definitions definitions = with_coordinates();
  EXPECT_EQ(play(definitions), "");

  const TemporaryDirectory directory;
  write_file(directory / "a.h5", make_hdf5_image(definitions, base::RangeRule::error), {2, 0});
  const Handle file(H5Fopen((directory / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "a.h5");
  const auto is_attached = [&](const char* scale, const std::string& name, unsigned dimension) {
    const Handle along(H5Dopen2(file.id(), scale, H5P_DEFAULT), H5Dclose, scale);
    const Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, name);
    return H5DSis_scale(along.id()) == 1 && H5DSis_attached(dataset.id(), along.id(), dimension) == 1;
  };
  EXPECT_TRUE(is_attached("step", "fluid/steps/int8", 0));
  EXPECT_TRUE(is_attached("d1", "fluid/steps/int8", 2));
  EXPECT_FALSE(is_attached("d1", "fluid/steps/int8", 1));
  EXPECT_TRUE(is_attached("d1", "fluid/int8", 1));
}

TEST(Hdf5, AttributesOfTheOutputMayCountRecords) {
  mesh::Definitions definitions = all_types({3});
  definitions.attributes = {numbers<std::int64_t>(-1, "Steps/NSteps", mesh::Type::int64, {0}), text(-1, "Steps/empty/", "")};
  definitions.attributes.front().counts_records = true;
  EXPECT_EQ(play(definitions), "");

  const TemporaryDirectory directory;
  write_file(directory / "a.h5", make_hdf5_image(definitions, base::RangeRule::error), {5, 0});
  const Handle file(H5Fopen((directory / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "a.h5");
  const Handle attribute(H5Aopen_by_name(file.id(), "Steps", "NSteps", H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "NSteps");
  std::int64_t found = -1;
  H5Aread(attribute.id(), H5T_NATIVE_INT64, &found);
  EXPECT_EQ(found, 5);
  const Handle group(H5Gopen2(file.id(), "Steps/empty", H5P_DEFAULT), H5Gclose, "Steps/empty");
  EXPECT_EQ(H5Aget_num_attrs(group.id()), 0);
}

TEST(Hdf5, LetsAsManyAttributesChangeAsItCanTellApart) {
  mesh::Definitions definitions;
  for (int i = 0; i < 127; ++i) definitions.attributes.push_back(numbers<std::int32_t>(-1, std::to_string(i), mesh::Type::int32, {i}));
  for (mesh::Attribute& attribute : definitions.attributes) attribute.changes = true;
  EXPECT_EQ(play(definitions), "");
  definitions.attributes.push_back(definitions.attributes.back());
  definitions.attributes.back().name = "one more";
  EXPECT_THROW(static_cast<void>(make_hdf5_image(definitions, base::RangeRule::error)), base::Error);
}

TEST(Hdf5, DatasetsMayHaveNoElements) {
  mesh::Definitions definitions = all_types({0, 3});
  definitions.dimensions.push_back({"some", 2, false});
  definitions.variables.push_back({"behind", mesh::Type::float64, {static_cast<int>(definitions.dimensions.size()) - 1}});
  std::erase_if(definitions.variables, [](const auto& variable) { return variable.dimensions.front() == 0; });   // with records
  const TemporaryDirectory directory;
  const FileImage image = make_hdf5_image(definitions, base::RangeRule::error);
  write_file(directory / "a.h5", image, {0, 0});
  const Handle file(H5Fopen((directory / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "a.h5");
  for (const VariableLayout& variable : image.layout.variables) {
    const Handle dataset(H5Dopen2(file.id(), variable.name.c_str(), H5P_DEFAULT), H5Dclose, variable.name);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose, variable.name);
    EXPECT_EQ(H5Sget_simple_extent_npoints(space.id()), variable.name == "behind" ? 2 : 0) << variable.name;
  }
}

TEST(Hdf5, OfNothingIsAFile) { EXPECT_EQ(play({}), ""); }

TEST(Hdf5, MetadataDependOnTheDefinitionsOnly) {
  const mesh::Definitions definitions = with_coordinates();
  const FileImage image = make_hdf5_image(definitions, base::RangeRule::error);
  mallopt(M_PERTURB, 0x5a);   // what comes from memory that was not set is something else
  EXPECT_EQ(make_hdf5_image(definitions, base::RangeRule::error), image);
  mallopt(M_PERTURB, 0);
}

TEST(Hdf5, LargeDatasetsAndRecordsBeginWithABlock) {
  const FileImage image = make_hdf5_image(all_types({90, 100, 10}), base::RangeRule::error);
  for (const VariableLayout& variable : image.layout.variables) {
    if (variable.record_bytes() >= 64 * base::KiB) {
      EXPECT_EQ(variable.begin_bytes % 4096, 0U) << variable.name;
      EXPECT_EQ(variable.record_stride_bytes % 4096, 0U) << variable.name;
    }
  }
}

std::uint64_t records_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose, "v");
  hsize_t lengths[H5S_MAX_RANK] = {};
  H5Sget_simple_extent_dims(space.id(), lengths, nullptr);
  return lengths[0];
}

TEST(Hdf5, FindsTheChunksOfAsManyRecordsAsThereAre) {
  const TemporaryDirectory directory;
  for (const std::uint64_t records : {1, 64, 65, 256, 257, 5000}) {
    const FileImage image = make_file(directory / "a.h5", mesh::Type::int32, {2, 3}, {records, 0});
    const VariableLayout& variable = image.layout.variables[0];
    const Handle file(H5Fopen((directory / "a.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "a.h5");
    const Handle dataset(H5Dopen2(file.id(), "v", H5P_DEFAULT), H5Dclose, "v");
    ASSERT_EQ(records_of(dataset.id()), records);
    for (std::uint64_t record = 0; record < records; ++record) {
      const hsize_t offset[] = {record, 0, 0};
      haddr_t address = 0;
      hsize_t bytes = 0;
      unsigned filters = 1;
      check(H5Dget_chunk_info_by_coord(dataset.id(), offset, &filters, &address, &bytes), "chunk");
      ASSERT_EQ(address, variable.record_begin_bytes(record)) << record << " of " << records;
      ASSERT_EQ(bytes, variable.record_bytes());
      ASSERT_EQ(filters, 0U);
    }
    // The library goes on where we have stopped.
    const hsize_t more[] = {records + 200, 2, 3};
    check(H5Dset_extent(dataset.id(), more), "more");
    const std::vector<std::int32_t> ones((records + 200) * 6, 1);
    check(H5Dwrite(dataset.id(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data()), "more");
    std::vector<std::int32_t> read(ones.size());
    check(H5Dread(dataset.id(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), "more");
    EXPECT_EQ(read, ones) << records;
  }
}

TEST(Hdf5, CutsRecordsThatAreLargerThanAChunk) {
  const TemporaryDirectory directory;
  const struct {
    mesh::Shape shape;
    std::uint64_t chunks;
  } cases[] = {{{(std::uint64_t{1} << 32) + 5}, 2}, {{2, 15, std::uint64_t{1} << 29}, 6}};
  for (const auto& each : cases) {
    const std::string path = directory / "a.h5";
    const FileImage image = make_file(path, mesh::Type::uint8, each.shape, {100, 0});
    const VariableLayout& variable = image.layout.variables[0];
    for (const std::uint64_t record : {0, 99}) {
      for (const std::uint64_t element : {variable.record_bytes() / 2 + 7, variable.record_bytes() - 1}) {
        {
          std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
          file.seekp(static_cast<std::streamoff>(variable.record_begin_bytes(record) + element)).put(77);
        }
        const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, path);
        const Handle dataset(H5Dopen2(file.id(), "v", H5P_DEFAULT), H5Dclose, "v"), space(H5Dget_space(dataset.id()), H5Sclose, "v");
        std::vector<hsize_t> start(each.shape.size() + 1);
        std::uint64_t rest = element;
        for (std::size_t d = each.shape.size(); d-- > 0; rest /= each.shape[d]) start[d + 1] = rest % each.shape[d];
        start[0] = record;
        check(H5Sselect_elements(space.id(), H5S_SELECT_SET, 1, start.data()), "v");
        const hsize_t one = 1;
        const Handle memory(H5Screate_simple(1, &one, nullptr), H5Sclose, "v");
        std::uint8_t value = 0;
        check(H5Dread(dataset.id(), H5T_NATIVE_UINT8, memory.id(), space.id(), H5P_DEFAULT, &value), "v");
        EXPECT_EQ(value, 77) << each.shape.size() << " dimensions, record " << record << ", element " << element;
      }
    }
    const auto note = Hdf5Note::find(image.layout, image.metadata.back().bytes);
    ASSERT_TRUE(note);
    EXPECT_EQ(ChunkIndex(variable, note->variables[0].chunk).record_bytes() / mesh::elements_of(note->variables[0].chunk), each.chunks);
  }
}

TEST(Hdf5, CanBeReadAsFarAsItIsWrittenWhileItGoesOn) {
  const TemporaryDirectory directory;
  const FileImage image = make_file(directory / "a.h5", mesh::Type::int32, {2, 3}, {});
  const VariableLayout& variable = image.layout.variables[0];
  for (const std::uint64_t records : {3, 256, 1000}) {
    make_file(directory / "a.h5", mesh::Type::int32, {2, 3}, {records, variable.record_begin_bytes(records), true});
    const Handle file(H5Fopen((directory / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "a.h5");
    const Handle dataset(H5Dopen2(file.id(), "v", H5P_DEFAULT), H5Dclose, "v");
    EXPECT_EQ(records_of(dataset.id()), std::min<std::uint64_t>(records, 256));
    EXPECT_EQ(read_record(directory / "a.h5", "v", true, 2).size(), variable.record_bytes());
  }
}

std::string what_is_thrown(const mesh::Definitions& definitions) {
  try {
    static_cast<void>(make_hdf5_image(definitions, base::RangeRule::error));
    return "nothing";
  } catch (const base::Error& error) {
    return error.what();
  }
}

TEST(Hdf5, NamesWhatTheLibraryRefuses) {
  mesh::Definitions definitions = all_types({2});
  definitions.variables[2].name = "fluid/int8/in a dataset";
  EXPECT_NE(what_is_thrown(definitions).find("cannot define variable 'fluid/int8/in a dataset': HDF5 says: "), std::string::npos);

  definitions = all_types({2});
  definitions.attributes = {text(0, "long", std::string(70000, 'x'))};
  EXPECT_NE(what_is_thrown(definitions).find("attribute 'long' of variable 'fluid/int8'"), std::string::npos);
  definitions.attributes = {numbers<double>(0, "_FillValue", mesh::Type::float64, {1})};
  EXPECT_NE(what_is_thrown(definitions).find("not one value of the variable's type"), std::string::npos);
  EXPECT_NE(what_is_thrown(all_types({std::uint64_t{1} << 40, std::uint64_t{1} << 40})).find("larger than any file"), std::string::npos);
  EXPECT_EQ(what_is_thrown(all_types({2})), "nothing");   // it has not been left in a bad state
}

}  // namespace
}  // namespace glean::store
