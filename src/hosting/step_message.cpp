// SPDX-License-Identifier: BSD-3-Clause
#include "hosting/step_message.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace glean::hosting {
namespace {

using nlohmann::json;

constexpr std::size_t values_max = 10'000, messages_max = 1000, name_max = 256, text_max = 4096;

template <class Number>
json numbers(const std::vector<std::byte>& bytes) {
  json list = json::array();
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    list.push_back(value);
  }
  return list;
}

json values_of(const mesh::Attribute& attribute) {
  switch (attribute.type) {
    case mesh::Type::int8: return numbers<std::int8_t>(attribute.values);
    case mesh::Type::uint8: return numbers<std::uint8_t>(attribute.values);
    case mesh::Type::int16: return numbers<std::int16_t>(attribute.values);
    case mesh::Type::uint16: return numbers<std::uint16_t>(attribute.values);
    case mesh::Type::int32: return numbers<std::int32_t>(attribute.values);
    case mesh::Type::uint32: return numbers<std::uint32_t>(attribute.values);
    case mesh::Type::int64: return numbers<std::int64_t>(attribute.values);
    case mesh::Type::uint64: return numbers<std::uint64_t>(attribute.values);
    case mesh::Type::float32: return numbers<float>(attribute.values);
    case mesh::Type::float64: return numbers<double>(attribute.values);
    case mesh::Type::text: break;
  }
  return std::string(reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size());
}

json encoded(const std::vector<mesh::Attribute>& attributes) {
  json all = json::object();
  for (const mesh::Attribute& each : attributes) all[each.name] = values_of(each);
  return all;
}

// Texts are as they are; numbers come back as double.
std::vector<mesh::Attribute> attributes_of(const json& all) {
  std::vector<mesh::Attribute> attributes;
  for (const auto& [name, values] : all.items()) {
    mesh::Attribute attribute;
    attribute.name = name;
    if (values.is_string()) {
      const auto text = values.get<std::string>();
      const auto bytes = std::as_bytes(std::span(text));
      attribute.values.assign(bytes.begin(), bytes.end());
    } else {
      attribute.type = mesh::Type::float64;
      for (const json& each : values) {
        const double value = each.is_null() ? std::nan("") : each.get<double>();
        const auto bytes = std::as_bytes(std::span(&value, 1));
        attribute.values.insert(attribute.values.end(), bytes.begin(), bytes.end());
      }
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

mesh::Type type_named(const std::string& name) {
  for (int i = 0; i < mesh::type_count; ++i) {
    if (mesh::name_of(static_cast<mesh::Type>(i)) == name) return static_cast<mesh::Type>(i);
  }
  throw base::Error(base::Errc::io, "there is no type '" + name + "'");
}

std::string dumped(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class Read>
auto read(const std::string& message, Read&& how) {
  try {
    return how(json::parse(message));
  } catch (const json::exception& error) {
    throw base::Error(base::Errc::io, std::string("a message between a drain and an analysis is damaged: ") + error.what());
  }
}

void add_boxes(const mesh::Box& box, std::size_t dimension, mesh::Box at, std::uint64_t first, std::uint64_t count,
               std::vector<mesh::Box>& boxes) {
  if (count == 0) return;
  if (dimension == box.count.size()) {
    boxes.push_back(std::move(at));
    return;
  }
  std::uint64_t each = 1;   // elements of an index of this dimension
  for (std::size_t i = dimension + 1; i < box.count.size(); ++i) each *= box.count[i];
  const auto part_of_one = [&](std::uint64_t begin, std::uint64_t elements) {
    mesh::Box inner = at;
    inner.start[dimension] = box.start[dimension] + begin / each;
    inner.count[dimension] = 1;
    add_boxes(box, dimension + 1, std::move(inner), begin % each, elements, boxes);
  };
  if (first % each != 0) {
    const std::uint64_t head = std::min(count, each - first % each);
    part_of_one(first, head);
    first += head, count -= head;
  }
  if (const std::uint64_t whole = count / each; whole != 0) {
    at.start[dimension] = box.start[dimension] + first / each;
    at.count[dimension] = whole;
    for (std::size_t i = dimension + 1; i < box.count.size(); ++i) at.start[i] = box.start[i], at.count[i] = box.count[i];
    boxes.push_back(at);
    first += whole * each, count -= whole * each;
  }
  if (count != 0) part_of_one(first, count);
}

}  // namespace

std::vector<mesh::Box> boxes_of_run(const mesh::Box& box, std::uint64_t first, std::uint64_t count) {
  std::vector<mesh::Box> boxes;
  add_boxes(box, 0, box, first, count, boxes);
  return boxes;
}

std::string SeenStep::encode() const {
  json message{{"output", output}, {"file", file}, {"step", step}, {"attributes", encoded(attributes)}, {"variables", json::array()}};
  for (const SeenVariable& each : variables) {
    json variable{{"name", each.name}, {"type", mesh::name_of(each.type)}, {"per_step", each.per_step}, {"shape", each.shape},
                  {"attributes", encoded(each.attributes)}, {"pieces", json::array()}};
    for (const SeenPiece& piece : each.pieces) {
      variable["pieces"].push_back({{"start", piece.box.start}, {"count", piece.box.count}, {"rank", piece.rank},
                                    {"offset", piece.pool_offset}, {"type", mesh::name_of(piece.type)},
                                    {"big", piece.is_big_endian}});
    }
    message["variables"].push_back(std::move(variable));
  }
  return dumped(message);
}

SeenStep SeenStep::decode(const std::string& message) {
  return read(message, [](const json& said) {
    SeenStep step{said.at("output"), said.at("file"), said.at("step"), attributes_of(said.at("attributes")), {}};
    for (const json& each : said.at("variables")) {
      SeenVariable variable{each.at("name"), type_named(each.at("type")), each.at("per_step"), each.at("shape"),
                            attributes_of(each.at("attributes")), {}};
      for (const json& piece : each.at("pieces")) {
        variable.pieces.push_back({{piece.at("start"), piece.at("count")}, piece.at("rank"), piece.at("offset"),
                                   type_named(piece.at("type")), piece.at("big")});
      }
      step.variables.push_back(std::move(variable));
    }
    return step;
  });
}

std::string Welcome::encode() const { return dumped({{"file", file}, {"pool", pool}, {"node", node}, {"nodes", nodes}}); }

Welcome Welcome::decode(const std::string& message) {
  return read(message, [](const json& said) {
    return Welcome{said.at("file"), said.at("pool"), said.at("node"), said.at("nodes")};
  });
}

// Numbers go as text: JSON has no NaN.
std::string Answer::encode() const {
  json message{{"values", json::array()}, {"messages", messages}, {"error", error}};
  for (const Value& each : values) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", each.value);
    message["values"].push_back({each.name, text, each.join});
  }
  return dumped(message);
}

Answer Answer::decode(const std::string& message) {
  return read(message, [](const json& said) {
    Answer answer;
    answer.error = said.value("error", std::string()).substr(0, text_max);
    const json values = said.value("values", json::array()), messages = said.value("messages", json::array());
    if (values.size() > values_max || messages.size() > messages_max) {
      throw base::Error(base::Errc::io, "it returns too much of a step: 10000 numbers and 1000 messages are the most");
    }
    for (const json& each : values) {
      const auto text = each.at(1).get<std::string>();
      char* end = nullptr;
      Value value{each.at(0), std::strtod(text.c_str(), &end), each.at(2)};
      if (end != text.c_str() + text.size() || text.empty() || value.name.empty() || value.name.size() > name_max) {
        throw base::Error(base::Errc::io, "it returns something that is no number with a name");
      }
      answer.values.push_back(std::move(value));
    }
    for (const json& each : messages) answer.messages.push_back(each.get<std::string>().substr(0, text_max));
    return answer;
  });
}

}  // namespace glean::hosting
