// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/storage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/seconds_now.hpp"

namespace glean::calibrate {
namespace {

constexpr std::size_t page = 4096;

void remove_file(const std::string& path) { unlink(path.c_str()); }

// Whole pages of bytes that no file system can leave out.
class Pages {
 public:
  explicit Pages(Bytes bytes) : memory_(static_cast<unsigned char*>(std::aligned_alloc(page, (bytes + page - 1) / page * page))) {
    if (memory_ == nullptr) {
      throw base::Error(base::Errc::no_space, fmt::format("no memory for a request of {}", base::readable_bytes(bytes)));
    }
    std::uint32_t word = 1;
    for (Bytes i = 0; i < bytes; ++i) memory_.get()[i] = static_cast<unsigned char>((word = word * 1664525 + 1013904223) >> 24);
  }
  [[nodiscard]] const unsigned char* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
};

class OpenFile {
 public:
  enum class Kind { make, existing };
  OpenFile(const std::string& path, Kind kind, bool past_page_cache) : path_(path) {
    const int flags = O_WRONLY | O_CLOEXEC | (kind == Kind::make ? O_CREAT | O_TRUNC : 0);
    if (past_page_cache) descriptor_ = open(path.c_str(), flags | O_DIRECT, 0600);
    if (descriptor_ < 0) descriptor_ = open(path.c_str(), flags, 0600);   // a file system may refuse it, and the doctor says so
    if (descriptor_ < 0) throw base::system_error(errno, "cannot make '" + path + "'");
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(const unsigned char* data, Bytes bytes, Bytes offset) {
    while (bytes > 0) {
      const ssize_t written = pwrite(descriptor_, data, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      // Some accept O_DIRECT and refuse the write.
      if (written < 0 && errno == EINVAL && drops_direct()) continue;
      if (written <= 0) throw base::system_error(written == 0 ? EIO : errno, "cannot write into '" + path_ + "'");
      data += written;
      offset += static_cast<Bytes>(written);
      bytes -= static_cast<Bytes>(written);
    }
  }
  void sync() {
    if (fdatasync(descriptor_) != 0) throw base::system_error(errno, "cannot sync '" + path_ + "'");
  }

 private:
  bool drops_direct() {
    const int flags = fcntl(descriptor_, F_GETFL);
    return (flags & O_DIRECT) != 0 && fcntl(descriptor_, F_SETFL, flags & ~O_DIRECT) == 0;
  }
  std::string path_;
  int descriptor_ = -1;
};

Bytes write_until_done(const std::string& path, const Pages& data, const Writing& writing) {
  Bytes done = 0;
  OpenFile file(path, OpenFile::Kind::make, writing.how == Writing::How::past_page_cache);
  const double end = seconds_now() + writing.seconds;
  do {
    file.write(data.data(), writing.request_bytes, done);
    done += writing.request_bytes;
  } while (seconds_now() < end && done + writing.request_bytes <= writing.bytes_max);
  file.sync();
  return done;
}

// By all threads of this process.
Bytes write_with_threads(Scratch& scratch, int self, const Pages& data, const Writing& writing) {
  std::atomic<Bytes> bytes{0};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(writing.threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < writing.threads; ++i) {
    threads.emplace_back([&, i] {
      try {
        bytes += write_until_done(scratch.file(fmt::format("written.{}.{}", self, i)), data, writing);
      } catch (...) {
        failures[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (int i = 0; i < writing.threads; ++i) remove_file(scratch.file(fmt::format("written.{}.{}", self, i)));
  for (const std::exception_ptr& each : failures) {
    if (each) std::rethrow_exception(each);
  }
  return bytes;
}

// Files of this process that are made and closed, and gone again outside of the time that is measured. Seconds of `count`.
double create_some(Scratch& scratch, int self, int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) paths.push_back(scratch.file(fmt::format("created.{}.{}", self, i)));
  const double begin = seconds_now();
  for (const std::string& path : paths) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) throw base::system_error(errno, "cannot make '" + path + "'");
    close(descriptor);
  }
  const double seconds = seconds_now() - begin;
  for (const std::string& path : paths) remove_file(path);
  return seconds;
}

constexpr int created_at_once = 32;

}  // namespace

Figure write_rate(Team& team, Scratch& scratch, bool writes, const Writing& writing) {
  Figure figure;
  const Pages data(writes ? writing.request_bytes : page);
  const double enough = seconds_now() + 2 * writing.seconds * writing.samples;   // a store that is slow to sync has shown what it does
  for (int i = 0; i < writing.samples; ++i) {
    if (numbers_of_all(team, i > 0 && seconds_now() > enough ? 1 : 0).front() > 0) break;
    const double begin = seconds_now();
    const Bytes mine = writes ? write_with_threads(scratch, team.self(), data, writing) : 0;
    const double seconds = seconds_now() - begin;
    double bytes = 0, slowest = 0;
    for (const double each : numbers_of_all(team, static_cast<double>(mine))) bytes += each;
    for (const double each : numbers_of_all(team, writes ? seconds : 0)) slowest = std::max(slowest, each);
    if (slowest > 0 && bytes > 0) figure.samples.push_back(bytes / slowest);
  }
  return figure;
}

Figure write_seconds(Scratch& scratch, Bytes bytes, double seconds) {
  constexpr Bytes allocated_max = 64 * base::MiB;
  const Pages data(std::max(bytes, base::MiB));
  const std::string path = scratch.file("requests");
  OpenFile file(path, OpenFile::Kind::make, true);
  Bytes allocated = 0;
  const double long_enough = seconds_now() + seconds;   // of a slow disk less will do
  do {
    file.write(data.data(), base::MiB, allocated);
    allocated += base::MiB;
  } while (allocated < allocated_max && seconds_now() < long_enough);
  file.sync();
  Figure figure;
  const double end = seconds_now() + seconds;
  Bytes at = 0;
  do {
    int requests = 0;
    const double begin = seconds_now(), enough = begin + seconds / 5;
    do {
      file.write(data.data(), bytes, at);
      at = at + 2 * bytes <= allocated ? at + bytes : 0;
      ++requests;
    } while (seconds_now() < enough);
    figure.samples.push_back((seconds_now() - begin) / requests);
  } while (seconds_now() < end);
  remove_file(path);
  return figure;
}

Figure create_seconds(Team& team, Scratch& scratch, double seconds) {
  static_cast<void>(team.from_all(""));
  Figure figure;
  const double end = seconds_now() + seconds;
  while (team.self() == 0 && (figure.samples.empty() || seconds_now() < end) && figure.samples.size() < 64) {
    figure.samples.push_back(create_some(scratch, 0, created_at_once) / created_at_once);
  }
  static_cast<void>(team.from_all(""));
  return figure;
}

Figure create_seconds_together(Team& team, Scratch& scratch, double seconds) {
  Figure figure;
  const double begin = seconds_now();
  for (bool goes_on = true; goes_on;) {
    static_cast<void>(team.from_all(""));
    const double mine = create_some(scratch, team.self(), created_at_once);
    const std::vector<double> all = numbers_of_all(team, mine);
    figure.samples.push_back(*std::max_element(all.begin(), all.end()) / (created_at_once * team.count()));
    goes_on = numbers_of_all(team, seconds_now() - begin).front() < seconds && figure.samples.size() < 16;
  }
  return figure;
}

Figure lock_seconds(Team& team, Scratch& scratch, double seconds) {
  constexpr Bytes bytes = 64 * base::KiB;
  constexpr int requests = 16;
  const Pages data(bytes);
  const std::string shared = scratch.file("shared"), own = scratch.file(fmt::format("own.{}", team.self()));
  if (team.self() == 0) OpenFile(shared, OpenFile::Kind::make, true).sync();
  static_cast<void>(team.from_all(""));
  OpenFile shared_file(shared, OpenFile::Kind::existing, true), own_file(own, OpenFile::Kind::make, true);
  const auto slowest = [&](OpenFile& file, int first, int stride) {
    static_cast<void>(team.from_all(""));
    const double begin = seconds_now();
    for (int i = 0; i < requests; ++i) file.write(data.data(), bytes, static_cast<Bytes>(first + i * stride) * bytes);
    file.sync();
    const std::vector<double> all = numbers_of_all(team, seconds_now() - begin);
    return *std::max_element(all.begin(), all.end());
  };
  Figure figure;
  const double begin = seconds_now();
  for (bool goes_on = true; goes_on;) {
    const double alone = slowest(own_file, 0, 1), together = slowest(shared_file, team.self(), team.count());
    figure.samples.push_back(std::max(0.0, together - alone) / (requests * team.count()));
    goes_on = numbers_of_all(team, seconds_now() - begin).front() < seconds && figure.samples.size() < 16;
  }
  remove_file(own);
  if (team.self() == 0) remove_file(shared);
  return figure;
}

}  // namespace glean::calibrate
