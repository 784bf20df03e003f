// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/formats.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "store/format/cdf/cdf.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/format/npy/npy.hpp"
#include "store/format/vtk/vtk.hpp"

namespace glean::store {

void Formats::add(std::unique_ptr<const Format> format) {
  std::string name(format->name());
  formats_.insert_or_assign(std::move(name), std::move(format));
}

const Format& Formats::find(std::string_view name) const {
  const auto found = formats_.find(name);
  if (found != formats_.end()) return *found->second;
  std::string known;
  for (const auto& [each, format] : formats_) known += (known.empty() ? "" : ", ") + each;
  throw base::Error(base::Errc::unsupported, fmt::format("there is no file format '{}' here, only {}", name, known));
}

Formats Formats::without_libraries() {
  Formats formats;
  for (const CdfVersion version : {CdfVersion::cdf1, CdfVersion::cdf2, CdfVersion::cdf5}) formats.add(make_cdf_format(version));
  formats.add(make_hdf5_format());
  formats.add(make_npy_format());
  formats.add(make_vtk_format());
  return formats;
}

const Formats& Formats::to_finish() {
  static const auto* formats = new Formats(without_libraries());   // threads of a drain may outlive what is static
  return *formats;
}

}  // namespace glean::store
