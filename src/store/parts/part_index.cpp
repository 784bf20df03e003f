// SPDX-License-Identifier: BSD-3-Clause
#include "store/parts/part_index.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "store/posix/input_file.hpp"
#include "store/posix/small_file.hpp"

namespace glean::store {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* format_name = "glean-part-index";
constexpr int index_version = 2;
constexpr std::array<const char*, 2> byte_orders = {"big", "little"};

[[noreturn]] void refuse(const std::string& why) { throw base::Error(base::Errc::io, "the index is damaged: " + why); }

mesh::Type type_named(const std::string& name) {
  for (int type = 0; type < mesh::type_count; ++type) {
    if (mesh::name_of(static_cast<mesh::Type>(type)) == name) return static_cast<mesh::Type>(type);
  }
  refuse("there is no type '" + name + "'");
}

ByteOrder order_named(const std::string& name) {
  for (std::size_t i = 0; i < byte_orders.size(); ++i) {
    if (name == byte_orders[i]) return static_cast<ByteOrder>(i);
  }
  refuse("there is no byte order '" + name + "'");
}

// Two hexadecimal digits a byte, as it is in the file.
std::string hexadecimal(const VariableLayout& variable) {
  std::string text;
  for (std::size_t i = 0; i < mesh::size_of(variable.external); ++i) {
    text += fmt::format("{:02x}", std::to_integer<int>(variable.fill_value[i]));
  }
  return text;
}

void read_fill_value(const std::string& text, VariableLayout& variable) {
  const std::size_t size = mesh::size_of(variable.external);
  bool good = text.size() == 2 * size;
  for (std::size_t i = 0; good && i < size; ++i) {
    unsigned value = 0;
    const char* digits = text.data() + 2 * i;
    good = std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    variable.fill_value[i] = static_cast<std::byte>(value);
  }
  if (!good) refuse("the fill value of '" + variable.name + "' is none of its type");
}

ordered_json to_json(const VariableLayout& variable, const std::vector<mesh::Box>& boxes) {
  ordered_json result{{"name", variable.name},
                      {"type", mesh::name_of(variable.external)},
                      {"shape", variable.shape},
                      {"begin", variable.begin_bytes},
                      {"record_stride", variable.record_stride_bytes},
                      {"fill", variable.fill},
                      {"fill_value", hexadecimal(variable)},
                      {"byte_order", byte_orders[static_cast<std::size_t>(variable.stored.order)]},
                      {"boxes", ordered_json::array()}};
  for (const mesh::Box& box : boxes) result["boxes"].push_back(ordered_json::array({box.start, box.count}));
  return result;
}

VariableLayout variable_of(const json& from) {
  VariableLayout variable;
  variable.name = from.at("name").get<std::string>();
  variable.external = type_named(from.at("type").get<std::string>());
  variable.shape = from.at("shape").get<mesh::Shape>();
  variable.begin_bytes = from.at("begin").get<Bytes>();
  variable.record_stride_bytes = from.at("record_stride").get<Bytes>();
  variable.fill = from.at("fill").get<bool>();
  read_fill_value(from.at("fill_value").get<std::string>(), variable);
  variable.stored.order = order_named(from.at("byte_order").get<std::string>());
  return variable;
}

std::vector<mesh::Box> boxes_of(const json& from, const VariableLayout& variable) {
  std::vector<mesh::Box> boxes;
  for (const json& each : from.at("boxes")) {
    mesh::Box box{each.at(0).get<mesh::Shape>(), each.at(1).get<mesh::Shape>()};
    const std::size_t dimensions = variable.shape.size();
    if (box.start.size() != dimensions || box.count.size() != dimensions || box.empty() || !mesh::whole(variable.shape).contains(box)) {
      refuse("a box does not lie in '" + variable.name + "'");
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

PartIndex index_of(const json& from) {
  if (from.at("format") != format_name) refuse("it does not begin like one");
  if (from.at("version") != index_version) refuse(fmt::format("its version is {}", from.at("version").dump()));
  PartIndex index;
  index.output = from.at("output").get<std::string>();
  index.part = from.at("part").get<int>();
  index.parts = from.at("parts").get<int>();
  if (index.part < 0 || index.part >= index.parts) refuse(fmt::format("there is no part {} of {}", index.part, index.parts));
  if (!from.at("steps").is_null()) index.steps = from.at("steps").get<std::uint64_t>();
  index.layout.format = from.at("file_format").get<std::string>();
  index.layout.header_bytes = from.at("header_bytes").get<Bytes>();
  for (const json& each : from.at("variables")) {
    index.layout.variables.push_back(variable_of(each));
    index.boxes.push_back(boxes_of(each, index.layout.variables.back()));
  }
  static_cast<void>(FileLayout::decode(index.layout.encode()));   // throws where no file can be so
  return index;
}

// Under which an index is written before it gets its name.
std::string new_index_path(const FileNames& part) { return index_path(part.working_path) + ".new"; }

void write(SystemCalls& calls, const FileNames& part, const std::string& path, const PartIndex& index) {
  replace_small_file(calls, new_index_path(part), path, index.encode());
}

}  // namespace

std::string PartIndex::encode() const {
  ordered_json document{{"format", format_name},
                        {"version", index_version},
                        {"output", output},
                        {"part", part},
                        {"parts", parts},
                        {"steps", steps ? ordered_json(*steps) : ordered_json()},
                        {"file_format", layout.format},
                        {"header_bytes", layout.header_bytes},
                        {"variables", ordered_json::array()}};
  for (std::size_t v = 0; v < layout.variables.size(); ++v) document["variables"].push_back(to_json(layout.variables[v], boxes[v]));
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

PartIndex PartIndex::decode(const std::string& text) {
  try {
    return index_of(json::parse(text));
  } catch (const json::exception& error) {
    refuse(error.what());
  }
}

std::string part_path(const std::string& path, int part, int parts) { return fmt::format("{}.{}of{}", path, part, parts); }

std::optional<PartName> parse_part_path(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  PartName name{.path = path.substr(0, dot)};
  const char* const end = path.data() + path.size();
  const auto part = std::from_chars(path.data() + dot + 1, end, name.part);
  if (part.ec != std::errc{} || !std::string_view(part.ptr).starts_with("of")) return std::nullopt;
  const auto parts = std::from_chars(part.ptr + 2, end, name.parts);
  const bool can_be = parts.ec == std::errc{} && name.part >= 0 && name.part < name.parts;
  return can_be && part_path(name.path, name.part, name.parts) == path ? std::optional(name) : std::nullopt;
}

std::string index_path(const std::string& part) { return part + ".index"; }

void prepare_index(SystemCalls& calls, const FileNames& part, const PartIndex& index) {
  write(calls, part, index_path(part.working_path), index);
}

void publish_index(SystemCalls& calls, const FileNames& part, std::uint64_t steps) {
  const std::string working = index_path(part.working_path), path = index_path(part.final_path);
  // A process that was killed between this and the publishing of the part has done it.
  if (!std::filesystem::exists(working) && std::filesystem::exists(path)) return;
  PartIndex index = read_index(calls, part.working_path);
  index.steps = steps;
  write(calls, part, path, index);
  calls.unlink(working.c_str());
}

void discard_index(SystemCalls& calls, const FileNames& part) noexcept {
  calls.unlink(index_path(part.working_path).c_str());
  calls.unlink(new_index_path(part).c_str());
}

PartIndex read_index(SystemCalls& calls, const std::string& part) {
  const std::string path = index_path(part);
  const std::vector<std::byte> content = InputFile(calls, path).read_all();
  try {
    return PartIndex::decode({reinterpret_cast<const char*>(content.data()), content.size()});
  } catch (const base::Error& error) {
    throw base::Error(error.code(), fmt::format("'{}': {}", path, error.what()));
  }
}

}  // namespace glean::store
