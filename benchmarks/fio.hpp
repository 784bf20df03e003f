// SPDX-License-Identifier: BSD-3-Clause
//
// fio as a contender: how fast a plain program writes as many bytes, with the same requests, into a new file of the same
// directory.
#pragma once

#include <cstdint>
#include <string>

namespace glean::benchmarks {

struct Fio {
  const char* name;
  const char* allocation;   // of the file
  const char* environment;
};
// glibc asks for huge pages itself when it is told to, which needs no privilege and no reserved pages.
inline constexpr Fio fios[] = {
    {"fio, allocated file", "native", ""},
    {"fio, huge pages, allocated file", "native", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "},
    {"fio, huge pages, new file", "truncate", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "}};

struct FioRequests {
  std::string program = "fio";
  std::string directory;   // is emptied
  int depth = 4;
  std::uint64_t request_mebibytes = 8;
};

// Seconds as fio counts them, with the fsync at the end; making the file and, where asked for, allocating it is not in
// them. On the root; the others wait quietly. Throws when fio fails.
[[nodiscard]] double fio_seconds(const FioRequests& requests, const Fio& fio, std::uint64_t bytes);

}  // namespace glean::benchmarks
