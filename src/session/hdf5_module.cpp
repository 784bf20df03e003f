// SPDX-License-Identifier: BSD-3-Clause
#include "session/hdf5_module.hpp"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
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

// The module; it stays: HDF5 runs at the end of the process.
void* load() {
  std::string said;
  for (const fs::path& place : places()) {
    const fs::path file = place / store::hdf5_module_file;
    if (!fs::exists(file)) continue;
    if (void* module = dlopen(file.c_str(), how_to_load)) return module;
    const char* error = dlerror();
    said = error == nullptr ? "" : error;
    break;
  }
  throw base::Error(base::Errc::unsupported,
                    said.empty() ? std::string("HDF5 files cannot be written or read: there is no ") + store::hdf5_module_file
                                 : "HDF5 files cannot be written or read: " + said,
                    "the module is built with the library where HDF5 is there (docs/formats/hdf5.md)");
}

std::vector<std::byte>& taken(void* context) { return *static_cast<std::vector<std::byte>*>(context); }
void take(void* context, const std::byte* bytes, std::size_t size) { taken(context).assign(bytes, bytes + size); }

// What `call` gives, which gets the function of the module and where its answer goes.
template <class Function, class Call>
std::vector<std::byte> ask(const char* name, Call call) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  static void* const module = load();
  void* const function = dlsym(module, name);
  if (function == nullptr) {
    throw base::Error(base::Errc::unsupported, std::string("the module for HDF5 has no ") + name, "install both from one build");
  }
  std::vector<std::byte> answer;
  const int code = call(reinterpret_cast<Function*>(function), &answer);
  if (code < 0) return answer;
  const std::string what = reinterpret_cast<const char*>(answer.data());
  throw base::Error(static_cast<base::Errc>(code), what, reinterpret_cast<const char*>(answer.data()) + what.size() + 1);
}

// A file as the module gets it; no exception passes HDF5, which is in C.
class File {
 public:
  explicit File(const store::InputFile& file) : file_(file), given_{this, file.bytes(), read} {}
  [[nodiscard]] const glean_hdf5_file* given() const { return &given_; }
  // Why the file could not be read says more than what HDF5 makes of it.
  template <class Call>
  std::vector<std::byte> ask_for(Call call) {
    try {
      return call();
    } catch (const base::Error&) {
      if (failed_) throw base::Error(*failed_);
      throw;
    }
  }

 private:
  static int read(void* context, std::byte* into, std::size_t size, std::uint64_t offset) noexcept {
    auto& self = *static_cast<File*>(context);
    try {
      if (self.file_.read({into, size}, offset) == size) return 0;
      self.failed_ = base::Error(base::Errc::io, "it becomes shorter while it is read");
    } catch (const base::Error& error) {
      self.failed_ = error;
    } catch (const std::exception& error) {
      self.failed_ = base::Error(base::Errc::io, error.what());
    }
    return 1;
  }

  const store::InputFile& file_;
  std::optional<base::Error> failed_;
  glean_hdf5_file given_;
};

}  // namespace

store::FileImage hdf5_image_by_module(const mesh::Definitions& definitions, base::RangeRule range) {
  const std::vector<std::byte> defined = definitions.encode();
  return store::FileImage::decode(ask<glean_hdf5_image_function>(store::hdf5_image_function, [&](auto* make, void* answer) {
    return make(GLEAN_VERSION, defined.data(), defined.size(), static_cast<int>(range), answer, take);
  }));
}

store::FileContents hdf5_contents_by_module(const store::InputFile& file) {
  File given(file);
  return store::FileContents::decode(given.ask_for([&] {
    return ask<glean_hdf5_contents_function>(store::hdf5_contents_function, [&](auto* list, void* answer) {
      return list(GLEAN_VERSION, given.given(), answer, take);
    });
  }));
}

void hdf5_elements_by_module(const store::InputFile& file, const store::FileContents::Variable& variable, std::uint64_t record,
                             const mesh::Box& box, std::byte* values) {
  File given(file);
  store::FileContents contents;
  contents.variables.push_back(variable);
  const std::vector<std::byte> of_variable = contents.encode();
  std::vector<std::uint64_t> numbers{record};
  numbers.insert(numbers.end(), box.start.begin(), box.start.end());
  numbers.insert(numbers.end(), box.count.begin(), box.count.end());
  static_cast<void>(given.ask_for([&] {
    return ask<glean_hdf5_elements_function>(store::hdf5_elements_function, [&](auto* read, void* answer) {
      return read(GLEAN_VERSION, given.given(), of_variable.data(), of_variable.size(), numbers.data(), values, answer, take);
    });
  }));
}

}  // namespace glean::session
