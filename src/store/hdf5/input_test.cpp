// SPDX-License-Identifier: BSD-3-Clause
//
// What is listed of files, how much of them is read without the library, and what damage does. tests/session reads files of others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/test_error.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/hdf5/image.hpp"
#include "store/hdf5/input_contents.hpp"
#include "store/hdf5/input_elements.hpp"

namespace glean::store {
namespace {

// A file in memory, as a drain finishes one.
std::vector<std::byte> finished(const mesh::Definitions& definitions, std::uint64_t records) {
  const FileImage image = make_hdf5_image(definitions, base::RangeRule::fill);
  const Finished end = make_hdf5_format()->finish(image, {records, whole_size(image.layout, records), false});
  std::vector<std::byte> file(end.size);
  const auto apply = [&](const std::vector<Patch>& patches) {
    for (const Patch& patch : patches) {
      std::copy(patch.bytes.begin(), patch.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(patch.offset));
    }
  };
  apply(image.metadata);
  apply(end.patches);
  return file;
}

// A fixed variable, and two with steps: numbers and text.
mesh::Definitions some_definitions() {
  mesh::Definitions definitions;
  definitions.dimensions = {{"t", 0, true}, {"y", 3, false}, {"x", 5, false}};
  definitions.variables.resize(3);
  const char* names[] = {"a", "fluid/density", "label"};
  const std::vector<int> dimensions[] = {{1, 2}, {0, 1, 2}, {0, 1}};
  const mesh::Type types[] = {mesh::Type::int16, mesh::Type::float64, mesh::Type::text};
  for (std::size_t v = 0; v < 3; ++v) {
    definitions.variables[v].name = names[v];
    definitions.variables[v].dimensions = dimensions[v];
    definitions.variables[v].external = types[v];
  }
  return definitions;
}

Hdf5Source source_of(const std::vector<std::byte>& file) {
  return {file.size(), [&file](std::span<std::byte> into, Bytes offset) {
            std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
            return true;
          }};
}

TEST(Hdf5Inputs, OfThisLibraryAreReadWithoutHdf5) {
  const mesh::Definitions definitions = some_definitions();
  for (const std::uint64_t records : {0, 1, 2, 300}) {
    const std::vector<std::byte> file = finished(definitions, records);
    const FileLayout layout = make_hdf5_image(definitions, base::RangeRule::fill).layout;

    const FileContents contents = read_hdf5_contents(source_of(file));

    EXPECT_TRUE(contents.counts_records_last);
    EXPECT_EQ(contents.records, records);
    ASSERT_EQ(contents.variables.size(), 3U);
    for (std::size_t v = 0; v < 3; ++v) {
      const FileContents::Variable& variable = contents.variables[v];
      EXPECT_EQ(variable.name, layout.variables[v].name);
      EXPECT_EQ(variable.shape, layout.variables[v].shape);
      EXPECT_EQ(variable.external, layout.variables[v].external);
      if (variable.per_step && records == 0) continue;
      EXPECT_TRUE(variable.by_library.empty()) << variable.name << ", " << records << " records";
      EXPECT_EQ(variable.begin_bytes, layout.variables[v].begin_bytes);
      if (records > 1 && variable.per_step) {
        EXPECT_EQ(variable.record_stride_bytes, layout.variables[v].record_stride_bytes);
      }
    }
  }
}

// What another program has appended lies elsewhere.
TEST(Hdf5Inputs, WhoseStepsLieUnevenlyAreReadByHdf5) {
  std::vector<std::byte> file = finished(some_definitions(), 4);
  const FileLayout layout = make_hdf5_image(some_definitions(), base::RangeRule::fill).layout;
  const VariableLayout& density = layout.variables[1];
  const std::uint64_t last = density.record_begin_bytes(3), moved = last + 8;
  const auto old_bytes = std::as_bytes(std::span(&last, 1)), new_bytes = std::as_bytes(std::span(&moved, 1));
  const auto found = std::search(file.begin(), file.end(), old_bytes.begin(), old_bytes.end());
  ASSERT_NE(found, file.end());
  std::copy(new_bytes.begin(), new_bytes.end(), found);

  const FileContents contents = read_hdf5_contents(source_of(file));

  EXPECT_EQ(contents.variables[1].by_library, std::vector<std::string>{"fluid/density"});
  EXPECT_TRUE(contents.variables[2].by_library.empty());
  std::vector<double> values(15, -1);
  read_hdf5_elements(source_of(file), contents.variables[1], 2, mesh::whole({3, 5}), reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, std::vector<double>(15, 0));
}

TEST(Hdf5Inputs, SayThatTheyAreCutOrDamaged) {
  const std::vector<std::byte> file = finished(some_definitions(), 4);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{50}, std::size_t{500}, file.size() - 1}) {
    const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes));
    const base::Error error = base::error_of([&] { return read_hdf5_contents(source_of(cut)); });
    EXPECT_EQ(error.code(), base::Errc::invalid_argument) << bytes;
    EXPECT_NE(std::string(error.what()).find("HDF5 says"), std::string::npos) << error.what();
  }
  Hdf5Source bad = source_of(file);
  bad.read = [](std::span<std::byte>, Bytes) { return false; };
  EXPECT_EQ(base::error_of([&] { return read_hdf5_contents(bad); }).code(), base::Errc::invalid_argument);
}

}  // namespace
}  // namespace glean::store
