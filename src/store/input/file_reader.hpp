// SPDX-License-Identifier: BSD-3-Clause
//
// Reads boxes of variables from a file whose contents are known, without MPI and without the library of its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/box.hpp"
#include "store/input/contents.hpp"
#include "store/input/prefetcher.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {

class Arrival;

// All members are Local; reading blocks, and one thread reads.
class FileReader {
 public:
  using Variable = FileContents::Variable;

  // Tells what is in a file, given a path that leads to it for as long as the call takes.
  using Inspect = std::function<FileContents(const InputFile& file, const std::string& path)>;

  // Reads a box, which lies in a variable whose elements only a library can read, as the variable's own type, native.
  using ByLibrary = std::function<void(const InputFile& file, const Variable& variable, std::uint64_t record, const mesh::Box& box,
                                       std::byte* values)>;

  // Throws not_found, permission, and what `inspect` throws, with "cannot read 'PATH'" in front. Rows of a box that lie close to each other
  // are read together, at most `window_bytes` at once, which is small enough for the processor's cache.
  FileReader(SystemCalls& calls, const std::string& path, const Inspect& inspect, Bytes window_bytes = 512 * base::KiB);
  // Of a file that is somewhere else: `path` is what it is called there, and leads to nothing here. Each read takes a message there and
  // back.
  FileReader(std::unique_ptr<FileSource> source, const std::string& path, const Inspect& inspect, Bytes window_bytes = 4 * base::MiB);
  // Before any of the variables is read of which `inspect` says so.
  void let_library_read(ByLibrary by_library) { by_library_ = std::move(by_library); }

  [[nodiscard]] const std::vector<Variable>& variables() const { return contents_.variables; }   // index = id
  // Of that name. Throws not_found, unsupported where no type can hold its elements.
  [[nodiscard]] int find(std::string_view name) const;
  [[nodiscard]] std::uint64_t records() const { return contents_.records; }
  [[nodiscard]] const FileContents& contents() const { return contents_; }
  [[nodiscard]] const InputFile& file() const { return file_; }

  // Reads a box, which lies in the variable, into contiguous memory, with PnetCDF's conversion, but that a NaN is in the range of no
  // integer, and what is out of range becomes zero. `record` is ignored for fixed variables. Elements that were not written may have any
  // value; behind the end of the file they are zero.
  // Variables that a library reads are converted behind it, and take memory for the box meanwhile where `memory` is another type.
  // Throws not_found for a record that is not there, out_of_range when `memory` cannot hold a value (the others are
  // read), invalid_argument for text and numbers.
  void read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::byte* values) const;

  // What such a read() throws before it reads anything, and for so many values that `memory` cannot hold.
  void require_readable(int variable, std::uint64_t record, mesh::Type memory) const;
  void require_in_range(int variable, const mesh::Box& box, mesh::Type memory, std::size_t out_of_range) const;

  // Begins to fetch what such a read() needs, in the background. A record that is not there needs nothing, and nothing is fetched of what a
  // library reads, or is somewhere else. Local, does not wait.
  void prefetch(int variable, std::uint64_t record, const mesh::Box& box);

  // In the order of the file. `variable` -1: of the file.
  struct Attribute {
    std::string name;
    mesh::Type external = mesh::Type::text;
    std::size_t elements = 0;
  };
  [[nodiscard]] std::vector<Attribute> attributes(int variable) const;
  // Number of elements. `variable` -1: of the file. Throws not_found, unsupported where no type can hold its value.
  [[nodiscard]] std::size_t attribute_elements(int variable, const std::string& name) const;
  // All elements, converted. Errors as above.
  void read_attribute(int variable, const std::string& name, mesh::Type memory, void* values) const;

 private:
  void read_by_library(const Variable& known, std::uint64_t record, const mesh::Box& box, Arrival& arrival, std::byte* values) const;
  [[nodiscard]] const mesh::Attribute& attribute(int variable, const std::string& name) const;
  [[nodiscard]] std::string of(const Variable& variable) const { return "variable '" + variable.name + "' of '" + path_ + "'"; }

  std::string path_;
  Bytes window_bytes_;
  Bytes gap_bytes_;   // between rows that are read together, at most
  InputFile file_;
  FileContents contents_;
  ByLibrary by_library_;
  Prefetcher prefetcher_{file_};
};

// Elements as they are in the file, on their way to memory.
class Arrival {
 public:
  // Throws invalid_argument for text and numbers, with `what` in front.
  Arrival(mesh::Type external, Stored stored, mesh::Type memory, const std::string& what);
  // `stored_bytes` begin with `count` elements, and are not needed any more behind it. Counts those that `memory` cannot hold.
  void convert(std::byte* stored_bytes, std::byte* values, std::size_t count);
  [[nodiscard]] std::size_t out_of_range() const { return out_of_range_; }
  // Elements are not in memory as they are in the file.
  [[nodiscard]] bool changes() const { return swaps_ || !copies_; }
  [[nodiscard]] std::size_t stored_size() const { return mesh::size_of(external_); }   // of an element
  [[nodiscard]] std::size_t memory_size() const { return mesh::size_of(memory_); }
  // `stored_bytes` and `values` of convert() may be the same.
  [[nodiscard]] bool keeps_size() const { return copies_; }

 private:
  mesh::Type external_, memory_;
  bool swaps_, copies_;
  std::size_t out_of_range_ = 0;
};

// The contents of a classic NetCDF file.
[[nodiscard]] FileContents inspect_cdf(const InputFile& file, const std::string& path);

}  // namespace glean::store
