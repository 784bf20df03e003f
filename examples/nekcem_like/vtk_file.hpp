// SPDX-License-Identifier: BSD-3-Clause
//
// NekCEM's output file: legacy VTK, binary, an unstructured grid of linear hexahedra between the points of the spectral elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "maxwell.hpp"
#include "mesh.hpp"

namespace nekcem {

// What is written, of this rank. Refers to data of the program and is valid as long as they do not change.
struct Snapshot {
  struct Vectors {
    std::string name;
    const std::vector<double>* x;
    const std::vector<double>* y;
    const std::vector<double>* z;
  };
  const Mesh& mesh;
  int number = 0;   // of the output, from 0
  int step = 0;
  double time = 0, dt = 0;
  int ranks = 1;
  std::vector<Vectors> fields;
};

// The line that NekCEM writes about an output: step, number, points along an element, ranks, time and time step.
[[nodiscard]] std::string title_of(const Snapshot& snapshot);

// Bytes that are in one piece both in a file and in a buffer.
struct Extent {
  std::int64_t file_offset = 0, buffer_offset = 0, bytes = 0;
  bool operator==(const Extent&) const = default;
};

// Where everything is in the file of a run of elements. A file is a chain of sections, each a line or two of text and then
// the same number of bytes for every element: points, cells, types of cells, fields.
class VtkFile {
 public:
  // Throws std::invalid_argument if the run has more points than legacy VTK can number.
  VtkFile(const Snapshot& snapshot, const Range& run);

  // A part of the file in one buffer: section after section, in each what belongs to the part's elements.
  struct Part {
    Range run;
    bool with_texts = false;           // one part of each file has the texts
    std::vector<Extent> extents;       // one per section
    std::vector<std::int64_t> text;    // bytes of text at the begin of each extent
    std::int64_t bytes = 0;            // of the buffer
  };
  enum class Texts { none, all };
  // With texts, `run` starts where the file does.
  [[nodiscard]] Part part(const Range& run, Texts texts) const;
  // Of a buffer for `outer`, the pieces that belong to the elements of `inner`, without texts; one per section.
  [[nodiscard]] std::vector<Extent> pieces(const Part& outer, const Range& inner) const;

  // Encodes the elements of this rank, which are among those of the part, and the texts if it has them.
  void encode(const Snapshot& snapshot, const Part& part, std::span<std::byte> buffer) const;

  [[nodiscard]] std::int64_t bytes() const;   // of the file
  [[nodiscard]] const Range& run() const { return run_; }

 private:
  struct Section {
    std::string text;
    std::int64_t offset = 0;              // of the text in the file
    std::int64_t bytes_per_element = 0;
    [[nodiscard]] std::int64_t data() const { return offset + static_cast<std::int64_t>(text.size()); }
  };
  void encode_section(const Snapshot& snapshot, std::size_t section, std::byte* to) const;

  Range run_;
  std::vector<Section> sections_;
};

// The meta file by which a reader finds the files that are parts of one output.
[[nodiscard]] std::string pvtk_text(const std::vector<std::string>& file_names);

}  // namespace nekcem
