// SPDX-License-Identifier: BSD-3-Clause
#include "pool/other_handles.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace glean::pool {
namespace {

// PassedFile::handles of a place that is just taken, and of a file that is not being written and is untouched.
constexpr std::uint32_t being_taken = ~std::uint32_t{0};
constexpr std::uint32_t untouched = being_taken - 1;

bool has_handles(std::uint32_t handles) { return handles != 0 && handles < untouched; }

bool is_of(const PassedFile& place, const FileId& file) {
  return place.inode.load(std::memory_order_relaxed) == file.inode && place.device.load(std::memory_order_relaxed) == file.device;
}

// Changes the count of a place that holds the file, as `change` says, unless that is no such place any more.
template <class Holds, class Change>
bool change_place(PassedFile& place, const FileId& file, Holds holds, Change change) {
  std::uint32_t handles = place.handles.load(std::memory_order_acquire);
  while (holds(handles) && is_of(place, file)) {
    if (place.handles.compare_exchange_weak(handles, change(handles))) return true;
  }
  return false;
}

bool take_place(PoolHeader& pool, const FileId& file, std::uint32_t handles) {
  for (PassedFile& place : pool.passed_files) {
    std::uint32_t found = place.handles.load(std::memory_order_relaxed);
    const bool may_be_taken = found == 0 || (found == untouched && handles != untouched);
    if (!may_be_taken || !place.handles.compare_exchange_strong(found, being_taken)) continue;
    place.device.store(file.device, std::memory_order_relaxed);
    place.inode.store(file.inode, std::memory_order_relaxed);
    place.handles.store(handles, std::memory_order_release);
    return true;
  }
  return false;
}

template <class Holds>
bool any_place(const PoolHeader& pool, Holds holds) {
  return std::any_of(pool.passed_files.begin(), pool.passed_files.end(),
                     [&](const PassedFile& place) { return holds(place.handles.load(std::memory_order_acquire)); });
}

}  // namespace

void tell_of_others(OutputSlot& slot) {
  // First: a process that finds the file under its final name must know that it is this one.
  std::uint64_t none = 0;
  const std::uint64_t inode = slot.working_inode.load(std::memory_order_acquire);
  if (inode != 0) slot.publishing_inode.compare_exchange_strong(none, inode);
  slot.other_handles.fetch_or(others_have_it);
}

bool find_file(const std::string& path, FileId& file) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  file = {status.st_dev, status.st_ino};
  return true;
}

bool leads_to_file_of(const OutputSlot& slot, const std::string& path) {
  const std::uint64_t inode = slot.working_inode.load(std::memory_order_acquire);
  FileId file;
  return inode != 0 && find_file(path, file) && file == FileId{slot.working_device.load(std::memory_order_relaxed), inode};
}

bool enter_passed(PoolHeader& pool, const FileId& file) {
  for (PassedFile& place : pool.passed_files) {
    if (change_place(place, file, has_handles, [](std::uint32_t handles) { return handles + 1; })) return true;
  }
  for (PassedFile& place : pool.passed_files) {   // it is untouched no more
    change_place(place, file, [](std::uint32_t handles) { return handles == untouched; }, [](std::uint32_t) { return 0U; });
  }
  return take_place(pool, file, 1);
}

void leave_passed(PoolHeader& pool, const FileId& file) {
  for (PassedFile& place : pool.passed_files) {
    if (change_place(place, file, has_handles, [](std::uint32_t handles) { return handles - 1; })) return;
  }
}

bool is_passed(const PoolHeader& pool, const std::string& path) {
  FileId file;
  if (!any_place(pool, has_handles) || !find_file(path, file)) return false;
  return std::any_of(pool.passed_files.begin(), pool.passed_files.end(), [&](const PassedFile& place) {
    return has_handles(place.handles.load(std::memory_order_acquire)) && is_of(place, file);
  });
}

void remember_untouched(PoolHeader& pool, const FileId& file) { static_cast<void>(take_place(pool, file, untouched)); }

bool forget_untouched(PoolHeader& pool, const std::string& path) {
  const auto is_untouched = [](std::uint32_t handles) { return handles == untouched; };
  FileId file;
  if (!any_place(pool, is_untouched) || !find_file(path, file)) return false;
  bool any = false;
  for (PassedFile& place : pool.passed_files) {
    any = change_place(place, file, is_untouched, [](std::uint32_t) { return 0U; }) || any;
  }
  return any;
}

}  // namespace glean::pool
