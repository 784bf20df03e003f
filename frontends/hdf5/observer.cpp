// SPDX-License-Identifier: BSD-3-Clause
#include "observer.hpp"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/mpiio/call.hpp"
#include "frontends/mpiio/session.hpp"

namespace glean::hdf5 {
namespace {

constexpr hid_t whole = 0, as_in_list = 2;   // H5S_ALL; H5S_PLIST, of 1.14
constexpr hid_t default_stack = 0;

// HDF5 prints nothing while this lives, and has no error afterwards: after a call that went well there was none.
class Quiet {
 public:
  explicit Quiet(const Library& library) : library_(library) {
    library.H5Eauto_is_v2(default_stack, &is_second_);
    if (is_second_ != 0) {
      library.H5Eget_auto2(default_stack, &printer_, &data_);
      library.H5Eset_auto2(default_stack, nullptr, nullptr);
    } else if (library.H5Eget_auto1 != nullptr && library.H5Eset_auto1 != nullptr) {
      library.H5Eget_auto1(&printer_, &data_);
      library.H5Eset_auto1(nullptr, nullptr);
    }
  }
  ~Quiet() {
    if (is_second_ != 0) {
      library_.H5Eset_auto2(default_stack, printer_, data_);
    } else if (library_.H5Eset_auto1 != nullptr) {
      library_.H5Eset_auto1(printer_, data_);
    }
    library_.H5Eclear2(default_stack);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  const Library& library_;
  unsigned is_second_ = 1;
  Printer printer_ = nullptr;
  void* data_ = nullptr;
};

// An identifier that is given back.
class Own {
 public:
  Own(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Own() {
    if (id_ >= 0) close_(id_);
  }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Empty: HDF5 does not say.
std::string name_by(ssize_t (*ask)(hid_t, char*, std::size_t), hid_t id) {
  std::array<char, 512> few{};
  const ssize_t length = ask(id, few.data(), few.size());
  if (length <= 0) return {};
  if (static_cast<std::size_t>(length) < few.size()) return {few.data(), static_cast<std::size_t>(length)};
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  ask(id, name.data(), name.size());
  name.pop_back();
  return name;
}

// H5T_class_t in order.
constexpr std::array class_names = {"int",       "float", "time", "string", "bitfield", "opaque",  "compound",
                                    "reference", "enum",  "vlen", "array",  "complex"};

std::string type_name(const Library& library, hid_t type, std::size_t bytes) {
  const int kind = library.H5Tget_class(type);
  if (kind < 0 || kind >= static_cast<int>(class_names.size())) return "other";
  const std::string name = class_names[static_cast<std::size_t>(kind)];
  const std::string bits = std::to_string(8 * bytes);
  if (kind == 0) return (library.H5Tget_sign(type) == 0 ? "u" : "") + name + bits;
  return kind == 1 ? name + bits : name;
}

struct Shape {
  std::vector<std::uint64_t> extents;
  bool is_fixed = true;
};

Shape shape_of(const Library& library, hid_t space) {
  const int dimensions = library.H5Sget_simple_extent_ndims(space);
  if (dimensions <= 0) return {};
  std::vector<hsize_t> extents(static_cast<std::size_t>(dimensions)), most(extents.size());
  library.H5Sget_simple_extent_dims(space, extents.data(), most.data());
  return {{extents.begin(), extents.end()}, extents == most};
}

// What does not change while a dataset is open.
struct Known {
  mpiio::Datasets::Known figures = nullptr;   // null: its file is not captured
  std::size_t element_bytes = 0;
  std::uint64_t elements = 0;
  bool has_fixed_shape = false;               // if not, the report wants to know how large it is now
};

// By identifier: until H5close HDF5 gives none twice. Never held in a call of HDF5, which may wait for another thread in here.
class KnownDatasets {
 public:
  std::optional<Known> find(const Library& library, hid_t dataset) {
    const std::lock_guard hold(lock_);
    const auto found = known_.find({&library, dataset});
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const Library& library, hid_t dataset, const Known& known) {
    const std::lock_guard hold(lock_);
    if (known_.size() >= most) known_.clear();   // of datasets that were closed long ago
    known_[{&library, dataset}] = known;
  }
  void clear() {
    const std::lock_guard hold(lock_);
    known_.clear();
  }

 private:
  static constexpr std::size_t most = 4096;
  std::mutex lock_;
  std::map<std::pair<const Library*, hid_t>, Known> known_;
};

KnownDatasets& known_datasets() {
  static auto& all = *new KnownDatasets;   // calls may come after destructors of statics
  return all;
}

// Elements of a selection in the file.
std::uint64_t selected(const Library& library, hid_t selection, std::uint64_t of_all) {
  if (selection == whole) return of_all;
  const hssize_t elements = library.H5Sget_select_npoints(selection);
  return elements <= 0 ? 0 : static_cast<std::uint64_t>(elements);
}

// Asks everything. `bytes_of(element_bytes, elements of the whole)`.
template <class BytesOf>
void add(mpiio::Session& session, const Library& library, hid_t dataset, BytesOf bytes_of) {
  const Quiet quiet(library);
  const std::string file = name_by(library.H5Fget_name, dataset);
  const auto target = file.empty() ? nullptr : session.find_target(mpiio::Session::absolute(file));
  if (!target) return known_datasets().add(library, dataset, {});
  const Own type(library.H5Dget_type(dataset), library.H5Tclose);
  const Own space(library.H5Dget_space(dataset), library.H5Sclose);
  if (type < 0 || space < 0) return;
  const Shape shape = shape_of(library, space);
  Known known{nullptr, library.H5Tget_size(type), selected(library, space, 0), shape.is_fixed};
  const std::uint64_t bytes = bytes_of(known);
  if (bytes == 0) return;
  std::string name = name_by(library.H5Iget_name, dataset);
  if (name.empty()) name = "(without a name)";
  known.figures =
      mpiio::Session::datasets().add(target->path, name, type_name(library, type, known.element_bytes), shape.extents, bytes);
  known_datasets().add(library, dataset, known);
}

template <class BytesOf>
void observe(const Library& library, hid_t dataset, BytesOf bytes_of) noexcept {
  mpiio::Session* session = mpiio::Session::current();
  if (session == nullptr) return;
  const mpiio::Blocked blocked(*session);
  try {
    const auto known = known_datasets().find(library, dataset);
    if (!known) return add(*session, library, dataset, bytes_of);
    if (known->figures == nullptr) return;
    Known now = *known;
    Shape shape;
    if (!known->has_fixed_shape) {
      const Quiet quiet(library);
      const Own space(library.H5Dget_space(dataset), library.H5Sclose);
      if (space < 0) return;
      shape = shape_of(library, space);
      now.elements = selected(library, space, 0);
    }
    if (const std::uint64_t bytes = bytes_of(now)) mpiio::Session::datasets().add_again(known->figures, shape.extents, bytes);
  } catch (...) {   // no memory: the report has one write less
  }
}

}  // namespace

void wrote(const Library& library, hid_t dataset, hid_t memory_space, hid_t file_space) noexcept {
  // Which part of the file it is may be in the list of properties; then the memory has as many.
  if (file_space == as_in_list && memory_space <= as_in_list) return;
  const hid_t selection = file_space == as_in_list ? memory_space : file_space;
  observe(library, dataset, [&](const Known& known) { return selected(library, selection, known.elements) * known.element_bytes; });
}

void wrote_chunk(const Library& library, hid_t dataset, std::uint64_t bytes) noexcept {
  observe(library, dataset, [&](const Known&) { return bytes; });
}

void closed() noexcept { known_datasets().clear(); }

}  // namespace glean::hdf5
