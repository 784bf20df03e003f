// SPDX-License-Identifier: BSD-3-Clause
#include "convert/compressed_file.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "convert/picked_elements.hpp"
#include "store/hdf5/placed_image.hpp"
#include "store/hdf5/scales.hpp"
#include "store/hdf5/types.hpp"

namespace glean::convert {
namespace {

using store::check;
using store::Handle;

constexpr char writing[] = "cannot write a compressed HDF5 file";

Handle create_file(const std::string& path) {
  store::require_hdf5_of_headers();
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, writing), access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, writing);
  check(H5Pset_obj_track_times(creation.id(), false), writing);
  check(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), writing);
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose, writing};
}

std::vector<hsize_t> sizes(const mesh::Shape& shape) { return {shape.begin(), shape.end()}; }

Handle space_of(const mesh::Shape& shape) {
  const std::vector<hsize_t> lengths = sizes(shape);
  return {shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose,
          writing};
}

}   // namespace

// What it could not write, as on a full disk, HDF5 1.10 would try again at the end of the process, and crash. Before any other call of it.
CompressedFile::WithoutExit::WithoutExit() { H5dont_atexit(); }

CompressedFile::CompressedFile(const std::string& path, const mesh::Definitions& definitions, int deflate)
    : definitions_(definitions), deflate_(deflate), file_(create_file(path)) {}

mesh::Shape CompressedFile::of_kept(const mesh::Shape& all) const {
  mesh::Shape kept;
  for (std::size_t d = 0; d < all.size(); ++d) {
    if (kept_[d]) kept.push_back(all[d]);
  }
  return kept;
}

void CompressedFile::begin(std::size_t variable, const mesh::Shape& shape, const std::vector<bool>& kept, bool one_record,
                           double tolerance) {
  kept_ = kept;
  create(variable, of_kept(shape), of_kept(window_shape(shape, window_elements(), one_record)), true, tolerance);
}

void CompressedFile::create(std::size_t variable, const mesh::Shape& shape, const mesh::Shape& chunk, bool has_whole_chunks,
                            double tolerance) {
  const mesh::VariableDefinition& definition = definitions_.variables[variable];
  const std::string what = "cannot define variable '" + definition.name + "'";
  dataset_.reset();
  variable_ = variable;
  chunk_ = chunk;
  zfp_.reset();
  error_most_ = 0;
  if (tolerance > 0 && reduce::ZfpChunk::why_not(definition.external, chunk).empty()) zfp_.emplace(definition.external, chunk, tolerance);
  const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what), links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, what);
  check(H5Pset_create_intermediate_group(links.id(), 1), what);
  check(H5Pset_obj_track_times(list.id(), false), what);
  const bool has_elements = std::find(chunk.begin(), chunk.end(), 0U) == chunk.end();
  if (!chunk.empty() && has_elements && (zfp_ || deflate_ > 0)) {
    check(H5Pset_chunk(list.id(), static_cast<int>(chunk.size()), sizes(chunk).data()), what);
    if (zfp_) {
      has_zfp_ = true;
      // Optional: HDF5 has not to know the filter, as chunks are written as they are.
      check(H5Pset_filter(list.id(), static_cast<H5Z_filter_t>(reduce::ZfpChunk::filter), H5Z_FLAG_OPTIONAL, zfp_->filter_values().size(),
                          zfp_->filter_values().data()),
            what);
    } else {
      check(H5Pset_shuffle(list.id()), what);
      check(H5Pset_deflate(list.id(), static_cast<unsigned>(deflate_)), what);
    }
  }
  // Nothing is kept, and what cannot be written is told at once.
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, what);
  if (has_whole_chunks) check(H5Pset_chunk_cache(access.id(), 0, 0, H5D_CHUNK_CACHE_W0_DEFAULT), what);
  const Handle type = store::hdf5_element_type(definition.external, what), space = space_of(shape);
  dataset_.emplace(H5Dcreate2(file_.id(), definition.name.c_str(), type.id(), space.id(), links.id(), list.id(), access.id()), H5Dclose,
                   what);
}

void CompressedFile::write_box(const mesh::Box& box, hid_t memory_type, const void* values) {
  if (box.count.empty())
    return static_cast<void>(check(H5Dwrite(dataset_->id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), writing));
  const Handle space(H5Dget_space(dataset_->id()), H5Sclose, writing), memory = space_of(box.count);
  check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, sizes(box.start).data(), nullptr, sizes(box.count).data(), nullptr), writing);
  check(H5Dwrite(dataset_->id(), memory_type, memory.id(), space.id(), H5P_DEFAULT, values), writing);
}

double CompressedFile::write(const mesh::Box& window, std::span<const double> values) {
  const mesh::Box box{of_kept(window.start), of_kept(window.count)};
  if (!zfp_) {
    write_box(box, H5T_NATIVE_DOUBLE, values.data());
    return error_most_;
  }
  // The last chunk along a dimension goes beyond its end: what is there is like what is before.
  std::vector<double> whole(values.begin(), values.end());
  const std::uint64_t row = values.size() /
                            std::max<std::uint64_t>(1, *std::find_if(box.count.begin(), box.count.end() - 1, [](auto n) { return n > 1; }));
  whole.reserve(mesh::elements_of(chunk_));
  while (whole.size() < mesh::elements_of(chunk_)) whole.push_back(whole[whole.size() - std::min<std::uint64_t>(row, whole.size())]);
  const std::vector<hsize_t> place = sizes(box.start);
  if (const auto bytes = zfp_->compress(whole, error_most_)) {
    check(H5Dwrite_chunk(dataset_->id(), H5P_DEFAULT, 0, place.data(), bytes->size(), bytes->data()), writing);
    return error_most_;
  }
  constexpr std::uint32_t without_filter = 1;
  if (definitions_.variables[*variable_].external == mesh::Type::float32) {
    const std::vector<float> singles(whole.begin(), whole.end());
    check(H5Dwrite_chunk(dataset_->id(), H5P_DEFAULT, without_filter, place.data(), singles.size() * sizeof(float), singles.data()),
          writing);
  } else {
    check(H5Dwrite_chunk(dataset_->id(), H5P_DEFAULT, without_filter, place.data(), whole.size() * sizeof(double), whole.data()), writing);
  }
  return error_most_;
}

void CompressedFile::write_as_in_source(const mesh::Box& window, std::span<const std::byte> big) {
  const mesh::Type external = definitions_.variables[*variable_].external;
  const Handle element = store::hdf5_element_type(external, writing), type(H5Tcopy(element.id()), H5Tclose, writing);
  if (external != mesh::Type::text) check(H5Tset_order(type.id(), H5T_ORDER_BE), writing);
  write_box({of_kept(window.start), of_kept(window.count)}, type.id(), big.data());
}

void CompressedFile::write_list(std::size_t variable, std::uint64_t begin, std::span<const double> values) {
  const mesh::Shape shape = definitions_.shape(static_cast<int>(variable));
  if (begin == 0) {
    create(variable, shape, {std::min(shape[0], window_elements())}, false, 0);
  } else {
    variable_ = variable;
    dataset_.emplace(H5Dopen2(file_.id(), definitions_.variables[variable].name.c_str(), H5P_DEFAULT), H5Dclose, writing);
  }
  write_box({{begin}, {values.size()}}, H5T_NATIVE_DOUBLE, values.data());
}

void CompressedFile::finish(const mesh::Definitions& definitions) {
  dataset_.reset();
  for (const mesh::Attribute& attribute : definitions.attributes) {
    const std::string owner = attribute.variable < 0 ? "/" : definitions.variables[static_cast<std::size_t>(attribute.variable)].name;
    const std::string what = "cannot define attribute '" + attribute.name + "' of '" + owner + "'";
    const Handle object(H5Oopen(file_.id(), owner.c_str(), H5P_DEFAULT), H5Oclose, what);
    store::write_hdf5_attribute(object.id(), attribute.name, attribute, what);
  }
  store::attach_scales(file_.id(), definitions);
  file_.close(writing);
}

}   // namespace glean::convert
