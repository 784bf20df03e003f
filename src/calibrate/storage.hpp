// SPDX-License-Identifier: BSD-3-Clause
//
// What writing files costs: measured in a directory, by one process, by those of a node, by all.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "calibrate/figure.hpp"
#include "calibrate/scratch.hpp"
#include "calibrate/team.hpp"

namespace glean::calibrate {

using base::Bytes;

struct Writing {
  Bytes request_bytes = 8 * base::MiB;
  Bytes bytes_max = 512 * base::MiB;      // of a sample and a writer
  double seconds = 1;                     // of a sample, about
  int samples = 3;
  int threads = 1;                        // writers of each process, a file each
  enum class How { past_page_cache, through_page_cache } how = How::past_page_cache;
};

// Each sample: the processes of which `writes` is true write new files at the same time until the time or the bytes are used up, and
// fdatasync them. Bytes of all by the seconds of the slowest. Fewer samples where they take twice as long as they should. Collective.
[[nodiscard]] Figure write_rate(Team& team, Scratch& scratch, bool writes, const Writing& writing);

// Seconds of a write of `bytes` into an allocated file, one after the other by one writer, past the page cache where that works; each
// sample is the mean of many. Local.
[[nodiscard]] Figure write_seconds(Scratch& scratch, Bytes bytes, double seconds);

// Seconds to create a file and close it, one after the other by process 0. Collective: the others wait.
[[nodiscard]] Figure create_seconds(Team& team, Scratch& scratch, double seconds);
// All processes create files in the directory at once: seconds of it by the files of all. Collective.
[[nodiscard]] Figure create_seconds_together(Team& team, Scratch& scratch, double seconds);

// What a write into a file that all processes write into by turns takes longer than into one of its own, by the writes of all: they are
// granted one after the other. Collective.
[[nodiscard]] Figure lock_seconds(Team& team, Scratch& scratch, double seconds);

}  // namespace glean::calibrate
