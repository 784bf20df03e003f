// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/memory_driver.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "store/hdf5/library.hpp"

namespace glean::store {

std::optional<Bytes> MetadataFile::allocate_data(Bytes bytes) {
  if (!expected_ || expected_->size() != bytes) return std::nullopt;
  const base::Extent extent = *expected_;
  expected_.reset();
  end_ = std::max(end_, extent.end);
  return extent.begin;
}

Bytes MetadataFile::allocate_metadata(Bytes bytes) {
  const Bytes begin = base::align_up(metadata_.size(), 8);
  reserve(begin + bytes);
  return begin;
}

void MetadataFile::reserve(Bytes end) {
  if (end > metadata_.size()) metadata_.resize(end);
  end_ = std::max(end_, end);
}

void MetadataFile::write(Bytes offset, const std::byte* bytes, std::size_t size) {
  if (offset >= metadata_.size()) return;
  std::memcpy(metadata_.data() + offset, bytes, std::min(size, metadata_.size() - offset));
}

void MetadataFile::read(Bytes offset, std::byte* bytes, std::size_t size) const {
  const std::size_t there = offset < metadata_.size() ? std::min(size, metadata_.size() - offset) : 0;
  if (there != 0) std::memcpy(bytes, metadata_.data() + offset, there);
  std::memset(bytes + there, 0, size - there);
}

namespace {

// What the library knows of an open file: its own part has to come first.
struct OpenFile {
  H5FD_t head;
  MetadataFile* file;
};

// What a property list keeps.
struct Choice {
  MetadataFile* file;
};

MetadataFile& file_of(const H5FD_t* open) { return *reinterpret_cast<const OpenFile*>(open)->file; }

H5FD_t* open_file(const char* /*name*/, unsigned /*flags*/, hid_t file_access, haddr_t /*largest*/) {
  const auto* choice = static_cast<const Choice*>(H5Pget_driver_info(file_access));
  if (choice == nullptr) return nullptr;
  auto* open = new (std::nothrow) OpenFile{};
  if (open == nullptr) return nullptr;
  open->file = choice->file;
  return &open->head;
}

herr_t close_file(H5FD_t* open) {
  delete reinterpret_cast<OpenFile*>(open);
  return 0;
}

herr_t query(const H5FD_t* /*open*/, unsigned long* features) {
  if (features != nullptr) *features = 0;   // above all no aggregation: every allocation comes here
  return 0;
}

// No exception passes the library, which is in C.
haddr_t allocate(H5FD_t* open, H5FD_mem_t type, hid_t /*transfer*/, hsize_t size) {
  try {
    // Global heaps, which have the references of dimension scales, are asked for as if they were data.
    if (type != H5FD_MEM_DRAW || file_of(open).has_been_taken()) return file_of(open).allocate_metadata(size);
    return file_of(open).allocate_data(size).value_or(HADDR_UNDEF);
  } catch (const std::bad_alloc&) {
    return HADDR_UNDEF;
  }
}

// What becomes free is left.
herr_t free_space(H5FD_t* /*open*/, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t /*address*/, hsize_t /*size*/) { return 0; }

haddr_t end_of_allocated(const H5FD_t* open, H5FD_mem_t /*type*/) { return file_of(open).end(); }

herr_t set_end_of_allocated(H5FD_t* open, H5FD_mem_t /*type*/, haddr_t address) {
  try {
    if (address > file_of(open).end()) file_of(open).reserve(address);   // the superblock's
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

herr_t read(H5FD_t* open, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, size_t size, void* buffer) {
  file_of(open).read(address, static_cast<std::byte*>(buffer), size);
  return 0;
}

herr_t write(H5FD_t* open, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, size_t size, const void* buffer) {
  file_of(open).write(address, static_cast<const std::byte*>(buffer), size);
  return 0;
}

// Its members have another order, and are more, in other versions of the library: what is not named is not there.
H5FD_class_t driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 14, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(500);   // 256 to 511 are for whatever has no number of its own
#endif
  driver.name = "glean-metadata";
  driver.maxaddr = HADDR_MAX;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Choice);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.alloc = allocate;
  driver.free = free_space;
  driver.get_eoa = end_of_allocated;
  driver.set_eoa = set_end_of_allocated;
  driver.get_eof = end_of_allocated;
  driver.read = read;
  driver.write = write;
  // Space that metadata leave is for metadata only.
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_SUPER);
  driver.fl_map[H5FD_MEM_DEFAULT] = H5FD_MEM_DEFAULT;
  driver.fl_map[H5FD_MEM_DRAW] = H5FD_MEM_DRAW;
  return driver;
}

}  // namespace

MemoryDriver::MemoryDriver() {
  static const H5FD_class_t as_registered = driver();
  id_ = check(H5FDregister(&as_registered), "cannot make HDF5 metadata in memory");
}

MemoryDriver::~MemoryDriver() { H5FDunregister(id_); }

void MemoryDriver::use(hid_t file_access, MetadataFile& file) const {
  const Choice choice{&file};
  check(H5Pset_driver(file_access, id_, &choice), "cannot make HDF5 metadata in memory");
}

}  // namespace glean::store
