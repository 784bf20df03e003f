// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/placed_image.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "store/hdf5/flash_image.hpp"
#include "store/hdf5/vtkhdf_image.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

mesh::BlockMesh blocks_in_a_row(std::size_t count) {
  mesh::BlockMesh mesh;
  mesh.cells = {8, 8, 8};
  for (std::size_t block = 0; block < count; ++block) {
    mesh.levels.push_back(1);
    mesh.parents.push_back(-1);
    const auto lower = static_cast<double>(block);
    mesh.bounds.insert(mesh.bounds.end(), {lower, lower + 1, 0, 1, 0, 1});
  }
  return mesh;
}

FlashFile flash_file(std::size_t count) {
  FlashFile file;
  file.mesh = blocks_in_a_row(count);
  mesh::BlockPositions positions;
  EXPECT_TRUE(mesh::locate(file.mesh, positions).empty());
  const mesh::BlockRelations relations = mesh::relations_of(file.mesh, positions);
  file.gid = flash_gid(file.mesh, relations);
  file.node_types = relations.node_types;
  file.which_child = relations.which_child;
  file.processors.assign(count, 0);
  file.scalars = {{"time", 0.5}, {"nstep", 3}, {"restart", false}, {"name", std::string(200, 'x')}};
  file.fields = {{"dens", mesh::Type::float64, {}}, {"c12 ", mesh::Type::float32, {}}};
  return file;
}

// Sparse, but for the first byte of each variable, which is its number from 1 on.
void write_placed(const std::string& path, const FileImage& image) {
  std::ofstream file(path, std::ios::binary);
  for (const Patch& patch : image.metadata) {
    file.seekp(static_cast<std::streamoff>(patch.offset));
    file.write(reinterpret_cast<const char*>(patch.bytes.data()), static_cast<std::streamsize>(patch.bytes.size()));
  }
  for (std::size_t v = 0; v < image.layout.variables.size(); ++v) {
    file.seekp(static_cast<std::streamoff>(image.layout.variables[v].begin_bytes)).put(static_cast<char>(v + 1));
  }
  file.close();
  std::filesystem::resize_file(path, placed_file_bytes(image));
}

std::uint8_t first_byte(const std::string& path, const std::string& name) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, path);
  const Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, name);
  const Handle type(H5Dget_type(dataset.id()), H5Tclose, name), space(H5Dget_space(dataset.id()), H5Sclose, name);
  std::vector<std::uint8_t> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())) * H5Tget_size(type.id()));
  check(H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
  return values.at(0);
}

TEST(PlacedImage, TheLibraryFindsDataWhereTheLayoutSays) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.h5";
  for (const std::size_t blocks : {1, 50, 3000}) {
    const FileImage flash = make_flash_image(flash_file(blocks));
    write_placed(path, flash);
    EXPECT_EQ(first_byte(path, "dens"), 1);
    EXPECT_EQ(first_byte(path, "c12 "), 2);
    EXPECT_EQ(first_byte(path, "refine level"), 1);
    EXPECT_EQ(flash.layout.variables[0].begin_bytes % 8, 0U);
  }

  const VtkhdfLevel coarse{{1, 1, 1}, {{0, 3, 0, 3, 0, 3}}}, fine{{.5, .5, .5}, {{0, 3, 0, 3, 0, 3}, {4, 7, 0, 3, 0, 3}}};
  const FileImage amr = make_vtkhdf_image(VtkhdfAmr{{}, {coarse, fine}, {{"a"}, {"b"}}, 1.5});
  EXPECT_EQ(amr.layout.variables[0].shape, mesh::Shape{64});
  EXPECT_EQ(amr.layout.variables[3].shape, mesh::Shape{128});
  write_placed(path, amr);
  EXPECT_EQ(first_byte(path, "VTKHDF/Level0/CellData/b"), 2);
  EXPECT_EQ(first_byte(path, "VTKHDF/Level1/CellData/a"), 3);

  write_placed(path, make_vtkhdf_image(VtkhdfImageData{{}, {1, 1, 1}, {5, 4}, {{"a"}}, std::nullopt}));
  EXPECT_EQ(first_byte(path, "VTKHDF/CellData/a"), 1);
  write_placed(path, make_vtkhdf_image(VtkhdfUnstructured{8, 1, 8, {{"a"}}, std::nullopt}));
  EXPECT_EQ(first_byte(path, "VTKHDF/CellData/a"), 5);
}

TEST(PlacedImage, DependsOnWhatIsDefinedOnly) {
  EXPECT_EQ(make_flash_image(flash_file(3)), make_flash_image(flash_file(3)));
  const FileImage image = make_flash_image(flash_file(3));
  EXPECT_EQ(FileImage::decode(image.encode()), image);
}

TEST(PlacedImage, LargeDatasetsBeginWithABlock) {
  for (const VariableLayout& variable : make_flash_image(flash_file(100)).layout.variables) EXPECT_EQ(variable.begin_bytes % 4096, 0U);
}

TEST(PlacedImage, NamesWhatTheLibraryRefuses) {
  FlashFile file = flash_file(2);
  file.fields.push_back(file.fields[0]);
  try {
    static_cast<void>(make_flash_image(file));
    FAIL() << "two datasets have one name";
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot make the dataset 'dens': HDF5 says: "), std::string::npos) << error.what();
  }
  EXPECT_EQ(make_flash_image(flash_file(2)), make_flash_image(flash_file(2)));   // it has not been left in a bad state
}

}  // namespace
}  // namespace glean::store
