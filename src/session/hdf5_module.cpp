// SPDX-License-Identifier: BSD-3-Clause
#include "session/hdf5_module.hpp"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/hdf5/module.hpp"

namespace glean::session {
namespace {

namespace fs = std::filesystem;

// The program's own HDF5, where it has one, must neither be seen by the module's nor see it. Sanitizers refuse what the first needs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int how_to_load = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int how_to_load = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

// Beside the library that this code is in, or the program, or where it was to be installed.
std::vector<fs::path> places() {
  std::vector<fs::path> found;
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&hdf5_image_by_module), &self) != 0 && self.dli_fname != nullptr) {
    const fs::path directory = fs::absolute(self.dli_fname).parent_path();
    found = {directory, directory.parent_path() / "lib"};
  }
  found.emplace_back(GLEAN_INSTALLED_LIBRARIES);
  return found;
}

glean_hdf5_image_function* load() {
  std::string said;
  for (const fs::path& place : places()) {
    const fs::path file = place / store::hdf5_module_file;
    if (!fs::exists(file)) continue;
    if (void* module = dlopen(file.c_str(), how_to_load)) {   // it stays: HDF5 runs at the end of the process
      if (void* function = dlsym(module, store::hdf5_module_function)) {
        return reinterpret_cast<glean_hdf5_image_function*>(function);
      }
    }
    const char* error = dlerror();
    said = error == nullptr ? "" : error;
    break;
  }
  throw base::Error(base::Errc::unsupported,
                    said.empty() ? std::string("HDF5 files cannot be written: there is no ") + store::hdf5_module_file
                                 : "HDF5 files cannot be written: " + said,
                    "the module is built with the library where HDF5 is there (docs/formats/hdf5.md)");
}

}  // namespace

store::FileImage hdf5_image_by_module(const mesh::Definitions& definitions, base::RangeRule range) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  static glean_hdf5_image_function* const make = load();
  const std::vector<std::byte> defined = definitions.encode();
  std::vector<std::byte> answer;
  const auto take = [](void* context, const std::byte* bytes, std::size_t size) {
    static_cast<std::vector<std::byte>*>(context)->assign(bytes, bytes + size);
  };
  const int code = make(GLEAN_VERSION, defined.data(), defined.size(), static_cast<int>(range), &answer, take);
  if (code < 0) return store::FileImage::decode(answer);
  const std::string what = reinterpret_cast<const char*>(answer.data());
  throw base::Error(static_cast<base::Errc>(code), what, reinterpret_cast<const char*>(answer.data()) + what.size() + 1);
}

}  // namespace glean::session
