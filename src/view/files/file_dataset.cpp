// SPDX-License-Identifier: BSD-3-Clause
#include "view/files/file_dataset.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "store/format/hdf5/superblock.hpp"
#ifdef GLEAN_WITH_HDF5_FILES
#include "store/hdf5/input_contents.hpp"
#include "store/hdf5/input_elements.hpp"
#endif

namespace glean::view {
namespace {

constexpr std::uint64_t elements_at_once = 1 << 18;

bool is_cdf(const store::InputFile& file) {
  std::array<char, 4> start{};
  if (file.read(std::as_writable_bytes(std::span(start)), 0) != start.size()) return false;
  return std::string_view(start.data(), 3) == "CDF" && (start[3] == 1 || start[3] == 2 || start[3] == 5);
}

#ifdef GLEAN_WITH_HDF5_FILES
store::Hdf5Source source_of(const store::InputFile& file) {
  return {file.bytes(), [&file](std::span<std::byte> into, base::Bytes offset) { return file.read(into, offset) == into.size(); }};
}
#endif

store::FileContents inspect(const store::InputFile& file, const std::string& path) {
  if (is_cdf(file)) return store::inspect_cdf(file, path);
  if (store::find_hdf5_superblock(file)) {
#ifdef GLEAN_WITH_HDF5_FILES
    return store::read_hdf5_contents(source_of(file));
#else
    throw base::Error(base::Errc::unsupported, "this GLEAN was built without HDF5");
#endif
  }
  throw base::Error(base::Errc::invalid_argument, "it is no NetCDF file (CDF-1, CDF-2, CDF-5), and no HDF5 file");
}

// The dimensions of a record: without the one that counts them.
std::vector<std::string> record_dimensions(const store::FileContents::Variable& variable) {
  const std::size_t more = variable.dimensions.size() - std::min(variable.dimensions.size(), variable.shape.size());
  return {variable.dimensions.begin() + static_cast<std::ptrdiff_t>(more), variable.dimensions.end()};
}

}  // namespace

FileDataset::FileDataset(store::SystemCalls& calls, const std::string& path) : reader_(calls, path, inspect) {
#ifdef GLEAN_WITH_HDF5_FILES
  reader_.let_library_read([](const store::InputFile& file, const store::FileReader::Variable& variable, std::uint64_t record,
                              const mesh::Box& box, std::byte* values) {
    store::read_hdf5_elements(source_of(file), variable, record, box, values);
  });
#endif
  for (const auto& each : reader_.variables()) {
    variables_.push_back({each.name, each.external, each.per_step, each.shape, each.records, record_dimensions(each)});
  }
}

std::uint64_t FileDataset::steps() const {
  const bool counts = std::any_of(variables_.begin(), variables_.end(), [](const DatasetVariable& each) { return each.per_step; });
  return counts ? reader_.records() : 1;
}

// In its own type, so that no value is out of range, and a part at a time.
void FileDataset::read(int id, std::uint64_t record, const mesh::Box& box, double* values) const {
  const DatasetVariable& known = variable(id);
  if (box.empty()) return;
  std::uint64_t elements = box.elements();
  if (elements > elements_at_once && !box.count.empty()) {
    const auto slowest = std::find_if(box.count.begin(), box.count.end(), [](std::uint64_t count) { return count > 1; });
    const auto widest = static_cast<std::size_t>(slowest - box.count.begin());
    const std::uint64_t each = elements / box.count[widest], at_once = std::max<std::uint64_t>(1, elements_at_once / each);
    for (std::uint64_t first = 0; first < box.count[widest] && at_once < box.count[widest]; first += at_once) {
      mesh::Box part = box;
      part.start[widest] += first;
      part.count[widest] = std::min(at_once, box.count[widest] - first);
      read(id, record, part, values + first * each);
    }
    if (at_once < box.count[widest]) return;
  }
  std::vector<std::byte> own(elements * mesh::size_of(known.type));
  reader_.read(id, record, box, known.type, own.data());
  to_doubles(known.type, own.data(), elements, values);
  for (const double fill : fill_values(*this, id)) std::replace(values, values + elements, fill, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace glean::view
