// SPDX-License-Identifier: BSD-3-Clause
#include "topology/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <sstream>
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/units.hpp"

namespace glean::topology {
namespace {

// -- what each table has; `Fields` reads or writes

template <class Fields>
void describe(Fields& fields, NodeKind& node) {
  fields.number("cores", node.cores);
  fields.number("numa_nodes", node.numa_nodes);
  fields.bytes("memory", node.memory_bytes);
  fields.rate("copy_rate", node.copy_bytes_per_second);
  fields.rate("memory_rate", node.memory_bytes_per_second);
  fields.rate("receive_rate", node.receive_bytes_per_second);
}

template <class Fields>
void describe(Fields& fields, TorusPart& part) {
  fields.numbers("extents", part.extents);
  fields.flags("wraps", part.wraps);
  fields.numbers("route_order", part.route_order);
}

template <class Fields>
void describe(Fields& fields, Torus& torus) {
  fields.numbers("extents", torus.extents);
  fields.flags("wraps", torus.wraps);
  fields.numbers("route_order", torus.route_order);
  fields.numbers("ties", torus.ties);
  fields.number("nodes", torus.nodes);
  fields.rate("link_rate", torus.link_bytes_per_second);
  fields.rates("dimension_rates", torus.dimension_bytes_per_second);
  fields.tables("partition", torus.partitions);
}

template <class Fields>
void describe(Fields& fields, FatTree::Level& level) {
  fields.number("down", level.down);
  fields.number("up", level.up);
  fields.rate("link_rate", level.link_bytes_per_second);
}

template <class Fields>
void describe(Fields& fields, FatTree& tree) {
  fields.number("nodes", tree.nodes);
  fields.tables("level", tree.levels);
}

template <class Fields>
void describe(Fields& fields, Dragonfly& dragonfly) {
  fields.number("groups", dragonfly.groups);
  fields.number("routers_per_group", dragonfly.routers_per_group);
  fields.number("nodes_per_router", dragonfly.nodes_per_router);
  fields.number("nodes", dragonfly.nodes);
  fields.rate("node_rate", dragonfly.node_bytes_per_second);
  fields.rate("local_rate", dragonfly.local_bytes_per_second);
  fields.rate("global_rate", dragonfly.global_bytes_per_second);
}

const std::vector<std::string> network_kinds = {"torus", "fat-tree", "dragonfly"};   // in the order of the variant

Network network_of_kind(const std::string& kind) {
  if (kind == network_kinds[1]) return FatTree{};
  if (kind == network_kinds[2]) return Dragonfly{};
  return Torus{};
}

template <class Fields>
void describe(Fields& fields, Network& network) {
  std::string kind = network_kinds[network.index()];
  fields.choice("kind", kind, network_kinds);
  if (kind != network_kinds[network.index()]) network = network_of_kind(kind);
  std::visit([&](auto& chosen) { describe(fields, chosen); }, network);
}

template <class Fields>
void describe(Fields& fields, WayOut& way_out) {
  fields.numbers("group_extents", way_out.group_extents);
  fields.number("nodes_per_group", way_out.nodes_per_group);
  fields.positions("gateways", way_out.gateways);
  fields.numbers("default_gateway", way_out.default_gateway);
  fields.rate("gateway_rate", way_out.gateway_bytes_per_second);
  fields.rate("tree_rate", way_out.tree_bytes_per_second);
  fields.rate("group_rate", way_out.group_bytes_per_second);
  fields.seconds("message_time", way_out.message_seconds);
  fields.number("concurrent_messages", way_out.concurrent_messages);
}

template <class Fields>
void describe(Fields& fields, FileSystem& file_system) {
  fields.text("name", file_system.name);
  fields.bytes("block", file_system.block_bytes);
  fields.number("stripe_count", file_system.stripe_count);
  fields.bytes("stripe", file_system.stripe_bytes);
  fields.number("targets", file_system.targets);
  fields.rate("rate", file_system.bytes_per_second);
  fields.rate("target_rate", file_system.target_bytes_per_second);
  fields.seconds("request_time", file_system.request_seconds);
  fields.seconds("create_time", file_system.create_seconds);
  fields.rate("sustained_rate", file_system.sustained_bytes_per_second);
  fields.seconds("lock_time", file_system.lock_seconds);
  fields.seconds("directory_create_time", file_system.directory_create_seconds);
}

template <class Fields>
void describe(Fields& fields, Staging& staging) {
  fields.number("nodes", staging.nodes);
  fields.rate("rate", staging.bytes_per_second);
  fields.rate("network_rate", staging.network_bytes_per_second);
}

template <class Fields>
void describe(Fields& fields, Machine& machine) {
  fields.text("name", machine.name);
  fields.text("description", machine.description);
  fields.seconds("message_time", machine.message_seconds);
  fields.bytes("offset_bytes", machine.offset_bytes);
  fields.number("collective_aggregators", machine.collective_aggregators);
  fields.table("node", machine.node);
  fields.table("network", machine.network);
  fields.table("way_out", machine.way_out);
  fields.table("file_system", machine.file_system);
  if (machine.staging != Staging{} || Fields::reads) fields.table("staging", machine.staging);
}

// -- one value of the file; nullopt where it is another kind of thing

template <class Integer>
std::optional<Integer> integer_of(const toml::node& node) {
  const auto* number = node.as_integer();
  if (!number || number->get() < std::numeric_limits<Integer>::min() || number->get() > std::numeric_limits<Integer>::max()) {
    return std::nullopt;
  }
  return static_cast<Integer>(number->get());
}

std::optional<std::string> text_of(const toml::node& node) { return node.value_exact<std::string>(); }

std::optional<bool> flag_of(const toml::node& node) { return node.value_exact<bool>(); }

// The text of a figure that ends in a unit.
std::optional<std::string> with_unit(const toml::node& node) {
  auto text = text_of(node);
  if (text && !text->empty() && std::isalpha(static_cast<unsigned char>(text->back())) == 0) return std::nullopt;
  return text;
}

std::optional<Bytes> bytes_of(const toml::node& node) {
  const auto text = with_unit(node);
  return text ? base::parse_bytes(*text) : std::nullopt;
}

std::optional<double> rate_of(const toml::node& node) {
  const auto text = with_unit(node);
  return text ? base::parse_rate(*text) : std::nullopt;
}

std::optional<double> seconds_of(const toml::node& node) {
  const auto text = with_unit(node);
  return text ? base::parse_seconds(*text) : std::nullopt;
}

template <class Element, class Convert>
std::optional<std::vector<Element>> list_of(const toml::node& node, Convert convert) {
  const auto* array = node.as_array();
  if (!array) return std::nullopt;
  std::vector<Element> list;
  for (const toml::node& each : *array) {
    const std::optional<Element> element = convert(each);
    if (!element) return std::nullopt;
    list.push_back(*element);
  }
  return list;
}

std::optional<std::vector<int>> numbers_of(const toml::node& node) { return list_of<int>(node, integer_of<int>); }

// -- from TOML

struct Problems {
  std::string origin;
  std::vector<std::string> lines{};
  void add(const toml::source_region& place, const std::string& what) {
    lines.push_back(fmt::format("{}:{}: {}", origin, place.begin.line, what));
  }
};

class TableReader {
 public:
  static constexpr bool reads = true;

  TableReader(const toml::table& table, std::string prefix, Problems& problems)
      : table_(table), prefix_(std::move(prefix)), problems_(problems) {}

  void number(const char* key, int& value) { read(key, value, "a whole number", integer_of<int>); }
  void number(const char* key, std::int64_t& value) { read(key, value, "a whole number", integer_of<std::int64_t>); }
  void text(const char* key, std::string& value) { read(key, value, "a text", text_of); }
  void bytes(const char* key, Bytes& value) { read(key, value, "bytes with their unit, such as \"8MiB\"", bytes_of); }
  void rate(const char* key, double& value) { read(key, value, a_rate, rate_of); }
  void seconds(const char* key, double& value) { read(key, value, "a time with its unit, such as \"20us\"", seconds_of); }
  void numbers(const char* key, std::vector<int>& value) { read(key, value, "whole numbers, such as [4, 4]", numbers_of); }
  void flags(const char* key, std::vector<bool>& value) {
    read(key, value, "true and false, such as [true, false]", [](const toml::node& node) { return list_of<bool>(node, flag_of); });
  }
  void rates(const char* key, std::vector<double>& value) {
    read(key, value, "a list of rates", [](const toml::node& node) { return list_of<double>(node, rate_of); });
  }
  void positions(const char* key, std::vector<std::vector<int>>& value) {
    read(key, value, "a list of positions, such as [[0, 0], [0, 1]]",
         [](const toml::node& node) { return list_of<std::vector<int>>(node, numbers_of); });
  }

  void choice(const char* key, std::string& value, const std::vector<std::string>& choices) {
    const std::string before = value;
    text(key, value);
    if (!table_.contains(key)) {
      problems_.add(table_.source(), fmt::format("{}{} is missing; it is one of {}", prefix_, key, fmt::join(choices, ", ")));
    } else if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      problems_.add(table_.get(key)->source(),
                    fmt::format("unknown {}{} '{}'; did you mean '{}'?", prefix_, key, value, base::nearest(value, choices)));
      value = before;
    }
  }

  template <class Part>
  void table(const char* key, Part& part) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (!node) return;
    if (const auto* inner = node->as_table()) {
      read_part(*inner, key, part);
    } else {
      refuse(*node, key, fmt::format("a table, [{}{}]", prefix_, key));
    }
  }

  template <class Part>
  void tables(const char* key, std::vector<Part>& parts) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (!node) return;
    const auto* array = node->as_array();
    if (!array || !array->is_array_of_tables()) {
      refuse(*node, key, fmt::format("tables, [[{}{}]]", prefix_, key));
      return;
    }
    for (const toml::node& each : *array) read_part(*each.as_table(), key, parts.emplace_back());
  }

  // After all: what was not asked for.
  void refuse_unknown_keys() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      problems_.add(key.source(), fmt::format("unknown key '{}{}'; did you mean '{}{}'?", prefix_, name, prefix_,
                                              base::nearest(name, known_)));
    }
  }

 private:
  static constexpr const char* a_rate = "a rate with its unit, such as \"425MB/s\"";

  void refuse(const toml::node& node, const char* key, std::string_view takes) {
    problems_.add(node.source(), fmt::format("{}{} takes {}", prefix_, key, takes));
  }

  template <class Value, class Convert>
  void read(const char* key, Value& value, std::string_view takes, Convert convert) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (!node) return;
    if (const std::optional<Value> converted = convert(*node)) {
      value = *converted;
    } else {
      refuse(*node, key, takes);
    }
  }

  template <class Part>
  void read_part(const toml::table& inner, const char* key, Part& part) {
    TableReader reader(inner, prefix_ + key + ".", problems_);
    describe(reader, part);
    reader.refuse_unknown_keys();
  }

  const toml::table& table_;
  std::string prefix_;   // "network.level."
  Problems& problems_;
  std::vector<std::string> known_;
};

// -- to TOML

class TableWriter {
 public:
  static constexpr bool reads = false;

  explicit TableWriter(std::string prefix) : prefix_(std::move(prefix)) {}

  template <class Integer>
  void number(const char* key, Integer value) {
    if (value != 0) line(key, fmt::format("{}", value));
  }
  void text(const char* key, const std::string& value) {
    if (!value.empty()) line(key, quoted(value));
  }
  void bytes(const char* key, Bytes value) {
    if (value != 0) line(key, quoted(base::exact_bytes(value)));
  }
  void rate(const char* key, double value) {
    if (value != 0) line(key, quoted(base::exact_rate(value)));
  }
  void seconds(const char* key, double value) {
    if (value != 0) line(key, quoted(base::exact_seconds(value)));
  }
  void numbers(const char* key, const std::vector<int>& value) {
    if (!value.empty()) line(key, fmt::format("{}", value));
  }
  void flags(const char* key, const std::vector<bool>& value) {
    if (!value.empty()) line(key, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void rates(const char* key, const std::vector<double>& value) {
    std::vector<std::string> texts;
    for (const double each : value) texts.push_back(quoted(base::exact_rate(each)));
    if (!texts.empty()) line(key, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  void positions(const char* key, const std::vector<std::vector<int>>& value) {
    if (!value.empty()) line(key, fmt::format("{}", value));
  }
  void choice(const char* key, const std::string& value, const std::vector<std::string>& /*choices*/) { text(key, value); }

  template <class Part>
  void table(const char* key, Part& part) {
    write_part(fmt::format("\n[{}{}]\n", prefix_, key), key, part);
  }
  template <class Part>
  void tables(const char* key, std::vector<Part>& parts) {
    for (Part& part : parts) write_part(fmt::format("\n[[{}{}]]\n", prefix_, key), key, part);
  }

  [[nodiscard]] const std::string& written() const { return text_; }

 private:
  static std::string quoted(const std::string& value) {
    std::ostringstream stream;
    stream << toml::value<std::string>(value);
    return stream.str();
  }

  void line(const char* key, const std::string& value) { text_ += fmt::format("{} = {}\n", key, value); }

  template <class Part>
  void write_part(const std::string& head, const char* key, Part& part) {
    TableWriter writer(prefix_ + key + ".");
    describe(writer, part);
    text_ += head + writer.written();
  }

  std::string prefix_;
  std::string text_;
};

}  // namespace

Machine machine_from_toml(std::string_view text, const std::string& origin) {
  Problems problems{.origin = origin};
  Machine machine;
  try {
    const toml::table root = toml::parse(text);
    TableReader reader(root, "", problems);
    describe(reader, machine);
    reader.refuse_unknown_keys();
    if (!root.contains("network")) problems.lines.push_back(origin + ": a machine has a [network]");
  } catch (const toml::parse_error& error) {
    problems.add(error.source(), std::string(error.description()));
  }
  if (problems.lines.empty()) {
    for (const std::string& problem : problems_of(machine)) problems.lines.push_back(origin + ": " + problem);
  }
  if (problems.lines.empty()) return machine;
  const std::string head =
      problems.lines.size() == 1 ? "machine: " : fmt::format("machine, {} problems:\n  ", problems.lines.size());
  throw base::Error(base::Errc::invalid_config, head + fmt::format("{}", fmt::join(problems.lines, "\n  ")),
                    "glean-machine(5) describes all keys");
}

std::string to_toml(const Machine& machine) {
  TableWriter writer("");
  Machine copy = machine;
  describe(writer, copy);
  return writer.written();
}

std::string to_json(const Machine& machine) {
  const toml::table table = toml::parse(to_toml(machine));
  std::ostringstream stream;
  stream << toml::json_formatter(table);
  return stream.str();
}

}  // namespace glean::topology
