// SPDX-License-Identifier: BSD-3-Clause
//
// forgetful_disk DIRECTORY BYTES: mounts at DIRECTORY a file system with one file, `image`, which is a Disk. The
// directory above it is a mount point, and private to the mount namespace.
//
// Commands on standard input, each answered with one line of JSON (DiskStatus):
//   status | cut SEED | cut-at REQUESTS SEED | on
// When standard input ends the power goes, so that nothing waits for this disk any more. Ends when it is unmounted.
#define FUSE_USE_VERSION 31
#include <fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "disk.hpp"

namespace {

using glean::powercut::Disk;

constexpr const char* image_path = "/image";

Disk* disk = nullptr;
// A file opened before the power went stays dead: nothing that was under way reaches the disk of the next boot.
std::atomic<std::uint64_t> boot{0};

bool is_image(const char* path) { return std::strcmp(path, image_path) == 0; }

int get_attributes(const char* path, struct stat* status, fuse_file_info*) {
  *status = {};
  if (std::strcmp(path, "/") == 0) {
    status->st_mode = S_IFDIR | 0700;
    status->st_nlink = 2;
    return 0;
  }
  if (!is_image(path)) return -ENOENT;
  status->st_mode = S_IFREG | 0600;
  status->st_nlink = 1;
  status->st_size = static_cast<off_t>(disk->size());
  return 0;
}

int list(const char*, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  for (const char* name : {".", "..", image_path + 1}) fill(buffer, name, nullptr, 0, fuse_fill_dir_flags{});
  return 0;
}

int open_image(const char* path, fuse_file_info* info) {
  if (!is_image(path)) return -ENOENT;
  info->fh = boot;
  info->direct_io = 1;   // no copy in the page cache that would survive a cut
  return 0;
}

bool stale(const fuse_file_info* info) { return info->fh != boot; }

int read_image(const char*, char* data, std::size_t size, off_t offset, fuse_file_info* info) {
  const auto at = static_cast<std::size_t>(offset);
  if (at >= disk->size()) return 0;
  const std::size_t room = std::min(size, disk->size() - at);
  if (stale(info) || !disk->read(at, {reinterpret_cast<std::byte*>(data), room})) return -EIO;
  return static_cast<int>(room);
}

int write_image(const char*, const char* data, std::size_t size, off_t offset, fuse_file_info* info) {
  if (stale(info)) return -EIO;
  const bool done = disk->write(static_cast<std::size_t>(offset), {reinterpret_cast<const std::byte*>(data), size});
  return done ? static_cast<int>(size) : -EIO;
}

int sync_image(const char*, int, fuse_file_info* info) { return !stale(info) && disk->flush() ? 0 : -EIO; }

void answer(const std::string& line) {
  std::istringstream words(line);
  std::string command;
  std::uint64_t first = 0, second = 0;
  words >> command >> first >> second;
  if (command == "cut") disk->cut(first);
  else if (command == "cut-at") disk->cut_at(first, second);
  else if (command == "on") {
    ++boot;
    disk->power_on();
  } else if (command != "status") {
    std::cout << "{\"error\": \"unknown command\"}" << std::endl;
    return;
  }
  const auto status = disk->status();
  std::cout << "{\"power\": " << (status.power ? "true" : "false") << ", \"writes\": " << status.writes
            << ", \"flushes\": " << status.flushes << ", \"unflushed\": " << status.unflushed_sectors
            << ", \"lost\": " << status.lost_sectors << "}" << std::endl;
}

// The last process in a mount namespace unmounts what is mounted there. This process must never be that: it would
// wait for itself to serve the last writes. So it sees nothing of what is mounted beside and above its disk.
void leave_mounts(const std::string& directory) {
  if (chdir("/") != 0 || unshare(CLONE_NEWNS) != 0) {
    std::perror("forgetful_disk: cannot leave the mount namespace");
    _exit(1);
  }
  const std::string room = directory.substr(0, directory.rfind('/'));
  while (umount2(room.c_str(), MNT_DETACH) == 0) {}
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: forgetful_disk DIRECTORY BYTES\n");
    return 2;
  }
  Disk the_disk(std::strtoull(argv[2], nullptr, 10));
  disk = &the_disk;

  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.readdir = list;
  operations.open = open_image;
  operations.read = read_image;
  operations.write = write_image;
  operations.fsync = sync_image;

  char* none[] = {argv[0], nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, none);
  fuse* served = fuse_new(&arguments, &operations, sizeof operations, nullptr);
  if (served == nullptr || fuse_mount(served, argv[1]) != 0) return 1;
  leave_mounts(argv[1]);
  // Or the kernel, short of memory, could write pages to this disk and wait while this process asks for memory.
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);

  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) answer(line);
    disk->cut(0);
  }).detach();
  return fuse_loop(served) == 0 ? 0 : 1;
}
