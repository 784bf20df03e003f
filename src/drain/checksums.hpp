// SPDX-License-Identifier: BSD-3-Clause
//
// The checksums of one output, collected while it is written, and put beside its file when that is published.
#pragma once

#include <string>
#include <utility>
#include <functional>
#include <vector>

#include "store/format/file_image.hpp"
#include "store/posix/file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::drain {

using base::Bytes;

// File::take_name(), if the file is still to have that name. False: it has another one now.
using TakeName = std::function<bool(store::File& file)>;

enum class SumsState { off, recorded, failed };
[[nodiscard]] const char* name_of(SumsState state);   // "off", "recorded", "failed"

// Where a drain keeps the sums of what it has written. No lock of its own.
class Checksums {
 public:
  explicit Checksums(SumsState wanted = SumsState::off) : state_(wanted) {}
  // Off, or what publish() has made of it.
  [[nodiscard]] SumsState state() const { return state_; }

  // Sums of disjoint parts of the file, as the worker computed them before the bytes left.
  void add(const std::vector<store::StridedSum>& sums) { sums_.insert(sums_.end(), sums.begin(), sums.end()); }
  // Of the patches that a finished file gets behind its header.
  void add_patches(const store::FileLayout& layout, const std::vector<store::Patch>& patches);
  // Other processes have written parts of the file, and their sums are not known: what no sum covers is read back.
  void lose() { lost_ = true; }
  // For the node that publishes a file of which this is a part.
  [[nodiscard]] std::vector<store::StridedSum> take() { return std::exchange(sums_, {}); }
  [[nodiscard]] bool are_lost() const { return lost_; }

  // The sidecar of the finished working file: what the format library wrote, [0, header_bytes), and what was lost are
  // read back. Throws when that fails. Blocks.
  [[nodiscard]] store::Sidecar sidecar(store::SystemCalls& calls, const std::string& working_path,
                                       const store::FileLayout& layout, Bytes file_bytes);

 private:
  friend bool publish(store::SystemCalls&, store::File&, const store::FileLayout&, Bytes, Checksums&, const TakeName&);
  void failed(const std::string& path, const char* why);

  SumsState state_;
  std::vector<store::StridedSum> sums_;
  bool lost_ = false;
};

// Publishes a finished file, and its sidecar unless `checksums` are off. In this order: a sidecar of what the file replaces goes,
// the file appears, its sidecar appears, each of them durable before the next. So after a crash a file may be without
// its sums, and never beside the sums of another. Throws as File::publish does; a sidecar that cannot be written is only
// warned of and noted in `checksums`. `file_bytes`: its length. False: `take_name` said so, and nothing is published. Blocks.
[[nodiscard]] bool publish(store::SystemCalls& calls, store::File& file, const store::FileLayout& layout, Bytes file_bytes,
                           Checksums& checksums, const TakeName& take_name);
inline void publish(store::SystemCalls& calls, store::File& file, const store::FileLayout& layout, Bytes file_bytes,
                    Checksums& checksums) {
  static_cast<void>(publish(calls, file, layout, file_bytes, checksums, [](store::File& whole) {
    whole.take_name();
    return true;
  }));
}

// Removes the sidecar of a file that is about to change; warns when it cannot. Blocks.
void forget_sums(store::SystemCalls& calls, const std::string& path) noexcept;

}  // namespace glean::drain
