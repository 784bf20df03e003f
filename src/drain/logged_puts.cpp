// SPDX-License-Identifier: BSD-3-Clause
#include "drain/logged_puts.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace glean::drain {
namespace {

bool is_whole(const LoggedPut& put) { return put.first == 0 && put.elements == put.box.elements(); }

auto origin(const LoggedPut& put) { return std::tie(put.variable, put.step, put.job_rank); }

template <class Before, class Join>
void join_neighbours(std::vector<LoggedPut>& puts, Before before, Join join) {
  std::sort(puts.begin(), puts.end(), before);
  std::vector<LoggedPut> joined;
  for (LoggedPut& put : puts) {
    if (joined.empty() || !join(joined.back(), put)) joined.push_back(std::move(put));
  }
  puts = std::move(joined);
}

void join_parts(std::vector<LoggedPut>& puts) {
  const auto key = [](const LoggedPut& put) { return std::tuple(origin(put), std::tie(put.box.start, put.box.count, put.first)); };
  join_neighbours(
      puts, [&](const LoggedPut& a, const LoggedPut& b) { return key(a) < key(b); },
      [](LoggedPut& put, const LoggedPut& next) {
        if (origin(put) != origin(next) || put.box != next.box || put.first + put.elements != next.first) return false;
        put.elements += next.elements;
        return true;
      });
}

// Boxes that differ in one dimension only, and there one begins where the other ends.
void join_boxes(std::vector<LoggedPut>& puts, std::size_t dimension) {
  // Neighbours stand side by side when they are sorted by all but that dimension first.
  const auto before = [dimension](const LoggedPut& a, const LoggedPut& b) {
    if (origin(a) != origin(b)) return origin(a) < origin(b);
    if (is_whole(a) != is_whole(b)) return is_whole(a);
    for (std::size_t d = 0; d < a.box.start.size(); ++d) {
      if (d == dimension || (a.box.start[d] == b.box.start[d] && a.box.count[d] == b.box.count[d])) continue;
      return std::tie(a.box.start[d], a.box.count[d]) < std::tie(b.box.start[d], b.box.count[d]);
    }
    return a.box.start[dimension] < b.box.start[dimension];
  };
  join_neighbours(puts, before, [dimension](LoggedPut& put, const LoggedPut& next) {
    if (origin(put) != origin(next) || !is_whole(put) || !is_whole(next)) return false;
    mesh::Box aligned = next.box;
    aligned.start[dimension] = put.box.start[dimension];
    aligned.count[dimension] = put.box.count[dimension];
    if (aligned != put.box || put.box.start[dimension] + put.box.count[dimension] != next.box.start[dimension]) return false;
    put.box.count[dimension] += next.box.count[dimension];
    put.elements += next.elements;
    return true;
  });
}

[[noreturn]] void refuse() { throw base::Error(base::Errc::io, "the takeover log of an output is damaged"); }

}  // namespace

LoggedPut logged_put(const pool::Pool& pool, const pool::Record& record, int journal) {
  const std::uint64_t* const start = record.box();
  const std::uint64_t* const count = start + record.dimensions;
  LoggedPut put{record.variable, pool.job_rank(record, journal), record.step, record.first_element, record.elements,
                {{start, count}, {count, count + record.dimensions}}};
  if (record.origin != pool::Origin::rank) {   // it speaks for all of its put
    put.first = 0;
    put.elements = put.box.elements();
  }
  return put;
}

std::vector<LoggedPut> join(std::vector<LoggedPut> puts) {
  join_parts(puts);
  // All puts of a variable have as many dimensions; those of other variables may have others.
  std::size_t dimensions = 0;
  for (const LoggedPut& put : puts) dimensions = std::max(dimensions, put.box.start.size());
  for (std::size_t d = dimensions; d-- > 0;) {
    const auto without = std::stable_partition(puts.begin(), puts.end(), [&](const LoggedPut& put) { return put.box.start.size() > d; });
    std::vector<LoggedPut> others(std::make_move_iterator(without), std::make_move_iterator(puts.end()));
    puts.erase(without, puts.end());
    join_boxes(puts, d);
    puts.insert(puts.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  }
  return puts;
}

// 64-bit words: XXH3 of what follows; for each put variable and rank, step, first, elements, dimensions, start, count.
std::vector<std::byte> encode(std::span<const LoggedPut> puts) {
  std::vector<std::uint64_t> words{0};
  for (const LoggedPut& put : puts) {
    words.insert(words.end(), {std::uint64_t{put.variable} << 32 | static_cast<std::uint32_t>(put.job_rank), put.step, put.first,
                               put.elements, put.box.start.size()});
    words.insert(words.end(), put.box.start.begin(), put.box.start.end());
    words.insert(words.end(), put.box.count.begin(), put.box.count.end());
  }
  words[0] = XXH3_64bits(words.data() + 1, (words.size() - 1) * sizeof(std::uint64_t));
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

std::vector<LoggedPut> decode_logged_puts(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
  if (words.empty() || bytes.size() % sizeof(std::uint64_t) != 0) refuse();
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (words[0] != XXH3_64bits(words.data() + 1, (words.size() - 1) * sizeof(std::uint64_t))) refuse();
  std::vector<LoggedPut> puts;
  for (auto word = words.begin() + 1; word != words.end();) {
    constexpr std::ptrdiff_t fixed = 5;
    if (words.end() - word < fixed) refuse();
    const std::uint64_t dimensions = word[4];
    if (dimensions > static_cast<std::uint64_t>(words.end() - word - fixed) / 2) refuse();
    const auto start = word + fixed, count = start + static_cast<std::ptrdiff_t>(dimensions);
    const auto next = count + static_cast<std::ptrdiff_t>(dimensions);
    puts.push_back({static_cast<std::uint32_t>(word[0] >> 32), static_cast<int>(word[0] & 0xffffffff), word[1], word[2], word[3],
                    {{start, count}, {count, next}}});
    word = next;
  }
  return puts;
}

}  // namespace glean::drain
