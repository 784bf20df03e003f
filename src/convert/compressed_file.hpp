// SPDX-License-Identifier: BSD-3-Clause
//
// An HDF5 file whose datasets are compressed. The HDF5 library writes it, into a working file: its pieces have lengths that are known late.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/definitions.hpp"
#include "reduce/zfp_chunk.hpp"
#include "store/hdf5/library.hpp"

namespace glean::convert {

// Of one thread. Throws what HDF5 says. Blocks.
class CompressedFile {
 public:
  // `path`: a file, whose content goes. `deflate`: level of all datasets without a tolerance; 0: they are as they are.
  CompressedFile(const std::string& path, const mesh::Definitions& definitions, int deflate);

  // How many elements a window has at most: it becomes a chunk.
  [[nodiscard]] static std::uint64_t window_elements() { return 64 * 1024; }
  // Makes the dataset of a variable, and writes it from now on. `shape`: of what write() gets; dimensions that are not `kept` have the
  // length 1, and the dataset has them not. Windows are those of for_each_window().
  void begin(std::size_t variable, const mesh::Shape& shape, const std::vector<bool>& kept, bool one_record, double tolerance);
  // Returns the largest error of compression so far.
  double write(const mesh::Box& window, std::span<const double> values);
  // Elements as NetCDF has them.
  void write_as_in_source(const mesh::Box& window, std::span<const std::byte> big);
  // A dataset of one dimension, some elements after the other.
  void write_list(std::size_t variable, std::uint64_t begin, std::span<const double> values);
  // Attributes, scales, and the end of the file.
  void finish(const mesh::Definitions& definitions);
  [[nodiscard]] bool has_zfp() const { return has_zfp_; }

 private:
  void create(std::size_t variable, const mesh::Shape& shape, const mesh::Shape& chunk, bool has_whole_chunks, double tolerance);
  void write_box(const mesh::Box& box, hid_t memory_type, const void* values);
  [[nodiscard]] mesh::Shape of_kept(const mesh::Shape& all) const;

  mesh::Definitions definitions_;
  int deflate_;
  bool has_zfp_ = false;
  struct WithoutExit {
    WithoutExit();
  } without_exit_;
  store::QuietErrors quiet_;
  store::Handle file_;
  std::optional<store::Handle> dataset_;   // that is written
  std::optional<std::size_t> variable_;
  std::vector<bool> kept_;
  mesh::Shape chunk_;
  std::optional<reduce::ZfpChunk> zfp_;
  double error_most_ = 0;
};

}   // namespace glean::convert
