// SPDX-License-Identifier: BSD-3-Clause
#include "convert/convert.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "convert/copy.hpp"
#include "convert/reduction.hpp"
#include "convert/target.hpp"
#include "store/copies.hpp"
#include "store/posix/file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t files_most = 100'000;   // of one source


// Those of `names`, in the order of the file. All that are unknown are named.
std::vector<int> chosen_fields(const Source& source, const Semantics& semantics, const std::vector<std::string>& names) {
  if (names.empty()) return semantics.fields;
  std::vector<std::string> known;
  for (const int field : semantics.fields) known.push_back(source.variable(field).name);
  std::vector<std::string> unknown;
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    wanted.insert(name);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = base::nearest(name, known);
    unknown.push_back(fmt::format("'{}'{}", name, nearest.empty() ? "" : fmt::format(" (nearest: '{}')", nearest)));
  }
  if (!unknown.empty()) {
    throw base::Error(base::Errc::not_found, fmt::format("'{}' has no fields {}", source.path(), listed(unknown)),
                      "the mesh always comes along, and is no field");
  }
  std::vector<int> fields;
  for (const int field : semantics.fields) {
    if (wanted.contains(source.variable(field).name)) fields.push_back(field);
  }
  return fields;
}

void require_other_file(const std::string& source, const std::string& target) {
  struct stat a {
  }, b{};
  if (stat(source.c_str(), &a) != 0 || stat(target.c_str(), &b) != 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' would take the place of the file that it is made of", target),
                    "choose another name with -o");
}

// In pieces of a few MiB.
void write_computed(const Computed& computed, store::File& file) {
  constexpr std::size_t enough = 4 * base::MiB;
  std::vector<std::byte> together;
  Bytes offset = computed.offset;
  for (std::size_t part = 0; part < computed.parts; ++part) {
    const std::vector<std::byte> made = computed.make(part);
    together.insert(together.end(), made.begin(), made.end());
    if (together.size() < enough && part + 1 < computed.parts) continue;
    file.write(together, offset);
    offset += together.size();
    together.clear();
  }
}

Copied write_target(store::SystemCalls& calls, Source& source, const Target& target, store::File& file) {
  file.reserve(target.bytes, source.has_holes() ? 0 : target.bytes);   // holes stay holes
  for (const store::Patch& patch : target.image.metadata) file.write(patch.bytes, patch.offset);
  Copier copier(calls, source, file);
  for (const ElementCopy& copy : target.copies) copier.copy(copy);
  copier.finish();
  for (const Computed& computed : target.computed) write_computed(computed, file);
  for (const store::Patch& patch : target.patches) file.write(patch.bytes, patch.offset);
  file.resize(target.bytes);
  return copier.copied();
}

// One drain makes a copy at a time, and ends with its converter: a working file that is there is what a kill has left.
void create_working(store::SystemCalls& calls, const store::FileNames& names, bool is_of_drain) {
  if (is_of_drain) calls.unlink(names.working_path.c_str());
  const int descriptor = calls.open(names.working_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw base::system_error(-descriptor, fmt::format("cannot create '{}'", names.final_path));
  calls.close(descriptor);
}

// Under a working name in the same directory, until it is complete and durable. `write`: the file → what was made.
Made publish(store::SystemCalls& calls, const Source& source, const std::string& path, bool is_of_drain,
             const std::function<Made(store::File&)>& write) {
  require_other_file(source.path(), path);
  const std::string unique = is_of_drain ? "copy" : fmt::format("{}-{}", getpid(), base::now_ns());
  const store::FileNames names = store::choose_names(path, base::Publish::rename, false, unique);
  create_working(calls, names, is_of_drain);
  try {
    store::hand_on_permissions(names);
    store::File file(calls, names, base::DirectIo::automatic);
    Made made = write(file);
    store::remove_sidecar(calls, names.final_path);   // of the file that is replaced
    file.publish();
    return made;
  } catch (...) {
    calls.unlink(names.working_path.c_str());
    throw;
  }
}

Made publish(store::SystemCalls& calls, Source& source, Target target, const std::string& path, bool is_of_drain) {
  const std::uint64_t begin_ns = base::now_ns();
  Made made = publish(calls, source, path, is_of_drain, [&](store::File& file) {
    const Copied copied = write_target(calls, source, target, file);
    for (const auto& [variable, count] : copied.became_infinite) {
      target.notes.push_back(fmt::format("{} values of '{}' are too large for single precision, and became infinite", count,
                                         source.variable(variable).name));
    }
    Made written;
    written.path = path;
    written.kind = std::move(target.kind);
    written.bytes = target.bytes;
    written.notes = std::move(target.notes);
    return written;
  });
  made.seconds = base::seconds(base::now_ns() - begin_ns);
  return made;
}

// Of a file that is reduced first.
std::vector<Made> convert_reduced(store::SystemCalls& calls, const std::string& path, const Options& options) {
  const std::uint64_t begin_ns = base::now_ns();
  Source source(calls, path, options.is_of_drain);
  const std::string output = options.output.empty() ? output_path(path, options.to, true) : options.output;
  if (options.to != base::CopyFormat::vtkhdf) {
    Made made = publish(calls, source, output, options.is_of_drain, [&](store::File& file) {
      Reduced reduced = reduce_to(source, options, file);
      return Made{output, std::move(reduced.kind), reduced.fields, 0, 0, {}, reduced.bytes, 0, std::move(reduced.notes)};
    });
    made.seconds = base::seconds(base::now_ns() - begin_ns);
    return {std::move(made)};
  }
  // By way of a NetCDF file that is never seen.
  const std::string unique = options.is_of_drain ? "reduced" : fmt::format("{}-{}-reduced", getpid(), begin_ns);
  const store::FileNames between{store::choose_names(output, base::Publish::rename, false, unique).working_path, output};
  Options first = options, second = options;
  first.to = base::CopyFormat::netcdf;
  second.operators.clear();
  second.variables.clear();
  second.output = output;
  second.is_of_drain = true;   // its length is right
  try {
    create_working(calls, between, options.is_of_drain);
    std::vector<std::string> notes;
    {
      store::File file(calls, between, base::DirectIo::automatic);
      notes = reduce_to(source, first, file).notes;
    }
    std::vector<Made> all = convert(calls, between.working_path, second);
    calls.unlink(between.working_path.c_str());
    all.front().notes.insert(all.front().notes.begin(), notes.begin(), notes.end());
    return all;
  } catch (const base::Error& error) {
    calls.unlink(between.working_path.c_str());
    std::string what = error.what();
    if (const std::size_t at = what.find(between.working_path); at != what.npos) what.replace(at, between.working_path.size(), path);
    throw base::Error(error.code(), what, error.hint());
  }
}

// Without blocks an HDF5 file has the arrays of its source, all of them, whether they are on a grid or not.
Semantics semantics_for(const Source& source, const Options& options) {
  Semantics semantics = read_semantics(source, options.semantics);
  if (options.to != base::CopyFormat::hdf5 || !std::holds_alternative<UniformGrid>(semantics.meaning)) return semantics;
  return read_semantics(source, base::Semantics::none);
}

Target make_target(const Source& source, const Semantics& semantics, const Selection& selection, const Options& options,
                   std::uint64_t record) {
  if (options.to == base::CopyFormat::vtkhdf) return make_vtkhdf_target(source, semantics, selection, record, options.image);
  if (std::holds_alternative<Blocks>(semantics.meaning)) return make_flash_target(source, semantics, selection, record);
  return make_hdf5_target(source, semantics, selection);
}

// One for each record where a file holds one, and fields have records; otherwise one.
std::uint64_t files_of(const Source& source, const Semantics& semantics, const Selection& selection, const Options& options) {
  if (options.to == base::CopyFormat::hdf5 && !std::holds_alternative<Blocks>(semantics.meaning)) return 1;
  const bool per_step = std::any_of(selection.fields.begin(), selection.fields.end(),
                                    [&](int field) { return source.definitions().per_step(field); });
  if (!per_step) return 1;
  if (source.records() == 0) throw base::Error(base::Errc::not_found, fmt::format("cannot convert '{}': it has no records", source.path()));
  if (source.records() <= files_most) return source.records();
  throw base::Error(base::Errc::unsupported,
                    fmt::format("cannot convert '{}': of its {} records as many files would be made", source.path(), source.records()));
}

std::string path_of_record(const std::string& path, std::uint64_t record) {
  const fs::path whole(path);
  return (whole.parent_path() / fmt::format("{}_{:04}{}", whole.stem().string(), record, whole.extension().string())).string();
}

void describe(Made& made, const Source& source, const Semantics& semantics, const Selection& selection, bool is_one_step,
              std::uint64_t record) {
  made.fields = selection.fields.size();
  if (is_one_step) made.time = time_of(source, semantics, record);
  if (const auto* blocks = std::get_if<Blocks>(&semantics.meaning)) {
    made.blocks = blocks->mesh.blocks();
    made.levels = static_cast<int>(std::set<std::int32_t>(blocks->mesh.levels.begin(), blocks->mesh.levels.end()).size());
  }
}

}  // namespace

std::string output_path(const std::string& source, base::CopyFormat to, bool is_reduced) {
  return store::Copy{to, {}, is_reduced ? "reduced" : "", {}}.path(source);
}

std::vector<Made> convert(store::SystemCalls& calls, const std::string& path, const Options& options) {
  if (!options.operators.empty() || options.to == base::CopyFormat::netcdf) return convert_reduced(calls, path, options);
  Source source(calls, path, options.is_of_drain);
  const Semantics semantics = semantics_for(source, options);
  const Selection selection{chosen_fields(source, semantics, options.variables), options.single};
  const bool is_mixed = options.to == base::CopyFormat::hdf5 && !std::holds_alternative<Blocks>(semantics.meaning);
  std::vector<std::string> left_out;
  for (const int other : semantics.others) left_out.push_back(fmt::format("'{}'", source.variable(other).name));

  const std::string output = options.output.empty() ? output_path(path, options.to) : options.output;
  const std::uint64_t files = files_of(source, semantics, selection, options);
  if (options.leaves_out_nothing && (!left_out.empty() || files != 1)) {
    throw base::Error(base::Errc::unsupported,
                      fmt::format("'{}' cannot be one {} file: {}", path, options.to == base::CopyFormat::hdf5 ? "HDF5" : "VTKHDF",
                                  files != 1 ? fmt::format("its {} records would be files of their own", files)
                                             : "not on the mesh are " + listed(left_out)));
  }
  std::vector<Made> all;
  for (std::uint64_t record = 0; record < files; ++record) {
    Made made = publish(calls, source, make_target(source, semantics, selection, options, record),
                        files == 1 ? output : path_of_record(output, record), options.is_of_drain);
    if (!left_out.empty() && record == 0) made.notes.push_back("not on the mesh, and left out: " + listed(left_out));
    describe(made, source, semantics, selection, !is_mixed, record);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace glean::convert
