// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "topology/text.hpp"

namespace glean::calibrate {
namespace {

// Three digits: what was measured is not known better. As a machine file says them.
double rounded_rate(double bytes_per_second) { return base::parse_rate(base::readable_rate(bytes_per_second)).value_or(bytes_per_second); }

double rounded_seconds(double seconds) {
  if (seconds <= 0) return 0;
  const std::string text = seconds < 1e-3 ? fmt::format("{:.3g}us", seconds * 1e6) : fmt::format("{:.3g}s", seconds);
  return base::parse_seconds(text).value_or(seconds);
}

const Figure& best_of(const Calibration& calibration) {
  const Figure* best = &calibration.one_writer;
  for (const Figure* each : {&calibration.node_writers, &calibration.all_writers}) {
    if (each->median() > best->median()) best = each;
  }
  return *best;
}

struct Comment {
  const char* key;       // with its table
  const Figure* figure;
  Unit unit;
};

std::vector<Comment> comments_of(const Calibration& calibration) {
  return {{"message_time", &calibration.message_time, Unit::seconds},
          {"node.copy_rate", &calibration.copy_rate, Unit::bytes_per_second},
          {"node.memory_rate", &calibration.memory_rate, Unit::bytes_per_second},
          {"node.receive_rate", &calibration.receive_rate, Unit::bytes_per_second},
          {"network.level.link_rate", &calibration.link_rate, Unit::bytes_per_second},
          {"way_out.gateway_rate", &calibration.node_writers, Unit::bytes_per_second},
          {"file_system.rate", &best_of(calibration), Unit::bytes_per_second},
          {"file_system.request_time", &calibration.request_time, Unit::seconds},
          {"file_system.create_time", &calibration.create_time, Unit::seconds},
          {"file_system.directory_create_time", &calibration.directory_create_time, Unit::seconds},
          {"file_system.lock_time", &calibration.lock_time, Unit::seconds}};
}

}  // namespace

topology::Machine machine_of(const Calibration& calibration) {
  topology::Machine machine = calibration.discovered;
  machine.message_seconds = rounded_seconds(calibration.message_time.median());
  machine.node.copy_bytes_per_second = rounded_rate(calibration.copy_rate.median());
  machine.node.memory_bytes_per_second = rounded_rate(calibration.memory_rate.median());
  machine.node.receive_bytes_per_second = rounded_rate(calibration.receive_rate.median());
  if (auto* tree = std::get_if<topology::FatTree>(&machine.network); tree != nullptr && calibration.link_rate.is_known()) {
    // The links above carry what the nodes below them send, as discovery has it.
    double nodes_below = 1;
    for (topology::FatTree::Level& level : tree->levels) {
      level.link_bytes_per_second = rounded_rate(calibration.link_rate.median() * nodes_below);
      nodes_below *= level.down;
    }
  }
  if (calibration.hosts > 1) machine.way_out.gateway_bytes_per_second = rounded_rate(calibration.node_writers.median());
  machine.way_out.group_bytes_per_second = 0;   // what a port is rated at says less than what was measured
  topology::FileSystem& files = machine.file_system;
  files.bytes_per_second = rounded_rate(best_of(calibration).median());
  files.request_seconds = rounded_seconds(calibration.request_time.median());
  files.create_seconds = rounded_seconds(calibration.create_time.median());
  files.directory_create_seconds = rounded_seconds(calibration.directory_create_time.median());
  files.lock_seconds = rounded_seconds(calibration.lock_time.median());
  return machine;
}

std::string to_toml(const Calibration& calibration, const std::string& when) {
  std::string text = fmt::format(
      "# Measured by glean calibrate, {}, with {} process{} on {} host{}. Behind each figure: the least and the most of its samples;\n"
      "# the figure is their median. What the file system did in that time for others is in it.\n",
      when, calibration.processes, calibration.processes == 1 ? "" : "es", calibration.hosts, calibration.hosts == 1 ? "" : "s");
  const std::pair<const char*, const Figure*> writers[] = {{"one writer", &calibration.one_writer},
                                                           {"the writers of one host", &calibration.node_writers},
                                                           {"all writers", &calibration.all_writers},
                                                           {"through the page cache, with fdatasync", &calibration.page_cache}};
  text += "# Rate at which new files are written:\n";
  for (const auto& [who, figure] : writers) text += fmt::format("#   {}: {}\n", who, spread_of(*figure, Unit::bytes_per_second));
  std::map<std::string, std::string> comments;
  for (const Comment& each : comments_of(calibration)) {
    if (each.figure->is_known()) comments[each.key] = spread_of(*each.figure, each.unit);
    else if (!each.figure->how.empty()) text += fmt::format("# {} is not in it: {}\n", each.key, each.figure->how);
  }
  std::istringstream lines(topology::to_toml(machine_of(calibration)));
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) {
      table = line.substr(line.find_first_not_of('['));
      table = table.substr(0, table.find(']')) + '.';
    }
    const auto comment = comments.find(table + line.substr(0, line.find(' ')));
    text += line;
    if (comment != comments.end()) text += std::string(line.size() < 34 ? 34 - line.size() : 1, ' ') + "# " + comment->second;
    text += '\n';
  }
  return text;
}

}  // namespace glean::calibrate
