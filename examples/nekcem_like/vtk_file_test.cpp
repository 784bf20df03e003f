// SPDX-License-Identifier: BSD-3-Clause
#include "vtk_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace nekcem {
namespace {

constexpr WaveguideMode::Shape shape{};

// A mesh of 4 elements with 8 points each, on as many ranks as there are runs.
struct Job {
  std::vector<Range> runs;
  std::vector<Mesh> meshes;
  std::vector<Fields> fields;

  explicit Job(const std::vector<Role>& roles) : runs(even_runs(4, roles)) {
    for (int rank = 0; rank < static_cast<int>(runs.size()); ++rank) {
      meshes.emplace_back(Mesh::Box{.elements = {2, 1, 2}, .order = 1}, runs, rank);
      fields.push_back(exact_fields(meshes.back(), WaveguideMode(shape), 0.3));
    }
  }
  [[nodiscard]] Snapshot snapshot(std::size_t rank) const {
    const auto& v = fields[rank].values;
    return {meshes[rank], 3, 30, 0.3, 0.01, 4, {{"H ", &v[hx], &v[hy], &v[hz]}, {"E ", &v[ex], &v[ey], &v[ez]}}};
  }
};

std::string whole_file(const Job& job) {
  const Snapshot snapshot = job.snapshot(0);
  const VtkFile file(snapshot, {0, 4});
  const VtkFile::Part part = file.part({0, 4}, VtkFile::Texts::all);
  std::vector<std::byte> buffer(static_cast<std::size_t>(part.bytes));
  file.encode(snapshot, part, buffer);
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

// Puts the extents of a part into the bytes of a file.
void put(const VtkFile::Part& part, const std::vector<std::byte>& buffer, std::string& file) {
  for (const Extent& extent : part.extents) {
    std::memcpy(file.data() + extent.file_offset, buffer.data() + extent.buffer_offset, static_cast<std::size_t>(extent.bytes));
  }
}

TEST(VtkFile, HasTheTextsOfNekCEM) {
  const std::string bytes = whole_file(Job({Role::computes}));

  EXPECT_TRUE(bytes.starts_with("# vtk DataFile Version 3.0 \n30 3 2 4 0.300000 0.010000 Electromagnetic Field  \nBINARY \n"
                                "DATASET UNSTRUCTURED_GRID \nPOINTS  32  float  \n"));
  for (const char* text : {"\nCELLS 4  36 \n", "\nCELL_TYPES 4 \n", "\nPOINT_DATA 32 \nVECTORS H   float \n", " \nVECTORS E   float \n"}) {
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  }
}

TEST(VtkFile, HasPointsAndCellsInBigEndianBytes) {
  const std::string bytes = whole_file(Job({Role::computes}));
  const auto after = [&](const std::string& text) { return bytes.data() + bytes.find(text) + text.size(); };

  // The second point of the first element is at (0.5, 0, 0).
  const unsigned char second_point[12] = {0x3f, 0, 0, 0};
  EXPECT_EQ(std::memcmp(after("float  \n") + 12, second_point, sizeof second_point), 0);
  // The last cell is that of points 24 to 31, in the order of VTK's hexahedron.
  const unsigned char last_cell[9] = {8, 24, 25, 27, 26, 28, 29, 31, 30};
  for (std::size_t i = 0; i < 9; ++i) {
    const unsigned char big[4] = {0, 0, 0, last_cell[i]};
    EXPECT_EQ(std::memcmp(after("CELLS 4  36 \n") + static_cast<std::ptrdiff_t>((3 * 9 + i) * 4), big, 4), 0) << "value " << i;
  }
}

TEST(VtkFile, IsTheSameWhenRanksPutTheirPartsTogether) {
  const std::string expected = whole_file(Job({Role::computes}));
  const Job job({Role::computes, Role::computes, Role::set_aside, Role::computes});
  std::string together(expected.size(), '?');

  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Snapshot snapshot = job.snapshot(rank);
    const VtkFile file(snapshot, {0, 4});
    const VtkFile::Part part = file.part(job.runs[rank], rank == 0 ? VtkFile::Texts::all : VtkFile::Texts::none);
    std::vector<std::byte> buffer(static_cast<std::size_t>(part.bytes));
    file.encode(snapshot, part, buffer);
    put(part, buffer, together);
  }

  EXPECT_EQ(together, expected);
}

// As in rbIO: a worker's buffer is section after section, the writer's has it in pieces.
TEST(VtkFile, IsTheSameWhenAWriterGathersPieces) {
  const std::string expected = whole_file(Job({Role::computes}));
  const Job job({Role::computes, Role::computes, Role::computes});
  const Snapshot of_writer = job.snapshot(0);
  const VtkFile file(of_writer, {0, 4});
  const VtkFile::Part whole = file.part({0, 4}, VtkFile::Texts::all);
  std::vector<std::byte> gathered(static_cast<std::size_t>(whole.bytes));
  file.encode(of_writer, whole, gathered);

  for (std::size_t rank = 1; rank < 3; ++rank) {
    const VtkFile::Part part = file.part(job.runs[rank], VtkFile::Texts::none);
    std::vector<std::byte> sent(static_cast<std::size_t>(part.bytes));
    file.encode(job.snapshot(rank), part, sent);
    std::size_t taken = 0;
    for (const Extent& piece : file.pieces(whole, job.runs[rank])) {
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(taken), piece.bytes, gathered.begin() + piece.buffer_offset);
      taken += static_cast<std::size_t>(piece.bytes);
    }
    EXPECT_EQ(taken, sent.size());
  }

  std::string together(expected.size(), '?');
  put(whole, gathered, together);
  EXPECT_EQ(together, expected);
}

TEST(VtkFile, NumbersThePointsOfAFileOfItsOwnFromZero) {
  const Job job({Role::computes, Role::computes});
  const Snapshot snapshot = job.snapshot(1);
  const VtkFile file(snapshot, job.runs[1]);
  const VtkFile::Part part = file.part(job.runs[1], VtkFile::Texts::all);
  std::vector<std::byte> buffer(static_cast<std::size_t>(part.bytes));

  file.encode(snapshot, part, buffer);

  EXPECT_EQ(part.bytes, file.bytes());
  const std::string bytes(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  const std::string text = "CELLS 2  18 \n";
  const char first_two[8] = {0, 0, 0, 8, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(bytes.data() + bytes.find(text) + text.size(), first_two, sizeof first_two), 0);
}

TEST(VtkFile, RefusesMorePointsThanItsNumbersCanCount) {
  const Mesh mesh({.elements = {1024, 1024, 2}, .order = 9}, even_runs(1024 * 1024 * 2, {Role::computes}), 0);

  EXPECT_THROW(VtkFile({mesh, 0, 0, 0, 0, 1, {}}, {0, 1024 * 1024 * 2}), std::invalid_argument);
}

TEST(PvtkText, NamesTheFiles) {
  const std::string text = pvtk_text({"a.vtk", "b.vtk"});

  EXPECT_NE(text.find("numberOfPieces=\"2\""), std::string::npos);
  EXPECT_LT(text.find("fileName=\"a.vtk\""), text.find("fileName=\"b.vtk\""));
}

}  // namespace
}  // namespace nekcem
