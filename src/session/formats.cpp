// SPDX-License-Identifier: BSD-3-Clause
#include "session/formats.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "session/hdf5_module.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/format/hdf5/superblock.hpp"
#include "store/pnetcdf/image.hpp"

namespace glean::session {
namespace {

constexpr const char* names[] = {"cdf1", "cdf2", "cdf5", "npy", "hdf5", "hdf5", "vtk"};   // as glean::Format
static_assert(std::size(names) == static_cast<std::size_t>(Format::vtk) + 1);

constexpr store::CdfVersion cdf_versions[] = {store::CdfVersion::cdf1, store::CdfVersion::cdf2, store::CdfVersion::cdf5};

store::Formats all_formats() {
  store::Formats formats = store::Formats::without_libraries();
  for (const auto version : cdf_versions) formats.add(store::make_cdf_format(version, store::make_netcdf_image));
  formats.add(store::make_hdf5_format(hdf5_image_by_module));
  return formats;
}

bool is_cdf(const store::InputFile& file) {
  std::array<char, 4> start{};
  if (file.read(std::as_writable_bytes(std::span(start)), 0) != start.size()) return false;
  return std::string_view(start.data(), 3) == "CDF" && (start[3] == 1 || start[3] == 2 || start[3] == 5);
}

store::FileContents inspect(const store::InputFile& file, const std::string& path) {
  if (is_cdf(file)) return store::inspect_cdf(file, path);
  if (store::find_hdf5_superblock(file)) return hdf5_contents_by_module(file);
  throw base::Error(base::Errc::invalid_argument, "it is no NetCDF file (CDF-1, CDF-2, CDF-5), and no HDF5 file");
}

}  // namespace

const store::Formats& formats() {
  static const store::Formats all = all_formats();
  return all;
}

const store::Format& format_of(Format format) {
  if (format < Format::cdf1 || static_cast<std::size_t>(format) >= std::size(names)) {
    throw base::Error(base::Errc::invalid_argument, "there is no glean::Format " + std::to_string(static_cast<int>(format)));
  }
  return formats().find(names[static_cast<std::size_t>(format)]);
}

std::unique_ptr<Convention> convention_of(Format format) {
  switch (format) {
    case Format::vtkhdf: return make_vtkhdf_convention();
    case Format::vtk: return make_vtk_convention();
    case Format::hdf5: return make_plain_convention({.has_64_bit_integers = true, .has_empty_dimensions = true});
    default: return make_plain_convention({.has_64_bit_integers = format == Format::cdf5, .has_empty_dimensions = false});
  }
}

void require_one_file(std::string_view path, Format format, int files) {
  if (files <= 1 || (format != Format::vtkhdf && format != Format::vtk)) return;
  throw base::Error(base::Errc::unsupported,
                    "'" + std::string(path) + "' cannot become " + std::to_string(files) +
                        " files: files for VTK have the grid of all ranks",
                    "set plan.files = 1, or choose another format");
}

std::unique_ptr<Reader> open_reader(const std::string& path) {
  static store::SystemCalls calls;
  auto reader = std::make_unique<Reader>(calls, path, inspect);
  reader->let_library_read(hdf5_elements_by_module);
  return reader;
}

std::unique_ptr<Reader> open_reader(std::unique_ptr<store::FileSource> source, const std::string& path) {
  constexpr base::Bytes window_bytes = 8 * base::MiB;   // each is a message there and back
  auto reader = std::make_unique<Reader>(std::move(source), path, inspect, window_bytes);
  reader->let_library_read(hdf5_elements_by_module);
  return reader;
}

std::unique_ptr<DirectFile> create_directly(MPI_Comm comm, const std::string& path, const store::Format& format,
                                            const mesh::Definitions& definitions, const store::Tuning& tuning) {
  for (const auto version : cdf_versions) {
    if (format.name() == store::name_of(version)) return std::make_unique<DirectFile>(comm, path, version, definitions, tuning);
  }
  throw base::Error(base::Errc::unsupported,
                    "files of format '" + std::string(format.name()) + "' are not written by several ranks at once",
                    "mode = \"threaded\" writes them");
}

}  // namespace glean::session
