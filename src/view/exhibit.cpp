// SPDX-License-Identifier: BSD-3-Clause
#include "view/exhibit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"

namespace glean::view {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t summary_elements_max = 1 << 20;
constexpr double volume_side_max = 256;
constexpr std::string_view axis_names[] = {"z", "y", "x"};

// --- requests: what is missing or of another type has its default

std::string text_in(const Json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_in(const Json& request, const char* key, double otherwise) {
  const auto found = request.find(key);
  return found != request.end() && found->is_number() ? found->get<double>() : otherwise;
}

SliceRequest slice_request(const Json& request) {
  SliceRequest wanted;
  const auto side = [&](const char* key) {
    return static_cast<std::uint32_t>(std::clamp(number_in(request, key, 512), 1.0, double{picture_side_max}));
  };
  wanted.axis = static_cast<int>(std::clamp(number_in(request, "axis", 0), 0.0, 1000.0));
  wanted.width_max = side("width");
  wanted.height_max = side("height");
  const auto at = request.find("at");
  if (at != request.end() && at->is_array()) {
    for (const Json& each : *at) wanted.at.push_back(each.is_number() ? each.get<double>() : 0.5);
  }
  return wanted;
}

template <class T>
void append(std::vector<std::byte>& bytes, const std::vector<T>& values) {
  const auto begin = bytes.size();
  bytes.resize(begin + values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(T));
}

template <class T>
bool holds(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Readers of HDF5 give names to dimensions that have none.
std::string axis_name(const DatasetVariable& variable, std::size_t dimension) {
  const bool has_name = dimension < variable.dimensions.size() && !variable.dimensions[dimension].empty() &&
                        !variable.dimensions[dimension].starts_with("phony_dim");
  return has_name ? variable.dimensions[dimension] : fmt::format("dimension {}", dimension);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Exhibit::Exhibit(const Dataset& dataset) : dataset_(dataset), blocks_(find_blocks(dataset)), grids_(find_unstructured(dataset)) {
  std::vector<int> taken;
  if (blocks_) {
    for (const BlockField& field : blocks_->fields) {
      const int first = *std::find_if(field.variables.begin(), field.variables.end(), [](int each) { return each >= 0; });
      Json shape = Json::array(), axes = Json::array();
      for (std::size_t axis = 3 - static_cast<std::size_t>(blocks_->dimensions); axis < 3; ++axis) {
        shape.push_back(blocks_->finest[axis]);
        axes.push_back(axis_names[axis]);
      }
      fields_.push_back({{"name", field.name}, {"kind", "blocks"}, {"units", field.units}, {"shape", shape}, {"axes", axes},
                         {"type", mesh::name_of(dataset.variable(first).type)}});
      taken.insert(taken.end(), field.variables.begin(), field.variables.end());
    }
    taken.insert(taken.end(), blocks_->mesh_variables.begin(), blocks_->mesh_variables.end());
  }
  for (const UnstructuredGrid& grid : grids_) {
    for (const MeshField& field : grid.fields) {
      fields_.push_back({{"name", field.name}, {"kind", "surface"}, {"units", field.units}, {"shape", Json::array()},
                         {"axes", Json::array()}, {"type", mesh::name_of(dataset.variable(field.variable).type)}});
      taken.push_back(field.variable);
    }
    taken.insert(taken.end(), grid.points.begin(), grid.points.end());
    taken.insert(taken.end(), {grid.types, grid.offsets, grid.connectivity, grid.parts[0], grid.parts[1], grid.parts[2]});
  }
  find_arrays(taken);
}

void Exhibit::find_arrays(const std::vector<int>& taken) {
  for (std::size_t v = 0; v < dataset_.variables().size(); ++v) {
    const DatasetVariable& variable = dataset_.variables()[v];
    const int id = static_cast<int>(v);
    if (variable.type == mesh::Type::text || mesh::elements_of(variable.shape) < 2 || holds(taken, id)) continue;
    const bool is_coordinate = variable.dimensions.size() == 1 && variable.dimensions[0] == variable.name;
    std::string name = variable.name;
    if (name.starts_with("VTKHDF/")) {   // of an image its values; the rest says what it is
      const bool is_field = name.starts_with("VTKHDF/CellData/") || name.starts_with("VTKHDF/PointData/");
      if (!is_field || !grids_.empty() || blocks_) continue;
      name = name.substr(name.rfind('/') + 1);
    }
    if (is_coordinate) continue;
    Json axes = Json::array();
    for (std::size_t d = 0; d < variable.shape.size(); ++d) axes.push_back(axis_name(variable, d));
    fields_.push_back({{"name", name}, {"kind", "array"}, {"units", dataset_.text(id, "units").value_or("")}, {"shape", variable.shape},
                       {"axes", axes}, {"type", mesh::name_of(variable.type)}});
    arrays_.push_back({name, id});
  }
}

std::optional<double> Exhibit::time(std::uint64_t record) const {
  for (const char* name : {"time", "VTKHDF/FieldData/TimeValue", "VTKHDF/Steps/Values"}) {
    const auto found = dataset_.find(name);
    if (!found) continue;
    const DatasetVariable& variable = dataset_.variable(*found);
    if (variable.type == mesh::Type::text) continue;
    const std::uint64_t elements = mesh::elements_of(variable.shape);
    if (variable.per_step && (record >= variable.records || elements != 1)) continue;
    if (!variable.per_step && elements <= record && elements != 1) continue;
    const std::vector<double> values = dataset_.all(*found, record);
    return values[elements == 1 ? 0 : record];
  }
  const auto scalars = dataset_.find("scalars");
  for (const int variable : {-1, scalars.value_or(-1)}) {
    const std::vector<double> values = dataset_.numbers(variable, "time");
    if (values.size() == 1) return values[0];
  }
  return std::nullopt;
}

// --- slices

Json Exhibit::axis_of(int variable, int dimension) const {
  const DatasetVariable& known = dataset_.variable(variable);
  const auto d = static_cast<std::size_t>(dimension);
  Json axis{{"name", axis_name(known, d)}, {"length", known.shape[d]}};
  const auto coordinate = d < known.dimensions.size() ? dataset_.find(known.dimensions[d]) : std::nullopt;
  if (!coordinate) return axis;
  const DatasetVariable& along = dataset_.variable(*coordinate);
  if (along.type == mesh::Type::text || along.per_step || along.shape != mesh::Shape{known.shape[d]}) return axis;
  double first = 0, last = 0;
  dataset_.read(*coordinate, 0, {{0}, {1}}, &first);
  dataset_.read(*coordinate, 0, {{known.shape[d] - 1}, {1}}, &last);
  axis["lower"] = number_or_null(first);
  axis["upper"] = number_or_null(last);
  axis["units"] = dataset_.text(*coordinate, "units").value_or("");
  return axis;
}

Answer Exhibit::array_slice(const ArrayField& field, const Json& request, std::uint64_t record) const {
  const SlicePlan plan = plan_slice(dataset_.variable(field.variable).shape, slice_request(request));
  Answer answer;
  append(answer.values, read_slice(dataset_, field.variable, record, plan));
  answer.about = {{"kind", "array"}, {"width", plan.width()}, {"height", plan.height()}, {"column_step", plan.column_step},
                  {"row_step", plan.row_step}, {"place", plan.place}, {"columns", axis_of(field.variable, plan.column_dimension)}};
  if (plan.row_dimension >= 0) answer.about["rows"] = axis_of(field.variable, plan.row_dimension);
  return answer;
}

Answer Exhibit::block_slice(const BlockField& field, const Json& request, std::uint64_t record) const {
  SliceRequest wanted = slice_request(request);
  const auto absent = 3 - static_cast<std::size_t>(blocks_->dimensions);   // the page counts the axes that there are
  wanted.axis += static_cast<int>(absent);
  wanted.at.insert(wanted.at.begin(), absent, 0.5);
  const BlockPicture picture = draw_blocks(dataset_, *blocks_, field, record, wanted);
  Answer answer;
  append(answer.values, picture.values);
  const auto axis = [&](int which) {
    const auto a = static_cast<std::size_t>(which);
    return Json{{"name", axis_names[a]}, {"length", blocks_->finest[a]}, {"lower", blocks_->lower[a]}, {"upper", blocks_->upper[a]},
                {"are_edges", true}};
  };
  const auto column = static_cast<std::size_t>(picture.column_axis);
  answer.about = {{"kind", "blocks"}, {"width", picture.width}, {"height", picture.height}, {"boxes", picture.boxes},
                  {"column_step", (blocks_->finest[column] + picture.width - 1) / picture.width}, {"row_step", 1},
                  {"position", picture.position}, {"columns", axis(picture.column_axis)}};
  if (picture.row_axis >= 0) {
    answer.about["rows"] = axis(picture.row_axis);
    answer.about["row_step"] = (blocks_->finest[static_cast<std::size_t>(picture.row_axis)] + picture.height - 1) / picture.height;
  }
  return answer;
}

Answer Exhibit::slice(const Json& request, std::uint64_t record) const {
  const std::string name = text_in(request, "variable");
  if (blocks_) {
    for (const BlockField& field : blocks_->fields) {
      if (field.name == name) return block_slice(field, request, record);
    }
  }
  for (const ArrayField& field : arrays_) {
    if (field.name == name) return array_slice(field, request, record);
  }
  throw base::Error(base::Errc::not_found, "this step has no variable '" + name + "' of which there are slices");
}

// Plane after plane, so that no more is held than the result.
Answer Exhibit::volume(const Json& request, std::uint64_t record) const {
  const std::string name = text_in(request, "variable");
  const auto known = std::find_if(fields_.begin(), fields_.end(), [&](const Json& each) { return each["name"] == name; });
  if (known == fields_.end()) throw base::Error(base::Errc::not_found, "this step has no variable '" + name + "'");
  if ((*known)["shape"].size() != 3) throw base::Error(base::Errc::unsupported, "'" + name + "' is no array of three dimensions");
  const double side = std::clamp(number_in(request, "side", 128), 1.0, volume_side_max);
  const auto planes = (*known)["shape"][0].get<std::uint64_t>();
  const std::uint64_t step = (planes + static_cast<std::uint64_t>(side) - 1) / static_cast<std::uint64_t>(side);
  Answer all;
  std::uint64_t shown = 0;
  Json first;
  for (std::uint64_t plane = 0; plane < planes; plane += step, ++shown) {
    const double at = (static_cast<double>(plane) + 0.5) / static_cast<double>(planes);
    Answer each = slice({{"variable", name}, {"axis", 0}, {"at", {at, 0.5, 0.5}}, {"width", side}, {"height", side}}, record);
    all.values.insert(all.values.end(), each.values.begin(), each.values.end());
    if (shown == 0) first = std::move(each.about);
  }
  all.about = {{"kind", "volume"}, {"shape", {shown, first["height"], first["width"]}},
               {"steps_of_axes", {step, first["row_step"], first["column_step"]}}, {"rows", first["rows"]},
               {"columns", first["columns"]}, {"planes", planes_of(name, planes)}};
  return all;
}

// The axis that a volume is cut across.
Json Exhibit::planes_of(const std::string& name, std::uint64_t planes) const {
  for (const ArrayField& field : arrays_) {
    if (field.name == name) return axis_of(field.variable, 0);
  }
  return {{"name", axis_names[0]}, {"length", planes}, {"lower", blocks_->lower[0]}, {"upper", blocks_->upper[0]}, {"are_edges", true}};
}

Answer Exhibit::surface(const Json& request, std::uint64_t record) const {
  const std::string name = text_in(request, "variable");
  for (const UnstructuredGrid& grid : grids_) {
    for (const MeshField& field : grid.fields) {
      if (field.name != name) continue;
      const Surface surface = surface_of(dataset_, grid, record);
      Answer answer;
      append(answer.values, surface.positions);
      append(answer.values, values_on(dataset_, field, record, surface));
      append(answer.values, surface.triangles);
      answer.about = {{"kind", "surface"}, {"corners", surface.points.size()}, {"triangles", surface.triangles.size() / 3},
                      {"cells", surface.cells_of_mesh}, {"points", surface.points_of_mesh}, {"components", field.components},
                      {"on", field.is_of_points ? "points" : "cells"}};
      return answer;
    }
  }
  throw base::Error(base::Errc::not_found, "this step has no variable '" + name + "' on a mesh");
}

Answer Exhibit::show(const std::string& what, const Json& request, std::uint64_t record) const {
  return what == "surface" ? surface(request, record) : what == "volume" ? volume(request, record) : slice(request, record);
}

// --- statistics

std::vector<int> Exhibit::variables_of(const std::string& name) const {
  if (blocks_) {
    for (const BlockField& field : blocks_->fields) {
      if (field.name == name) return field.variables;
    }
  }
  for (const UnstructuredGrid& grid : grids_) {
    for (const MeshField& field : grid.fields) {
      if (field.name == name) return {field.variable};
    }
  }
  for (const ArrayField& field : arrays_) {
    if (field.name == name) return {field.variable};
  }
  return {};
}

Json Exhibit::summary(const std::string& name, std::uint64_t record) const {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest, sum = 0;
  std::uint64_t count = 0, none = 0, skipped = 1;
  std::vector<double> values;
  for (const int variable : variables_of(name)) {
    if (variable < 0) continue;
    const mesh::Shape& shape = dataset_.variable(variable).shape;
    const std::uint64_t elements = mesh::elements_of(shape);
    if (elements == 0) continue;
    // Planes of the first dimension: every n-th, so that not more than so many values are read.
    const std::uint64_t step = shape[0] < 2 ? 1 : std::clamp<std::uint64_t>(elements / summary_elements_max, 1, shape[0]);
    skipped = std::max(skipped, step);
    for (std::uint64_t plane = 0; plane < shape[0]; plane += step) {
      mesh::Box box = mesh::whole(shape);
      box.start[0] = plane;
      box.count[0] = step == 1 ? shape[0] : 1;
      values.resize(box.elements());
      dataset_.read(variable, record, box, values.data());
      for (const double value : values) {
        if (!std::isfinite(value)) {
          ++none;
          continue;
        }
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
        sum += value;
        ++count;
      }
      if (step == 1) break;
    }
  }
  if (count == 0) return {{"minimum", nullptr}, {"maximum", nullptr}, {"mean", nullptr}, {"not_finite", none}, {"every", skipped}};
  return {{"minimum", lowest}, {"maximum", highest}, {"mean", sum / static_cast<double>(count)}, {"not_finite", none}, {"every", skipped}};
}

}  // namespace glean::view
