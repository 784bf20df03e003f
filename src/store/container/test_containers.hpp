// SPDX-License-Identifier: BSD-3-Clause
//
// Containers for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/container/container.hpp"
#include "store/container/pack.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Other bytes for each seed.
inline std::string test_bytes(std::size_t size, std::uint64_t seed) {
  std::string text(size, '\0');
  std::uint64_t state = seed * 2 + 1;
  for (char& each : text) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    each = static_cast<char>(state >> 56);
  }
  return text;
}

// What an error says; empty without one.
template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const base::Error& error) {
    return error.what();
  }
  return {};
}

inline std::string text_of(const Container& container, std::uint64_t rank) {
  const TaskReader reader = container.reader(container.task(rank));
  std::string text(reader.bytes(), '\0');
  text.resize(reader.read(std::as_writable_bytes(std::span(text)), 0));
  return text;
}

// Files "a0", "a1", … of these sizes below the directory, as sources.
inline std::vector<PackSource> make_sources(const TemporaryDirectory& directory, const std::vector<std::size_t>& sizes) {
  std::vector<PackSource> sources;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = "a" + std::to_string(i);
    write_text(directory / name, test_bytes(sizes[i], i));
    sources.push_back({directory / name, name});
  }
  return sources;
}

inline void flip_byte(const std::string& path, std::size_t offset) {
  std::string text = read_text(path);
  text.at(offset) = static_cast<char>(text.at(offset) ^ 1);
  write_text(path, text);
}

inline void no_progress(Bytes) {}

}  // namespace glean::store
