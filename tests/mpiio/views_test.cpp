// SPDX-License-Identifier: BSD-3-Clause
//
// File views against what MPI_Unpack and MPI-IO do with them. One rank.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "mpiio/file_view.hpp"
#include "random_type.hpp"

namespace glean::test {
namespace {

using mesh::Pattern;
using mpiio::FileView;
using base::Bytes;
using mpiio::FlatType;

constexpr std::size_t image_bytes = 1 << 17;
constexpr std::uint16_t nothing = 0xffff;

// The index in the view's stream of each byte of the file, as MPI_Unpack of `copies` filetypes spreads it.
std::vector<std::uint16_t> spread_by_mpi(MPI_Datatype filetype, int copies, std::size_t displacement, std::size_t stream_bytes) {
  std::vector<unsigned char> low(stream_bytes), high(stream_bytes), image_low(image_bytes, 0xff), image_high(image_bytes, 0xff);
  for (std::size_t i = 0; i < stream_bytes; ++i) {
    low[i] = static_cast<unsigned char>(i);
    high[i] = static_cast<unsigned char>(i >> 8);
  }
  for (auto [stream, image] : {std::pair(&low, &image_low), std::pair(&high, &image_high)}) {
    int position = 0;
    MPI_Unpack(stream->data(), static_cast<int>(stream_bytes), &position, image->data() + displacement, copies, filetype,
               MPI_COMM_SELF);
  }
  std::vector<std::uint16_t> indices(image_bytes);
  for (std::size_t i = 0; i < image_bytes; ++i) indices[i] = static_cast<std::uint16_t>(image_low[i] | image_high[i] << 8);
  return indices;
}

std::vector<std::uint16_t> only(std::vector<std::uint16_t> indices, Bytes first, Bytes bytes) {
  for (auto& index : indices) {
    if (index != nothing && (index < first || index >= first + bytes)) index = nothing;
  }
  return indices;
}

std::vector<std::uint16_t> spread_by_patterns(const std::vector<Pattern>& patterns, Bytes first) {
  std::vector<std::uint16_t> indices(image_bytes, nothing);
  for (const Pattern& pattern : patterns) {
    EXPECT_TRUE(pattern.is_valid());
    EXPECT_EQ(pattern, pattern.canonical());
    pattern.for_each_run(0, pattern.bytes(), {0, image_bytes}, [&](const Pattern::Run& run) {
      for (Bytes b = 0; b < run.bytes; ++b) indices[run.file_offset + b] = static_cast<std::uint16_t>(first + run.source + b);
    });
    first += pattern.bytes();
  }
  return indices;
}

bool ascends(const std::vector<Pattern>& patterns) {
  for (std::size_t p = 1; p < patterns.size(); ++p) {
    if (patterns[p].offset < patterns[p - 1].end()) return false;
  }
  return true;
}

Bytes byte_offset(const FileView& view, Bytes byte) { return view.place(byte, 1).at(0).offset; }

// What MPI asks for where a file is written: displacements that ascend, and copies that do not interleave.
bool may_be_written(const FlatType& filetype) {
  return filetype.map().repeated(2, filetype.extent()).is_ascending() && filetype.true_lb() >= 0 &&
         filetype.extent() >= filetype.true_ub() - filetype.true_lb();
}

struct Drawn {
  Type filetype;
  std::int64_t displacement;
  FlatType flat;
};

// A random filetype of some bytes that a file may be written through, small enough for the image.
Drawn draw(RandomTypes& types, MPI_Datatype etype) {
  for (;;) {
    Type filetype = types.nested(types.between(0, 4), etype);
    const std::int64_t displacement = types.between(0, 50);
    if (types.kind() == Kind::simple) {
      MPI_Aint lb = 0, extent = 0;
      MPI_Type_get_extent(filetype, &lb, &extent);
      filetype = make_type(MPI_Type_create_resized, MPI_Datatype(filetype), MPI_Aint{0}, lb + extent);
    }
    const FlatType flat(filetype);
    if (flat.size() == 0 || !may_be_written(flat)) continue;
    if (6 * flat.size() >= nothing || 6 * flat.extent() + flat.true_ub() + displacement >= static_cast<std::int64_t>(image_bytes)) continue;
    return {std::move(filetype), displacement, flat};
  }
}

// One file for a test; removed at its end.
class File {
 public:
  File() {
    path_ = std::filesystem::temp_directory_path() / ("glean_views_" + std::to_string(getpid()));
    PMPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle_);
  }
  ~File() {
    PMPI_File_close(&handle_);
    std::filesystem::remove(path_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  operator MPI_File() const { return handle_; }
  [[nodiscard]] std::vector<unsigned char> bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path path_;
  MPI_File handle_ = MPI_FILE_NULL;
};

TEST(FileView, PlacesBytesWhereMpiSpreadsThem) {
  RandomTypes types(11, Kind::ascending);
  std::size_t regular = 0;
  for (int round = 0; round < 1500; ++round) {
    const MPI_Datatype etype = types.basic();
    const auto [filetype, displacement, flat] = draw(types, etype);
    const std::string described = description(filetype);
    const FileView view(displacement, flat);
    const auto spread = spread_by_mpi(filetype, 6, static_cast<std::size_t>(displacement), 6 * flat.size());
    const Bytes first = static_cast<Bytes>(types.between(0, static_cast<int>(5 * flat.size())));
    const Bytes bytes = static_cast<Bytes>(types.between(1, static_cast<int>(6 * flat.size() - first)));

    const auto patterns = view.place(first, bytes);

    ASSERT_EQ(spread_by_patterns(patterns, first), only(spread, first, bytes)) << round << ' ' << described;
    ASSERT_TRUE(ascends(patterns)) << round << ' ' << described;
    ASSERT_LE(patterns.size(), view.places_for(first, bytes)) << round << ' ' << described;
    ASSERT_EQ(spread[byte_offset(view, first)], first) << round << ' ' << described;
    if (view.place(0, 5 * flat.size()).size() == 1) ++regular;
  }
  EXPECT_GT(regular, 100u);
}

TEST(FileView, PlacesBytesWhereMpiWritesThem) {
  const bool by_ompio = std::getenv("OMPI_MCA_io") == std::string_view("ompio");
  RandomTypes types(12, by_ompio ? Kind::ascending : Kind::simple);
  const File file;
  for (int round = 0; round < 1000; ++round) {
    const MPI_Datatype etype = types.basic();
    const Bytes etype_bytes = FlatType(etype).size();
    const auto [filetype, displacement, flat] = draw(types, etype);
    const std::string described = description(filetype);
    const FileView view(displacement, flat);
    const int etypes = static_cast<int>(5 * flat.size() / etype_bytes);
    const int first = types.between(0, etypes - 1), count = types.between(1, etypes - first);
    const std::size_t bytes = static_cast<std::size_t>(count) * etype_bytes;
    std::vector<unsigned char> stream(bytes);
    for (auto& byte : stream) byte = static_cast<unsigned char>(types.between(1, 255));
    // Holes that are in the file when it is written stay; behind its end ROMIO writes there what was in memory.
    const Bytes size = byte_offset(view, 5 * flat.size() - 1) + 100;
    PMPI_File_set_size(file, 0);
    PMPI_File_set_size(file, static_cast<MPI_Offset>(size));
    PMPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL);
    PMPI_File_write_at(file, first, stream.data(), static_cast<int>(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
    const auto written = file.bytes();

    const Bytes first_byte = static_cast<Bytes>(first) * etype_bytes;
    const auto patterns = view.place(first_byte, bytes);

    std::vector<unsigned char> expected(size, 0);
    Bytes source = 0;
    for (const Pattern& pattern : patterns) {
      pattern.for_each_run(0, pattern.bytes(), {0, expected.size()}, [&](const Pattern::Run& run) {
        std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(source + run.source), run.bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(run.file_offset));
      });
      source += pattern.bytes();
    }
    ASSERT_EQ(written, expected) << round << ' ' << described;
    MPI_Offset at = 0;
    PMPI_File_get_byte_offset(file, first, &at);
    ASSERT_EQ(byte_offset(view, first_byte), static_cast<Bytes>(at)) << round << ' ' << described;
  }
}

FileView view_of(std::int64_t displacement, MPI_Datatype filetype) { return {displacement, FlatType(filetype)}; }

TEST(FileView, OfBytesIsOneRun) {
  const FileView view = view_of(100, MPI_BYTE);

  EXPECT_EQ(view.place(7, 1000), (std::vector<Pattern>{{.offset = 107, .block_bytes = 1000, .levels = {}}}));
  EXPECT_TRUE(view.place(7, 0).empty());
}

TEST(FileView, OfASubarrayIsOnePatternForAnyNumberOfArrays) {
  const int sizes[] = {20, 30}, subsizes[] = {4, 5}, starts[] = {2, 10};
  const Type filetype = make_type(MPI_Type_create_subarray, 2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE);
  const FileView view = view_of(64, filetype);

  const auto patterns = view.place(0, Bytes{1000} * 20 * 8);

  EXPECT_EQ(patterns, (std::vector<Pattern>{{.offset = 64 + (2 * 30 + 10) * 8, .block_bytes = 40, .levels = {{1000, 4800}, {4, 240}}}}));
  EXPECT_EQ(view.places_for(0, Bytes{1000} * 20 * 8), 1u);
}

TEST(FileView, OfRanksThatTakeTurnsIsOnePattern) {
  const Type turns = make_type(MPI_Type_create_resized, MPI_INT, MPI_Aint{0}, MPI_Aint{32});
  const FileView view = view_of(8, turns);

  EXPECT_EQ(view.place(4, 4000000), (std::vector<Pattern>{{.offset = 40, .block_bytes = 4, .levels = {{1000000, 32}}}}));
}

TEST(FileView, OfPartsThatTouchAcrossFiletypesIsOnePattern) {
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 12};
  const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT};   // what touches in the file is the int and the double of the next
  const Type filetype = make_type(MPI_Type_create_struct, 2, lengths, displacements, parts);
  const FileView view = view_of(0, filetype);

  EXPECT_EQ(view.place(8, 12000), (std::vector<Pattern>{{.offset = 12, .block_bytes = 12, .levels = {{1000, 16}}}}));
  EXPECT_GE(view.places_for(8, 12000), 1u);
}

TEST(FileView, OfAnIrregularListSaysHowManyPlacesItHas) {
  std::vector<int> displacements = {0};
  for (int i = 1; i < 100000; ++i) displacements.push_back(displacements.back() + 2 + i % 7 * (i % 3));
  const Type filetype = make_type(MPI_Type_create_indexed_block, 100000, 1, displacements.data(), MPI_INT);
  const FileView view = view_of(0, filetype);

  EXPECT_TRUE(may_be_written(FlatType(filetype)));
  EXPECT_GT(view.places_for(0, 400000), 50000u);
  EXPECT_GT(view.places_for(0, Bytes{400000} << 20), Bytes{50000} << 20);
  EXPECT_LE(view.places_for(200, 40), 10u);
}

TEST(FileView, ThatDoesNotAscendIsTakenApart) {
  const Type overlapping = make_type(MPI_Type_create_hvector, 3, 2, MPI_Aint{4}, MPI_INT);
  const FileView view = view_of(8, overlapping);

  const auto patterns = view.place(0, 24);
  EXPECT_EQ(patterns, (std::vector<Pattern>{{.offset = 8, .block_bytes = 8, .levels = {}},
                                            {.offset = 12, .block_bytes = 8, .levels = {}},
                                            {.offset = 16, .block_bytes = 8, .levels = {}}}));
  EXPECT_LE(patterns.size(), view.places_for(0, 24));
}

TEST(FileView, BeforeTheFileOrBehindItsLargestOffsetHasNoPlace) {
  const Type before = make_type(MPI_Type_create_hindexed_block, 1, 1, std::vector<MPI_Aint>{-8}.data(), MPI_INT);
  const FileView far = view_of(std::numeric_limits<std::int64_t>::max() - 100, MPI_BYTE);

  EXPECT_THROW((void)view_of(0, before).place(0, 4), base::Error);
  EXPECT_EQ(view_of(8, before).place(0, 4).at(0).offset, 0u);
  EXPECT_EQ(far.place(0, 10).size(), 1u);
  EXPECT_THROW((void)far.place(0, 200), base::Error);
}

TEST(FileView, WithoutBytesIsEmpty) {
  const FileView view = view_of(24, make_type(MPI_Type_contiguous, 0, MPI_INT));

  EXPECT_TRUE(view.place(0, 0).empty());
  EXPECT_THROW((void)view.place(0, 4), base::Error);
}

}  // namespace
}  // namespace glean::test
