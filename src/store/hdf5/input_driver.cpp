// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/input_driver.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "store/hdf5/placed_image.hpp"

namespace glean::store {
namespace {

constexpr Bytes window_bytes = 64 * base::KiB;
constexpr char file_name[] = "glean-input";   // the file itself: datasets may name others, which are not opened

// What the library knows of an open file: its own part has to come first.
struct OpenInput {
  H5FD_t head;
  Hdf5Input* input;
};

Hdf5Input& input_of(const H5FD_t* open) { return *reinterpret_cast<const OpenInput*>(open)->input; }

H5FD_t* open_input(const char* name, unsigned flags, hid_t file_access, haddr_t /*largest*/) {
  const auto* choice = static_cast<Hdf5Input* const*>(H5Pget_driver_info(file_access));
  if (choice == nullptr || (flags & H5F_ACC_RDWR) != 0 || std::string_view(name) != file_name) return nullptr;
  auto* open = new (std::nothrow) OpenInput{};
  if (open == nullptr) return nullptr;
  open->input = *choice;
  return &open->head;
}

herr_t close_input(H5FD_t* open) {
  delete reinterpret_cast<OpenInput*>(open);
  return 0;
}

herr_t features_of_input(const H5FD_t* /*open*/, unsigned long* features) {
  if (features != nullptr) *features = 0;
  return 0;
}

haddr_t end_as_stated(const H5FD_t* open, H5FD_mem_t /*type*/) { return input_of(open).end(); }
haddr_t end_of_input(const H5FD_t* open, H5FD_mem_t /*type*/) { return input_of(open).source().bytes; }

herr_t set_end_as_stated(H5FD_t* open, H5FD_mem_t /*type*/, haddr_t address) {
  input_of(open).set_end(address);
  return 0;
}

// No exception passes the library, which is in C.
herr_t read_input(H5FD_t* open, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, size_t size, void* buffer) {
  try {
    return input_of(open).read({static_cast<std::byte*>(buffer), size}, address) ? 0 : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

herr_t refuse_write(H5FD_t* /*open*/, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t /*address*/, size_t /*size*/,
                    const void* /*buffer*/) {
  return -1;
}

// As that of MemoryDriver.
H5FD_class_t input_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 14, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(501);
#endif
  driver.name = "glean-input";
  driver.maxaddr = HADDR_MAX;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Hdf5Input*);
  driver.open = open_input;
  driver.close = close_input;
  driver.query = features_of_input;
  driver.get_eoa = end_as_stated;
  driver.set_eoa = set_end_as_stated;
  driver.get_eof = end_of_input;
  driver.read = read_input;
  driver.write = refuse_write;
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
  return driver;
}

}  // namespace

Hdf5Input::Hdf5Input(Hdf5Source source) : source_(std::move(source)) {
  require_hdf5_of_headers();
  const std::string what = "it is damaged, or no HDF5 file";
  static const H5FD_class_t as_registered = input_driver();
  driver_ = check(H5FDregister(&as_registered), what);
  try {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, what);
    Hdf5Input* self = this;
    check(H5Pset_driver(access.id(), driver_, &self), what);
    check(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), what);
    file_.emplace(H5Fopen(file_name, H5F_ACC_RDONLY, access.id()), H5Fclose, what);
  } catch (...) {
    H5FDunregister(driver_);
    throw;
  }
}

Hdf5Input::~Hdf5Input() {
  file_.reset();
  H5FDunregister(driver_);
}

bool Hdf5Input::read(std::span<std::byte> into, Bytes offset) {
  const Bytes end = offset + into.size();
  if (end < offset || end > source_.bytes) return false;
  if (into.size() >= window_bytes) return source_.read(into, offset);
  if (offset < window_begin_ || end > window_begin_ + window_.size()) {
    window_.resize(std::min(window_bytes, source_.bytes - offset));
    window_begin_ = offset;
    if (!source_.read(window_, offset)) {
      window_.clear();
      return false;
    }
  }
  std::memcpy(into.data(), window_.data() + (offset - window_begin_), into.size());
  return true;
}

}  // namespace glean::store
