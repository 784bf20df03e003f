/* SPDX-License-Identifier: BSD-3-Clause
 *
 * slow_creates SOURCE MICROSECONDS MOUNTPOINT [options of FUSE]: the files of SOURCE, an absolute path; each that is made takes so much
 * longer, as where one server makes those of many nodes. The kernel makes one at a time in a directory.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *source;
static useconds_t create_us;

enum { path_bytes = 8192 };
static const char *under(char *buffer, const char *path) {
  snprintf(buffer, path_bytes, "%s%s", source, path);
  return buffer;
}
#define UNDER(path) under((char[path_bytes]){0}, path)
static int result(long value) { return value < 0 ? -errno : (int)value; }

static int get_attributes(const char *path, struct stat *status, struct fuse_file_info *info) {
  return result(info != NULL ? fstat((int)info->fh, status) : lstat(UNDER(path), status));
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  DIR *directory = opendir(UNDER(path));
  if (directory == NULL) return -errno;
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) fill(buffer, entry->d_name, NULL, 0, 0);
  closedir(directory);
  return 0;
}

static int open_file(const char *path, struct fuse_file_info *info) {
  const int file = open(UNDER(path), info->flags & ~(O_DIRECT | O_CREAT | O_EXCL));   /* its buffers are not aligned here */
  if (file < 0) return -errno;
  info->fh = (uint64_t)file;
  return 0;
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *info) {
  usleep(create_us);
  const int file = open(UNDER(path), info->flags & ~O_DIRECT, mode);
  if (file < 0) return -errno;
  info->fh = (uint64_t)file;
  return 0;
}

static int make_directory(const char *path, mode_t mode) { return result(mkdir(UNDER(path), mode)); }
static int remove_file(const char *path) { return result(unlink(UNDER(path))); }
static int remove_directory(const char *path) { return result(rmdir(UNDER(path))); }
static int change_mode(const char *path, mode_t mode, struct fuse_file_info *info) { return (void)info, result(chmod(UNDER(path), mode)); }
static int may_access(const char *path, int mode) { return result(access(UNDER(path), mode)); }
static int get_statistics(const char *path, struct statvfs *status) { return result(statvfs(UNDER(path), status)); }

static int change_name(const char *from, const char *to, unsigned flags) {
  return result(renameat2(AT_FDCWD, UNDER(from), AT_FDCWD, UNDER(to), flags));
}

static int cut(const char *path, off_t size, struct fuse_file_info *info) {
  return result(info != NULL ? ftruncate((int)info->fh, size) : truncate(UNDER(path), size));
}

static int read_file(const char *path, char *to, size_t size, off_t offset, struct fuse_file_info *info) {
  return (void)path, result(pread((int)info->fh, to, size, offset));
}

static int write_file(const char *path, const char *from, size_t size, off_t offset, struct fuse_file_info *info) {
  return (void)path, result(pwrite((int)info->fh, from, size, offset));
}

static int synchronize(const char *path, int only_data, struct fuse_file_info *info) {
  return (void)path, (void)only_data, result(fsync((int)info->fh));
}

static int close_file(const char *path, struct fuse_file_info *info) { return (void)path, result(close((int)info->fh)); }

static const struct fuse_operations operations = {
    .getattr = get_attributes, .readdir = list, .open = open_file, .create = create_file, .mkdir = make_directory, .unlink = remove_file,
    .rmdir = remove_directory, .chmod = change_mode, .access = may_access, .statfs = get_statistics, .rename = change_name, .truncate = cut,
    .read = read_file, .write = write_file, .fsync = synchronize, .release = close_file,
};

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  source = argv[1];
  create_us = (useconds_t)atol(argv[2]);
  argv[2] = argv[0];
  return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
