// SPDX-License-Identifier: BSD-3-Clause
#include "phasta_file.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace phasta {
namespace {

Part two_cells() {
  return {{}, {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 2, 2}}, {{0, 1, 2, 3}, {1, 2, 3, 4}}};
}

template <class Value>
Value value_after(const std::string& bytes, const std::string& header, std::size_t index) {
  Value value{};
  std::memcpy(&value, bytes.data() + bytes.find(header) + header.size() + index * sizeof value, sizeof value);
  return value;
}

TEST(GeometryBytes, HaveNumbersInTheLinesThatReadersLookFor) {
  const std::string bytes = geometry_bytes(two_cells());

  for (const char* line : {"\nnumber of nodes : < 0 > 5 \n", "\nnumber of interior elements : < 0 > 2 \n",
                           "\nnumber of interior tpblocks : < 0 > 1 \n",
                           "\nco-ordinates : < 121 > 5 3 \n", "\nconnectivity interior linear tetrahedron : < 33 > 2 4 1 4 3 3 1 \n"}) {
    EXPECT_NE(bytes.find(line), std::string::npos) << line;
  }
}

TEST(GeometryBytes, StartWithTheMagicNumberOfTheirByteOrder) {
  const std::string header = "byteorder magic number : < 5 > 1 \n", bytes = geometry_bytes(two_cells());

  EXPECT_EQ(value_after<std::int32_t>(bytes, header, 0), 362436);
  EXPECT_EQ(bytes[bytes.find(header) + header.size() + 4], '\n');
}

TEST(GeometryBytes, HavePointsByAxisAndCellsByCornerFromOne) {
  const std::string bytes = geometry_bytes(two_cells());
  const std::string points = "co-ordinates : < 121 > 5 3 \n", cells = "tetrahedron : < 33 > 2 4 1 4 3 3 1 \n";

  EXPECT_EQ(value_after<double>(bytes, points, 1), 1);    // x of the second point
  EXPECT_EQ(value_after<double>(bytes, points, 13), 1);   // z of the fourth
  EXPECT_EQ(value_after<std::int32_t>(bytes, cells, 1), 2);   // the first corner of the second cell
  EXPECT_EQ(value_after<std::int32_t>(bytes, cells, 7), 5);   // its last
}

TEST(RestartBytes, HaveTheSolutionByVariable) {
  const std::vector<State> solution = {{1, {2, 3, 4}, 5}, {6, {7, 8, 9}, 10}};

  const std::string bytes = restart_bytes(solution, 40), header = "solution : < 81 > 2 5 40 \n";

  const double expected[] = {1, 6, 2, 7, 3, 8, 4, 9, 5, 10};
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(value_after<double>(bytes, header, i), expected[i]);
  EXPECT_EQ(bytes.back(), '\n');
}

TEST(MetaText, NamesTheFilesOfOneOutput) {
  const std::string text = meta_text(3, 40, 0.25);

  for (const char* part : {"number_of_pieces=\"3\"", "pattern=\"geombc.40.%d\"", "pattern=\"restart.40.%d\"", "start_value=\"0.25\"",
                           "paraview_field_tag=\"velocity\" phasta_field_tag=\"solution\" start_index_in_phasta_array=\"1\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(geometry_name(40, 3), "geombc.40.3");
  EXPECT_EQ(restart_name(40, 3), "restart.40.3");
  EXPECT_EQ(meta_name(40), "solution_40.pht");
}

}  // namespace
}  // namespace phasta
