// SPDX-License-Identifier: BSD-3-Clause
//
// What every format promises, played through: metadata, elements and patches do not get into each other's way, a value comes back from
// its bytes, and a file that is put together of it is read back as it was put. For tests.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/convert.hpp"
#include "store/format/format.hpp"

namespace glean::store {

// All elements of a record of a variable, in native byte order, as a reader of the format finds them in the file.
using ReadBack = std::function<std::vector<std::byte>(const std::string& path, int variable, std::uint64_t record)>;

class FormatContract {
 public:
  // `path` is written to. `definitions` have no empty variables.
  FormatContract(const Format& format, const mesh::Definitions& definitions, std::string path, ReadBack read_back)
      : format_(format), definitions_(definitions), path_(std::move(path)), read_back_(std::move(read_back)),
        image_(format.image(definitions, base::RangeRule::fill)) {}

  // The first thing that is not as promised; nothing if all is.
  [[nodiscard]] std::string play() {
    check_variables();
    check_places();
    check_encoding();
    for (const std::uint64_t records : {0, 1, 2, 7}) {
      check_finish(records);
      check_file(records);
      if (!has_records()) break;
    }
    return problem_;
  }

 private:
  static constexpr std::uint64_t many_records = 7;

  void expect(bool holds, const std::string& what) {
    if (!holds && problem_.empty()) problem_ = std::string(format_.name()) + ": " + what;
  }
  [[nodiscard]] bool has_records() const {
    const auto& variables = image_.layout.variables;
    return std::any_of(variables.begin(), variables.end(), [](const VariableLayout& variable) { return variable.per_step(); });
  }

  void check_variables() {
    const auto& variables = image_.layout.variables;
    expect(image_.layout.format == format_.name(), "its images have another name");
    expect(image_.layout.range == base::RangeRule::fill, "it has forgotten the rule for values out of range");
    expect(variables.size() == definitions_.variables.size(), "it has more or fewer variables than are defined");
    for (std::size_t v = 0; v < variables.size() && problem_.empty(); ++v) {
      const mesh::VariableDefinition& defined = definitions_.variables[v];
      const int id = static_cast<int>(v);
      expect(variables[v].name == defined.name && variables[v].external == defined.external && variables[v].fill == defined.fill &&
                 variables[v].shape == definitions_.shape(id) && variables[v].per_step() == definitions_.per_step(id),
             "variable '" + defined.name + "' is not as it is defined");
    }
  }

  void check_places() {
    std::vector<base::Extent> places;
    for (const Patch& part : image_.metadata) {
      expect(!part.bytes.empty(), "a part of the metadata is empty");
      places.push_back(part.extent());
    }
    expect(std::is_sorted(places.begin(), places.end(), [](auto a, auto b) { return a.begin < b.begin; }), "the metadata does not ascend");
    for (const base::Extent& part : places) {
      expect(part.begin >= image_.layout.header_bytes || part.end <= image_.layout.header_bytes, "the header ends within a part");
    }
    for (const VariableLayout& variable : image_.layout.variables) {
      expect(variable.begin_bytes >= image_.layout.header_bytes, "'" + variable.name + "' begins within the header");
      for (std::uint64_t record = 0; record < (variable.per_step() ? many_records : 1); ++record) {
        const Bytes begin = variable.record_begin_bytes(record);
        places.push_back({begin, begin + variable.record_bytes()});
      }
    }
    check_attributes();
    elements_.assign(places.begin() + static_cast<std::ptrdiff_t>(image_.metadata.size()), places.end());
    std::sort(places.begin(), places.end(), [](auto a, auto b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < places.size(); ++i) {
      expect(places[i - 1].end <= places[i].begin, "two things lie at byte " + std::to_string(places[i].begin));
    }
  }

  // Each that changes has its values where the layout says, and no two share a byte.
  void check_attributes() {
    const auto& attributes = image_.layout.attributes;
    std::size_t next = 0;
    std::vector<base::Extent> places;
    for (const mesh::Attribute& defined : definitions_.attributes) {
      if (!defined.changes) continue;
      expect(next < attributes.size(), "attribute '" + defined.name + "' has no place");
      if (next == attributes.size()) return;
      const VariableLayout& layout = attributes[next++];
      const Bytes bytes = layout.record_bytes();
      expect(layout.name == defined.name && layout.external == defined.type && bytes == defined.values.size() && !layout.per_step(),
             "attribute '" + defined.name + "' is not as it is defined");
      places.push_back({layout.begin_bytes, layout.begin_bytes + bytes});
      std::vector<std::byte> wanted(bytes);
      converter(layout.external, layout.external, layout.stored)(defined.values.data(), wanted.data(), defined.count(),
                                                                 layout.fill_value.data());
      bool is_there = false;
      for (const Patch& part : image_.metadata) {
        if (layout.begin_bytes < part.offset || layout.begin_bytes + bytes > part.extent().end) continue;
        const auto begin = part.bytes.begin() + static_cast<std::ptrdiff_t>(layout.begin_bytes - part.offset);
        is_there = std::equal(wanted.begin(), wanted.end(), begin);
      }
      expect(is_there, "the values of attribute '" + defined.name + "' are not where the layout says");
    }
    expect(next == attributes.size(), "it has places of attributes that do not change");
    std::sort(places.begin(), places.end(), [](auto a, auto b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < places.size(); ++i) expect(places[i - 1].end <= places[i].begin, "two attributes lie at one place");
    attributes_ = places;
  }

  void check_encoding() {
    std::vector<std::byte> bytes = image_.encode();
    expect(FileImage::decode(bytes) == image_, "an image is not what it was after it has been encoded");
    for (const std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      try {
        static_cast<void>(FileImage::decode(std::span(bytes).first(size)));
        expect(false, "an image that was cut is taken for one");
      } catch (const base::Error&) {
        // as it has to be
      }
    }
  }

  void check_finish(std::uint64_t records) {
    for (const Bytes end : {Bytes{0}, end_of(records)}) {
      const Finished finished = format_.finish(image_, {records, end});
      expect(finished.size >= end && finished.size >= image_.layout.header_bytes, "a finished file is shorter than what is in it");
      for (const Patch& patch : finished.patches) {
        expect(patch.extent().end <= finished.size, "a patch lies behind the end of the file");
        for (const base::Extent& place : elements_) {
          expect(patch.extent().end <= place.begin || place.end <= patch.offset, "a patch lies where elements are");
        }
        for (const base::Extent& place : attributes_) {
          expect(patch.extent().end <= place.begin || place.end <= patch.offset, "a patch lies where an attribute changes");
        }
      }
    }
  }

  [[nodiscard]] Bytes end_of(std::uint64_t records) const {
    Bytes end = 0;
    for (const VariableLayout& variable : image_.layout.variables) {
      if (variable.per_step() && records == 0) continue;
      end = std::max(end, variable.record_begin_bytes(variable.per_step() ? records - 1 : 0) + variable.record_bytes());
    }
    return end;
  }

  // Others for every variable and record, and valid text.
  [[nodiscard]] static std::vector<std::byte> values_of(const VariableLayout& variable, std::size_t index, std::uint64_t record) {
    std::vector<std::byte> values(variable.record_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(32 + (i * 5 + index * 11 + record * 17) % 63);
    return values;
  }

  void check_file(std::uint64_t records) {
    std::vector<std::byte> file;
    const auto write = [&](const Patch& patch) {
      if (file.size() < patch.extent().end) file.resize(patch.extent().end);
      std::copy(patch.bytes.begin(), patch.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(patch.offset));
    };
    std::for_each(image_.metadata.begin(), image_.metadata.end(), write);
    for_each_record(records, [&](const VariableLayout& variable, std::size_t index, std::uint64_t record) {
      const std::vector<std::byte> values = values_of(variable, index, record);
      Patch elements{variable.record_begin_bytes(record), std::vector<std::byte>(values.size())};
      converter(variable.external, variable.external, variable.stored)(values.data(), elements.bytes.data(),
                                                                       mesh::elements_of(variable.shape), variable.fill_value.data());
      write(elements);
    });
    const Finished finished = format_.finish(image_, {records, end_of(records)});
    std::for_each(finished.patches.begin(), finished.patches.end(), write);
    file.resize(finished.size);
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    for_each_record(records, [&](const VariableLayout& variable, std::size_t index, std::uint64_t record) {
      expect(read_back_(path_, static_cast<int>(index), record) == values_of(variable, index, record),
             "record " + std::to_string(record) + " of '" + variable.name + "' is read as something else");
    });

    std::vector<std::byte> header(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(image_.layout.header_bytes));
    expect(format_.take_records(image_.layout, header) == records, "a file does not say how many records it has");
    std::vector<std::byte> without(file.size());
    for (const Patch& part : image_.metadata) {
      std::copy(part.bytes.begin(), part.bytes.end(), without.begin() + static_cast<std::ptrdiff_t>(part.offset));
    }
    expect(std::equal(header.begin(), header.end(), without.begin()), "a header without its records is not what it was at first");
    header.assign(header.size(), std::byte{'?'});
    expect(!format_.take_records(image_.layout, header), "any bytes are taken for a header");
  }

  template <class Visit>
  void for_each_record(std::uint64_t records, Visit visit) {
    const auto& variables = image_.layout.variables;
    for (std::size_t v = 0; v < variables.size(); ++v) {
      for (std::uint64_t record = 0; record < (variables[v].per_step() ? records : 1); ++record) visit(variables[v], v, record);
    }
  }

  const Format& format_;
  const mesh::Definitions& definitions_;
  std::string path_;
  ReadBack read_back_;
  FileImage image_;
  std::vector<base::Extent> elements_, attributes_;
  std::string problem_;
};

}  // namespace glean::store
