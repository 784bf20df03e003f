// SPDX-License-Identifier: BSD-3-Clause
//
// Whether files are all parts of one output.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "store/format/formats.hpp"
#include "store/parts/join.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Error;

// How many parts there are, by the names of those that are there.
int count_parts(const std::string& path) {
  const fs::path wanted(path), directory = wanted.has_parent_path() ? wanted.parent_path() : ".";
  std::set<int> counts;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const auto name = parse_part_path(at->path().filename().string());
    if (name && name->path == wanted.filename()) counts.insert(name->parts);
  }
  if (error) throw base::system_error(error.value(), fmt::format("cannot search for parts of '{}'", path));
  if (counts.empty()) throw Error(Errc::not_found, fmt::format("there are no parts of '{0}': no '{0}.0of…'", path));
  if (counts.size() > 1) {
    throw Error(Errc::io, fmt::format("'{}' has parts of different outputs: of {} files", path, fmt::join(counts, " and of ")),
                "remove those that are not wanted");
  }
  return *counts.begin();
}

Part look_at(SystemCalls& calls, const std::string& path) {
  Part found{path, read_index(calls, path)};
  const FileLayout& layout = found.index.layout;
  if (!found.index.steps) throw Error(Errc::io, fmt::format("'{}' is the index of a part that is not complete", index_path(path)));
  const InputFile file(calls, path);
  found.bytes = file.bytes();
  found.header.resize(std::min(layout.header_bytes, found.bytes));
  file.read_with_zeros(found.header, 0);
  const Format& format = Formats::to_finish().find(layout.format);
  const auto records = found.header.size() == layout.header_bytes ? format.take_records(layout, found.header) : std::nullopt;
  if (!records) throw Error(Errc::io, fmt::format("'{}' is not the file that its index is about", path));
  found.records = *records;
  return found;
}

// Boxes of one variable that two parts have.
void refuse_overlap(const std::vector<Part>& parts, std::size_t variable) {
  struct Owned {
    const mesh::Box* box;
    const Part* part;
  };
  std::vector<Owned> all;
  for (const Part& part : parts) {
    for (const mesh::Box& box : part.index.boxes[variable]) all.push_back({&box, &part});
  }
  const VariableLayout& layout = parts.front().index.layout.variables[variable];
  // Along the dimension that the boxes cut most, few lie beside each other.
  std::size_t along = 0;
  double least = 0;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    double covered = 0;
    for (const Owned& each : all) covered += static_cast<double>(each.box->count[d]) / static_cast<double>(layout.shape[d]);
    if (d == 0 || covered < least) std::tie(along, least) = std::pair(d, covered);
  }
  const auto begin = [&](const Owned& each) { return layout.shape.empty() ? 0 : each.box->start[along]; };
  const auto end = [&](const Owned& each) { return layout.shape.empty() ? 1 : each.box->start[along] + each.box->count[along]; };
  std::sort(all.begin(), all.end(), [&](const Owned& a, const Owned& b) { return begin(a) < begin(b); });
  for (auto one = all.begin(); one != all.end(); ++one) {
    for (auto other = std::next(one); other != all.end() && begin(*other) < end(*one); ++other) {
      if (one->part == other->part || !one->box->intersects(*other->box)) continue;
      throw Error(Errc::overlap,
                  fmt::format("'{}' and '{}' both have a part of variable '{}': {} and {}", one->part->path, other->part->path,
                              layout.name, mesh::to_string(*one->box), mesh::to_string(*other->box)),
                  "the blocks that ranks define must not overlap");
    }
  }
}

void refuse_strangers(const std::vector<Part>& found) {
  const Part& first = found.front();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const PartIndex& index = found[i].index;
    const auto differs = [&](const std::string& how) {
      throw Error(Errc::io, fmt::format("'{}' and '{}' are not parts of one output: {}", first.path, found[i].path, how));
    };
    if (index.part != static_cast<int>(i) || index.parts != static_cast<int>(found.size())) {
      throw Error(Errc::io, fmt::format("'{}' has the index of part {} of {}", found[i].path, index.part, index.parts));
    }
    if (index.output != first.index.output) {
      differs(fmt::format("one is of {}, the other of {}", first.index.output, index.output));
    }
    if (index.layout != first.index.layout || found[i].header != first.header) differs("their headers differ");
  }
}

// A part that is to be replaced may have the index of the next already.
void refuse_unfinished(const std::string& part) {
  const fs::path path = fs::absolute(part);
  const std::string begin = "." + path.filename().string() + ".glean-";   // of choose_names()
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".part")) continue;
    throw Error(Errc::invalid_state, fmt::format("'{}' is just being written again, or was when a job ended early: '{}'", part, name),
                "wait for the job; after it has ended, `glean recover` completes what it can");
  }
}

}  // namespace

std::vector<Part> find_parts(SystemCalls& calls, const std::string& path) {
  const int count = count_parts(path);
  std::vector<std::string> missing;
  for (int part = 0; part < count; ++part) {
    const std::string file = part_path(path, part, count);
    for (const std::string& each : {file, index_path(file)}) {
      if (!fs::exists(each)) missing.push_back(fmt::format("'{}'", each));
    }
  }
  if (!missing.empty()) {
    throw Error(Errc::not_found, fmt::format("of '{}' {} missing: {}", path, missing.size() == 1 ? "a file is" : "files are",
                                             fmt::join(missing, ", ")),
                "a part appears when it is complete; after a job that ended early, `glean recover` completes what it can");
  }
  for (int part = 0; part < count; ++part) refuse_unfinished(part_path(path, part, count));
  std::vector<Part> parts;
  for (int part = 0; part < count; ++part) parts.push_back(look_at(calls, part_path(path, part, count)));
  refuse_strangers(parts);
  for (std::size_t variable = 0; variable < parts.front().index.layout.variables.size(); ++variable) refuse_overlap(parts, variable);
  return parts;
}

void remove_parts(SystemCalls& calls, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const std::string& path : {part.path, index_path(part.path)}) {
      const int result = calls.unlink(path.c_str());
      if (result < 0) throw base::system_error(-result, fmt::format("cannot remove '{}'", path));
    }
  }
}

}  // namespace glean::store
