// SPDX-License-Identifier: BSD-3-Clause
//
// Found as the dynamic linker finds it: first what all see, then what only the caller sees, and the version of a symbol that
// the caller was linked with. Nothing of it is kept when something was unloaded.
#include "original.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace glean::hdf5 {
namespace {

// A library that an object needs, and one of the versions that it needs of it.
struct Needed {
  std::string file, version;
};

struct Object {
  const void* of = nullptr;     // an address in it
  std::string name;             // empty: the program
  std::vector<Needed> needed;   // of HDF5
  bool found = false;
};

bool is_hdf5(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("libhdf5"); }

// Addresses in the dynamic section are relocated, but not on every machine.
const char* at(const dl_phdr_info& info, ElfW(Addr) address) {
  return reinterpret_cast<const char*>(address < info.dlpi_addr ? info.dlpi_addr + address : address);
}

std::vector<Needed> needed_of_hdf5(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  const char *strings = nullptr, *next = nullptr;
  std::size_t files = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = at(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERNEED) next = at(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERNEEDNUM) files = entry->d_un.d_val;
  }
  std::vector<Needed> all;
  if (strings == nullptr || next == nullptr) return all;
  for (std::size_t i = 0; i < files; ++i) {
    const auto* file = reinterpret_cast<const ElfW(Verneed)*>(next);
    const char* version = next + file->vn_aux;
    for (int k = 0; is_hdf5(strings + file->vn_file) && k < file->vn_cnt; ++k) {
      const auto* one = reinterpret_cast<const ElfW(Vernaux)*>(version);
      all.push_back({strings + file->vn_file, strings + one->vna_name});
      version += one->vna_next;
    }
    next += file->vn_next;
  }
  return all;
}

int look_for_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& object = *static_cast<Object*>(data);
  const auto address = reinterpret_cast<ElfW(Addr)>(object.of) - info->dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_memsz) object.found = true;
    if (part.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr);
  }
  if (!object.found) return 0;
  object.name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (dynamic != nullptr) object.needed = needed_of_hdf5(*info, dynamic);
  return 1;
}

int add_hdf5(dl_phdr_info* info, std::size_t, void* data) {
  if (info->dlpi_name != nullptr && is_hdf5(info->dlpi_name)) static_cast<std::vector<std::string>*>(data)->push_back(info->dlpi_name);
  return 0;
}

// A library that is loaded already, and stays so from now on.
void* loaded(const std::string& name) { return name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); }

Library library_in(void* scope) {
  Library library;
  bool complete = true;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(scope, name));
    return function != nullptr;
  };
#define GLEAN_HDF5_FIND(result, name, parameters) complete = find(#name, library.name) && complete;
  GLEAN_HDF5_FUNCTIONS(GLEAN_HDF5_FIND)
#undef GLEAN_HDF5_FIND
  find("H5Eget_auto1", library.H5Eget_auto1);
  find("H5Eset_auto1", library.H5Eset_auto1);
  unsigned major = 0, minor = 0, release = 0;
  if (!complete || library.H5get_libversion(&major, &minor, &release) < 0 || std::pair(major, minor) < std::pair(1u, 10u)) return {};
  return library;
}

// Kept as long as the process lives: there are as many as there are HDF5s.
const Library* library_of(void* scope) {
  static auto& lock = *new std::mutex;
  static auto& libraries = *new std::list<Library>;
  const Library found = library_in(scope);
  if (found.H5Fget_name == nullptr) return nullptr;
  const std::lock_guard hold(lock);
  for (const auto& one : libraries) {
    if (one.H5Fget_name == found.H5Fget_name) return &one;
  }
  return &libraries.emplace_back(found);
}

Original look_up(const char* name, const void* caller) {
  Object object{caller, {}, {}, false};
  dl_iterate_phdr(look_for_object, &object);
  for (const auto& [file, version] : object.needed) {
    void* const function = dlvsym(RTLD_NEXT, name, version.c_str());
    if (function != nullptr) return {function, library_of(loaded(file))};
  }
  for (const auto& [file, version] : object.needed) {
    void* const scope = loaded(file);
    void* const function = scope == nullptr ? nullptr : dlvsym(scope, name, version.c_str());
    if (function != nullptr) return {function, library_of(scope)};
  }
  if (void* const function = dlsym(RTLD_NEXT, name)) return {function, library_of(RTLD_NEXT)};
  // What only the caller sees; and what is there at all, for one that has left its return address to another.
  std::vector<std::string> places{object.name};
  dl_iterate_phdr(add_hdf5, &places);
  for (const auto& place : places) {
    void* const scope = loaded(place);
    void* const function = scope == nullptr ? nullptr : dlsym(scope, name);
    if (function != nullptr) return {function, library_of(scope)};
  }
  return {};
}

int take_unloaded(dl_phdr_info* info, std::size_t, void* data) {
  *static_cast<unsigned long long*>(data) = info->dlpi_subs;
  return 1;
}

}  // namespace

Original original(const char* name, const void* caller) {
  static auto& lock = *new std::mutex;
  static auto& known = *new std::map<std::pair<const void*, std::string_view>, Original>;
  static unsigned long long unloaded_then = 0;
  unsigned long long unloaded = 0;
  dl_iterate_phdr(take_unloaded, &unloaded);
  {
    const std::lock_guard hold(lock);
    if (unloaded != unloaded_then) known.clear();
    unloaded_then = unloaded;
    const auto found = known.find({caller, name});
    if (found != known.end()) return found->second;
  }
  // Without the lock: it calls HDF5, which may have called the program that calls here in another thread.
  const Original found = look_up(name, caller);
  const std::lock_guard hold(lock);
  if (unloaded == unloaded_then) known[{caller, name}] = found;
  return found;
}

}  // namespace glean::hdf5
