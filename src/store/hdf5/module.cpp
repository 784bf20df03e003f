// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/module.hpp"

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/hdf5/image.hpp"
#include "store/hdf5/input_contents.hpp"
#include "store/hdf5/input_elements.hpp"

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

// Gives the bytes that `make` returns, or what it throws.
template <class Make>
int answer(const char* version, void* context, glean_hdf5_take* take, Make make) noexcept {
  try {
    if (std::string_view(version) != GLEAN_VERSION) {
      throw glean::base::Error(Errc::unsupported,
                               std::string("the module for HDF5 is of GLEAN ") + GLEAN_VERSION + ", the library of " + version,
                               "install both from one build");
    }
    const std::vector<std::byte> bytes = make();
    take(context, bytes.data(), bytes.size());
    return -1;
  } catch (const glean::base::Error& error) {
    return say(error, context, take);
  } catch (const std::exception& error) {
    return say(glean::base::Error(Errc::io, error.what()), context, take);
  }
}

glean::store::Hdf5Source source_of(const glean_hdf5_file& file) {
  return {file.bytes, [file](std::span<std::byte> into, glean::base::Bytes offset) {
            return file.read(file.context, into.data(), into.size(), offset) == 0;
          }};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int glean_hdf5_image(const char* version, const std::byte* definitions, std::size_t size,
                                                                       int range, void* context, glean_hdf5_take* take) noexcept {
  return answer(version, context, take, [&] {
    return glean::store::make_hdf5_image(glean::mesh::Definitions::decode({definitions, size}), static_cast<glean::base::RangeRule>(range))
        .encode();
  });
}

extern "C" __attribute__((visibility("default"))) int glean_hdf5_contents(const char* version, const glean_hdf5_file* file, void* context,
                                                                          glean_hdf5_take* take) noexcept {
  return answer(version, context, take, [&] { return glean::store::read_hdf5_contents(source_of(*file)).encode(); });
}

extern "C" __attribute__((visibility("default"))) int glean_hdf5_elements(const char* version, const glean_hdf5_file* file,
                                                                          const std::byte* contents, std::size_t size,
                                                                          const std::uint64_t* box, std::byte* values, void* context,
                                                                          glean_hdf5_take* take) noexcept {
  return answer(version, context, take, [&] {
    const auto of_variable = glean::store::FileContents::decode({contents, size});
    const auto& variable = of_variable.variables.at(0);
    const std::size_t dimensions = variable.shape.size();
    const glean::mesh::Box inner{{box + 1, box + 1 + dimensions}, {box + 1 + dimensions, box + 1 + 2 * dimensions}};
    glean::store::read_hdf5_elements(source_of(*file), variable, box[0], inner, values);
    return std::vector<std::byte>{};
  });
}
