// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/module.hpp"

#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/hdf5/image.hpp"

namespace {

using glean::base::Errc;

int say(const glean::base::Error& error, void* context, glean_hdf5_take* take) {
  std::string text = error.what();
  text += '\0';
  text += error.hint();
  text += '\0';
  take(context, reinterpret_cast<const std::byte*>(text.data()), text.size());
  return static_cast<int>(error.code());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int glean_hdf5_image(const char* version, const std::byte* definitions, std::size_t size,
                                                                       int range, void* context, glean_hdf5_take* take) noexcept {
  try {
    if (std::string_view(version) != GLEAN_VERSION) {
      throw glean::base::Error(Errc::unsupported,
                               std::string("the module for HDF5 is of GLEAN ") + GLEAN_VERSION + ", the library of " + version,
                               "install both from one build");
    }
    const auto image = glean::store::make_hdf5_image(glean::mesh::Definitions::decode({definitions, size}),
                                                     static_cast<glean::base::RangeRule>(range));
    const auto bytes = image.encode();
    take(context, bytes.data(), bytes.size());
    return -1;
  } catch (const glean::base::Error& error) {
    return say(error, context, take);
  } catch (const std::exception& error) {
    return say(glean::base::Error(Errc::io, error.what()), context, take);
  }
}
