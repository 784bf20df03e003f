// SPDX-License-Identifier: BSD-3-Clause
//
// How far a rank is, where no SIGKILL reaches it: a mapped file of 32-bit words, of which the first is a phase, and then for each
// file how many steps the rank has begun to end, and how many it has ended.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace kill {

enum class Phase : std::uint32_t { started = 1, in_session, all_closed, session_closed };

class Witness {
 public:
  Witness() = default;   // one that forgets
  Witness(const std::string& path, std::size_t files) {
    const std::size_t bytes = (1 + 2 * files) * sizeof(std::uint32_t);
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error("cannot make " + path);
    }
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    words_ = static_cast<std::uint32_t*>(mapped);
  }
  void reach(Phase phase) { store(0, static_cast<std::uint32_t>(phase)); }
  void enter_end(std::uint32_t file, std::uint32_t steps) { store(1 + 2 * file, steps); }
  void ended(std::uint32_t file, std::uint32_t steps) { store(2 + 2 * file, steps); }

 private:
  void store(std::size_t word, std::uint32_t value) {
    if (words_ != nullptr) std::atomic_ref(words_[word]).store(value);
  }
  std::uint32_t* words_ = nullptr;
};

}  // namespace kill
