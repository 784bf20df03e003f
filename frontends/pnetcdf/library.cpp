// SPDX-License-Identifier: BSD-3-Clause
#include "library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"

namespace glean::pnetcdf {
namespace {

// A Python module, say, has loaded it: its symbols are not among those of the program.
void* loaded_library() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (name.substr(name.rfind('/') + 1).find("libpnetcdf") != 0) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

void* library_function(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  void* library = loaded_library();
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function != nullptr) return function;
  base::log(base::LogLevel::error, "the program calls {}, which no PnetCDF library that it has loaded has", name);
  std::abort();
}

bool is_told_to_use_gio() {
  const char* hints = std::getenv("PNETCDF_HINTS");
  std::string text = hints == nullptr ? "" : hints;
  std::erase(text, ' ');
  return is_at_least(1, 15) && (";" + text + ";").find(";nc_driver=gio;") != std::string::npos;
}

bool is_at_least(int major, int minor) {
  static const std::pair<int, int> version = [] {
    std::pair<int, int> read{0, 0};
    const char* text = GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_libvers)();
    if (text != nullptr) static_cast<void>(std::sscanf(text, "%d.%d", &read.first, &read.second));
    return read;
  }();
  return version >= std::pair(major, minor);
}

}  // namespace glean::pnetcdf
