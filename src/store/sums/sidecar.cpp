// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/sidecar.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/posix/file.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {
namespace {

// Followed by the version, all numbers little-endian.
constexpr std::string_view magic = "GLEANSUM";
constexpr std::uint64_t sidecar_version = 1;
constexpr std::size_t sum_bytes = 40;
constexpr std::uint64_t read_back_flag = std::uint64_t{1} << 32;

void append(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::byte>(value >> shift));
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return value;
}

[[noreturn]] void refuse(const std::string& why) {
  throw base::Error(base::Errc::io, "the sidecar is damaged: " + why);
}

// Nothing that verifying computes with these may overflow or leave the file.
void check(const StridedSum& sum, Bytes file_bytes) {
  const bool strided = sum.runs > 1;
  if (sum.length == 0 || sum.length > file_bytes || sum.begin > file_bytes || sum.runs == 0 ||
      (strided ? sum.stride < sum.length : sum.stride != 0) ||
      (strided && sum.stride > (base::largest_offset - sum.begin - sum.length) / (sum.runs - 1)) || sum.end() > file_bytes) {
    refuse("a checksum is of something outside of the file");
  }
}

base::Error cannot(const char* action, const std::string& path, int result) {
  return base::system_error(-result, fmt::format("cannot {} '{}'", action, path));
}

void synchronize_directory_of(SystemCalls& calls, const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int descriptor = calls.open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (descriptor < 0) throw cannot("open", directory, descriptor);
  const int result = calls.fsync(descriptor);
  calls.close(descriptor);
  // Some network file systems have no fsync of directories.
  if (result != 0 && result != -EINVAL && result != -EOPNOTSUPP) throw cannot("synchronize", directory, result);
}

void write_all(SystemCalls& calls, int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  for (Bytes written = 0; written < bytes.size();) {
    const ssize_t result =
        calls.pwrite(descriptor, bytes.data() + written, bytes.size() - written, static_cast<off_t>(written));
    if (result == -EINTR) continue;
    if (result <= 0) throw cannot("write", path, result == 0 ? -EIO : static_cast<int>(result));
    written += static_cast<Bytes>(result);
  }
}

}  // namespace

std::vector<std::byte> Sidecar::encode() const {
  std::vector<std::byte> bytes;
  bytes.reserve(6 * 8 + layout.size() + sums.size() * sum_bytes);
  for (const char c : magic) bytes.push_back(static_cast<std::byte>(c));
  append(bytes, sidecar_version);
  append(bytes, file_bytes);
  append(bytes, layout.size());
  bytes.insert(bytes.end(), layout.begin(), layout.end());
  append(bytes, sums.size());
  for (const StridedSum& sum : sums) {
    append(bytes, sum.begin);
    append(bytes, sum.length);
    append(bytes, sum.stride);
    append(bytes, sum.runs | (sum.read_back ? read_back_flag : 0));
    append(bytes, sum.sum);
  }
  append(bytes, XXH3_64bits(bytes.data(), bytes.size()));
  return bytes;
}

Sidecar Sidecar::decode(std::span<const std::byte> bytes) {
  constexpr std::size_t fixed = 8 + 8 + 8 + 8;   // up to the layout
  if (bytes.size() < fixed + 8 + 8) refuse("it ends too early");
  if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) refuse("it does not begin like one");
  if (XXH3_64bits(bytes.data(), bytes.size() - 8) != number_at(bytes, bytes.size() - 8)) {
    refuse("its own checksum does not fit");
  }
  if (const auto found = number_at(bytes, 8); found != sidecar_version) refuse(fmt::format("its version is {}", found));
  bytes = bytes.first(bytes.size() - 8);
  Sidecar sidecar;
  sidecar.file_bytes = number_at(bytes, 16);
  if (sidecar.file_bytes > base::largest_offset) refuse("no file is that long");
  const std::uint64_t layout_bytes = number_at(bytes, 24);
  if (layout_bytes > bytes.size() - fixed - 8) refuse("its layout is longer than itself");
  const auto layout = bytes.subspan(fixed, layout_bytes);
  sidecar.layout.assign(layout.begin(), layout.end());
  bytes = bytes.subspan(fixed + layout_bytes);
  const std::uint64_t count = number_at(bytes, 0);
  bytes = bytes.subspan(8);
  if (bytes.size() % sum_bytes != 0 || count != bytes.size() / sum_bytes) refuse("its length does not fit");
  sidecar.sums.reserve(count);
  for (; !bytes.empty(); bytes = bytes.subspan(sum_bytes)) {
    const std::uint64_t runs = number_at(bytes, 24);
    if (runs >= 2 * read_back_flag) refuse("a checksum has flags that are not known");
    sidecar.sums.push_back({number_at(bytes, 0), number_at(bytes, 8), number_at(bytes, 16),
                            static_cast<std::uint32_t>(runs), (runs & read_back_flag) != 0, number_at(bytes, 32)});
    check(sidecar.sums.back(), sidecar.file_bytes);
    if (sidecar.sums.size() > 1 && sidecar.sums.end()[-2].begin >= sidecar.sums.back().begin) refuse("it is out of order");
  }
  return sidecar;
}

std::string sidecar_path(const std::string& path) {
  constexpr std::string_view suffix = ".glean-sums", working_suffix = ".part";
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  const std::size_t longest = NAME_MAX - 1 - suffix.size() - working_suffix.size();
  if (name.size() > longest) {
    const std::string hash = fmt::format("~{:016x}", XXH3_64bits(name.data(), name.size()));
    name = name.substr(0, longest - hash.size()) + hash;
  }
  return (file.parent_path() / fmt::format(".{}{}", name, suffix)).string();
}

std::optional<Sidecar> read_sidecar(SystemCalls& calls, const std::string& path) {
  const std::string sidecar = sidecar_path(real_path(path).value_or(path));
  try {
    return Sidecar::decode(InputFile(calls, sidecar).read_all());
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::not_found) return std::nullopt;
    throw;
  }
}

void remove_sidecar(SystemCalls& calls, const std::string& path) {
  const std::string sidecar = sidecar_path(path);
  const int result = calls.unlink(sidecar.c_str());
  if (result == -ENOENT) return;
  if (result < 0) throw cannot("remove", sidecar, result);
  synchronize_directory_of(calls, path);
}

namespace {

std::string prepared_path(const std::string& path) { return sidecar_path(path) + ".part"; }

}  // namespace

void remove_prepared_sidecar(SystemCalls& calls, const std::string& path) { calls.unlink(prepared_path(path).c_str()); }

PreparedSidecar::PreparedSidecar(SystemCalls& calls, std::string path, const Sidecar& sidecar)
    : calls_(calls), path_(std::move(path)), working_path_(prepared_path(path_)) {
  // Not the file's mode, which may be read-only.
  const int descriptor = calls_.open(working_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw cannot("create", working_path_, descriptor);
  try {
    write_all(calls_, descriptor, sidecar.encode(), working_path_);
    if (const int result = calls_.fsync(descriptor); result != 0) throw cannot("store", working_path_, result);
  } catch (...) {
    calls_.close(descriptor);
    calls_.unlink(working_path_.c_str());
    throw;
  }
  calls_.close(descriptor);
}

PreparedSidecar::~PreparedSidecar() {
  if (!published_) calls_.unlink(working_path_.c_str());
}

void PreparedSidecar::publish() {
  const std::string sidecar = sidecar_path(path_);
  if (const int result = calls_.rename(working_path_.c_str(), sidecar.c_str()); result < 0) {
    throw cannot("publish", sidecar, result);
  }
  published_ = true;
  synchronize_directory_of(calls_, path_);
}

}  // namespace glean::store
