// SPDX-License-Identifier: BSD-3-Clause
#include "convert/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "convert/compressed_file.hpp"
#include "convert/picked_elements.hpp"
#include "reduce/plan.hpp"
#include "store/convert.hpp"
#include "store/format/cdf/encode_header.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/hdf5/image.hpp"
#include "store/posix/file.hpp"

namespace glean::convert {
namespace {

using reduce::Field;
using reduce::ResultVariable;

constexpr std::uint64_t coordinates_most = 1 << 24;
constexpr std::uint64_t window_elements = 256 * base::KiB;

// Metadata, and where the elements are.
struct Image {
  std::vector<store::Patch> metadata;
  store::FileLayout layout;
  std::vector<store::Patch> at_end;
  Bytes bytes = 0;
};

Image image_of(const mesh::Definitions& definitions, std::uint64_t records, base::CopyFormat format, store::CdfVersion least) {
  Image image;
  if (format == base::CopyFormat::netcdf) {
    store::EncodedCdfHeader encoded = store::encode_cdf_header(least, definitions, records);
    image.metadata.push_back({0, std::move(encoded.bytes)});
    image.layout = std::move(encoded.header.layout);
    image.bytes = std::max<Bytes>(image.metadata.front().bytes.size(), store::whole_size(image.layout, records));
    return image;
  }
  store::FileImage made = store::make_hdf5_image(definitions, base::RangeRule::error);
  store::Finished finished = store::make_hdf5_format()->finish(made, {records, store::whole_size(made.layout, records), false});
  image.metadata = std::move(made.metadata);
  image.layout = std::move(made.layout);
  image.at_end = std::move(finished.patches);
  image.bytes = finished.size;
  return image;
}

// Native values of a type, in the byte order of a file.
template <class T>
void store_values(std::span<const double> values, const store::VariableLayout& layout, std::vector<std::byte>& into) {
  std::vector<T> native(values.size());
  std::transform(values.begin(), values.end(), native.begin(), [](double value) { return static_cast<T>(value); });
  into.resize(values.size() * sizeof(T));
  const std::array<std::byte, 8> no_fill{};
  store::converter(layout.external, layout.external, layout.stored)(reinterpret_cast<const std::byte*>(native.data()), into.data(),
                                                                    values.size(), no_fill.data());
}

void store_values(std::span<const double> values, const store::VariableLayout& layout, std::vector<std::byte>& into) {
  switch (layout.external) {
    case mesh::Type::int8: return store_values<std::int8_t>(values, layout, into);
    case mesh::Type::uint8: return store_values<std::uint8_t>(values, layout, into);
    case mesh::Type::int16: return store_values<std::int16_t>(values, layout, into);
    case mesh::Type::uint16: return store_values<std::uint16_t>(values, layout, into);
    case mesh::Type::int32: return store_values<std::int32_t>(values, layout, into);
    case mesh::Type::uint32: return store_values<std::uint32_t>(values, layout, into);
    case mesh::Type::int64: return store_values<std::int64_t>(values, layout, into);   // places, which a double has exactly up to 2^53
    case mesh::Type::float32: return store_values<float>(values, layout, into);
    default: return store_values<double>(values, layout, into);
  }
}

// HDF5's words, of the file as users know it.
base::Error of_final_name(const base::Error& error, const store::FileNames& names) {
  std::string what = error.what();
  if (what.find(fmt::format("errno = {},", ENOSPC)) != what.npos)
    return base::system_error(ENOSPC, fmt::format("cannot write '{}'", names.final_path));
  if (const std::size_t at = what.find(names.working_path); at != what.npos) what.replace(at, names.working_path.size(), names.final_path);
  std::replace(what.begin(), what.end(), '\n', ' ');
  return {error.code(), fmt::format("'{}': {}", names.final_path, what), error.hint()};
}

class Reduction {
 public:
  Reduction(Source& source, const Options& options)
      : source_(source), options_(options), plan_(make_plan()), elements_(source, plan_.picks),
        evaluation_([this](int variable, const mesh::Box& box, std::span<double> into) { elements_.read(variable, box, into); }),
        points_(plan_.fields.size(), 0), losses_(plan_.fields.size()) {}

  Reduced write(store::File& file) {
    for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
      if (plan_.fields[f].points) count_points(f);
    }
    Reduced made;
    made.fields = plan_.fields.size();
    if (plan_.compresses()) {
      try {
        made.kind = write_compressed(file);
      } catch (const base::Error& error) {
        throw of_final_name(error, file.names());
      }
    } else {
      write_image(file);
      made.kind = options_.to == base::CopyFormat::netcdf ? "NetCDF" : "HDF5";
    }
    made.bytes = file.current_size();
    note_losses(made.notes);
    return made;
  }

 private:
  reduce::Plan make_plan() {
    const Semantics semantics = read_semantics(source_, options_.semantics);
    const bool has_blocks = std::holds_alternative<Blocks>(semantics.meaning);
    reduce::Subject subject{source_.definitions(), source_.records(), {}, {}, {}};
    if (has_blocks) {
      subject.mesh = semantics.mesh;
      for (const int field : semantics.fields) {
        const auto& dimensions = source_.variable(field).dimensions;
        const std::size_t blocks = source_.definitions().per_step(field) ? 1 : 0;
        if (dimensions.size() > blocks) subject.of_blocks.push_back(dimensions[blocks]);
      }
    }
    subject.coordinates = [this](int variable) {
      const bool per_step = source_.definitions().per_step(variable);
      const std::uint64_t length = per_step ? source_.records() : source_.layout(variable).shape.at(0);
      if (length > coordinates_most) {
        throw base::Error(base::Errc::unsupported, fmt::format("'{}' has {} coordinates, and {} are the most that are looked at",
                                                               source_.variable(variable).name, length, coordinates_most));
      }
      std::vector<double> all;
      for (std::uint64_t r = 0; per_step && r < source_.records(); ++r) all.push_back(source_.reals(variable, r, 0, 1).front());
      return per_step ? all : source_.reals(variable, 0, 0, length);
    };
    try {
      return reduce::make_plan(subject, {options_.variables, options_.operators, options_.to == base::CopyFormat::hdf5});
    } catch (const base::Error& error) {
      throw base::Error(error.code(), fmt::format("cannot reduce '{}': {}", source_.path(), error.what()), error.hint());
    }
  }

  [[nodiscard]] bool per_step(const Field& field) const {
    return !field.dimensions.empty() && source_.definitions().dimensions[static_cast<std::size_t>(field.dimensions[0])].unlimited;
  }

  void count_points(std::size_t f) {
    const Field& field = plan_.fields[f];
    for_each_window(plan_.shape_of(field), window_elements, per_step(field), [&](const mesh::Box& box) {
      reduce::Loss loss;
      for (const double value : evaluation_.values(field, box, loss)) points_[f] += static_cast<std::uint64_t>(is_point(field, value));
    });
    if (points_[f] == 0) notes_.push_back(fmt::format("no value of '{}' is a point: one place is listed, which is -1", field.name));
  }

  static bool is_point(const Field& field, double value) {
    return value >= field.points->low && value <= field.points->high && value != field.fill;
  }

  // No file has a list of no length.
  [[nodiscard]] std::vector<std::uint64_t> lengths() const {
    std::vector<std::uint64_t> lengths = points_;
    for (std::uint64_t& length : lengths) length = std::max<std::uint64_t>(length, 1);
    return lengths;
  }

  [[nodiscard]] reduce::Result define() const { return reduce::define(plan_, source_.definitions(), lengths(), losses_); }

  void write_image(store::File& file) {
    const reduce::Result result = define();
    const Image image = image_of(result.definitions, plan_.records, options_.to, store::CdfVersion::cdf1);
    file.reserve(image.bytes);
    for (std::size_t v = 0; v < result.variables.size(); ++v) {
      const ResultVariable& variable = result.variables[v];
      if (!plan_.fields[variable.field].points) write_array(variable.field, image.layout.variables[v], file);
      else if (variable.part == ResultVariable::Part::places)
        write_points(variable.field, image.layout.variables[v], image.layout.variables[v + 1], file);
    }
    // Once more where attributes say what has been found out.
    const auto tells = [](const Field& field) { return field.loses() || field.formula; };
    const bool says_more = std::any_of(plan_.fields.begin(), plan_.fields.end(), tells);
    const Image again = says_more ? image_of(define().definitions, plan_.records, options_.to, store::CdfVersion::cdf1) : image;
    for (const store::Patch& patch : again.metadata) file.write(patch.bytes, patch.offset);
    for (const store::Patch& patch : again.at_end) file.write(patch.bytes, patch.offset);
    file.resize(image.bytes);
  }

  void write_array(std::size_t f, const store::VariableLayout& layout, store::File& file) {
    const Field& field = plan_.fields[f];
    const bool is_of_records = per_step(field);
    const Bytes size = mesh::size_of(layout.external);
    std::uint64_t done = 0;   // elements of this variable
    const std::uint64_t of_record = mesh::elements_of(layout.shape);
    std::vector<std::byte> bytes;
    for_each_window(plan_.shape_of(field), window_elements, is_of_records, [&](const mesh::Box& box) {
      const std::uint64_t count = box.count.empty() ? 1 : box.elements();
      if (field.is_as_in_source()) {
        std::vector<std::byte> big(count * size);
        elements_.read(field.source, box, std::span<std::byte>(big));
        take_as_stored(big, layout, bytes);
      } else {
        store_values(evaluation_.values(field, box, losses_[f]), layout, bytes);
      }
      const std::uint64_t record = layout.per_step() ? done / of_record : 0;
      file.write(bytes, layout.record_begin_bytes(record) + (done - record * of_record) * size);
      done += count;
    });
  }

  // Big-endian elements as they are in the other file.
  static void take_as_stored(std::vector<std::byte>& big, const store::VariableLayout& layout, std::vector<std::byte>& into) {
    if (layout.stored.order == store::ByteOrder::big || mesh::size_of(layout.external) == 1) return into.swap(big);
    const std::array<std::byte, 8> no_fill{};
    into.resize(big.size());
    // What makes big-endian of native bytes makes native of big-endian ones.
    store::converter(layout.external, layout.external)(big.data(), into.data(), big.size() / mesh::size_of(layout.external),
                                                       no_fill.data());
  }

  void write_points(std::size_t f, const store::VariableLayout& places, const store::VariableLayout& values, store::File& file) {
    std::vector<std::byte> bytes;
    std::uint64_t done = 0;
    const auto put = [&](std::span<const double> some, const store::VariableLayout& layout) {
      store_values(some, layout, bytes);
      file.write(bytes, layout.begin_bytes + done * mesh::size_of(layout.external));
    };
    for_each_point_window(f, [&](const std::vector<double>& found_places, const std::vector<double>& found) {
      put(found_places, places);
      put(found, values);
      done += found.size();
    });
  }

  // Places and values, in order, some at a time.
  void for_each_point_window(std::size_t f, const std::function<void(const std::vector<double>&, const std::vector<double>&)>& use) {
    const Field& field = plan_.fields[f];
    if (points_[f] == 0) return use({-1.0}, {field.fill});
    for_each_window(plan_.shape_of(field), window_elements, per_step(field), [&](const mesh::Box& box) {
      const std::vector<double> values = evaluation_.values(field, box, losses_[f]);
      std::vector<double> places, found;
      std::vector<std::uint64_t> index = box.start;
      for (const double value : values) {
        if (is_point(field, value)) {
          found.push_back(value);
          places.push_back(static_cast<double>(place_of(field, index)));
        }
        for (std::size_t d = index.size(); d-- > 0;) {
          if (++index[d] < box.start[d] + box.count[d]) break;
          index[d] = box.start[d];
        }
      }
      if (!found.empty()) use(places, found);
    });
  }

  // In the whole variable of the source.
  [[nodiscard]] std::uint64_t place_of(const Field& field, const std::vector<std::uint64_t>& index) const {
    std::uint64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto dimension = static_cast<std::size_t>(field.dimensions[d]);
      const mesh::DimensionDefinition& definition = source_.definitions().dimensions[dimension];
      place = place * (definition.unlimited ? source_.records() : definition.length) + plan_.picks[dimension].at(index[d]);
    }
    return place;
  }

  std::string write_compressed(store::File& file) {
    const reduce::Result result = define();
    CompressedFile compressed(file.names().working_path, result.definitions, plan_.deflate);
    for (std::size_t v = 0; v < result.variables.size(); ++v) {
      const ResultVariable& variable = result.variables[v];
      const Field& field = plan_.fields[variable.field];
      if (field.points) {
        if (variable.part != ResultVariable::Part::places) continue;
        std::uint64_t done = 0;
        for_each_point_window(variable.field, [&](const std::vector<double>& places, const std::vector<double>& values) {
          compressed.write_list(v, done, places);
          compressed.write_list(v + 1, done, values);
          done += places.size();
        });
        continue;
      }
      losses_[variable.field].error_most += compress_array(compressed, v, variable.field);
    }
    compressed.finish(define().definitions);
    return compressed.has_zfp() ? "HDF5 with zfp" : "HDF5 with deflate";
  }

  // Returns the largest error that compression makes.
  double compress_array(CompressedFile& compressed, std::size_t v, std::size_t f) {
    const Field& field = plan_.fields[f];
    double most = 0;
    std::vector<bool> kept;
    for (const int d : field.dimensions) kept.push_back(!plan_.picks[static_cast<std::size_t>(d)].is_dropped);
    compressed.begin(v, plan_.shape_of(field), kept, per_step(field), field.tolerance);
    for_each_window(plan_.shape_of(field), compressed.window_elements(), per_step(field), [&](const mesh::Box& box) {
      if (field.is_as_in_source() && field.tolerance == 0) {
        std::vector<std::byte> big((box.count.empty() ? 1 : box.elements()) * mesh::size_of(field.type));
        elements_.read(field.source, box, std::span<std::byte>(big));
        return compressed.write_as_in_source(box, big);
      }
      most = std::max(most, compressed.write(box, evaluation_.values(field, box, losses_[f])));
    });
    return most;
  }

  void note_losses(std::vector<std::string>& notes) const {
    notes = notes_;
    for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
      const std::string& name = plan_.fields[f].name;
      const reduce::Loss& loss = losses_[f];
      if (loss.not_finite != 0)
        notes.push_back(fmt::format("{} values of '{}' are infinite or no numbers, of finite ones", loss.not_finite, name));
      if (loss.became_infinite != 0) {
        notes.push_back(fmt::format("{} values of '{}' are too large for single precision, and became infinite", loss.became_infinite,
                                    name));
      }
    }
  }

  Source& source_;
  const Options& options_;
  reduce::Plan plan_;
  PickedElements elements_;
  reduce::Evaluation evaluation_;
  std::vector<std::uint64_t> points_;   // of each field, how many there are
  std::vector<reduce::Loss> losses_;
  std::vector<std::string> notes_;
};

}   // namespace

Reduced reduce_to(Source& source, const Options& options, store::File& file) { return Reduction(source, options).write(file); }

}   // namespace glean::convert
