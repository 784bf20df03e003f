// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace sedov {

namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 200> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

const char* verdict(bool good) { return good ? "ok" : "FAILED"; }

std::string exact_json(const Summary& summary) {
  constexpr int points = 200;
  const double speed = summary.exact.shock_speed(blast_energy, ambient_density, summary.time);
  std::string radius, density, velocity, pressure;
  for (int i = 1; i <= points; ++i) {
    const double fraction = static_cast<double>(i) / points;
    const SedovTaylor::Gas gas = summary.exact.at(fraction);
    const char* comma = i == 1 ? "" : ", ";
    radius += text("%s%.8g", comma, fraction * summary.checks.exact_radius);
    density += text("%s%.8g", comma, gas.density * ambient_density);
    velocity += text("%s%.8g", comma, gas.velocity * speed);
    pressure += text("%s%.8g", comma, gas.pressure * ambient_density * speed * speed);
  }
  return "{\"radius\": [" + radius + "],\n  \"density\": [" + density + "],\n  \"velocity\": [" + velocity +
         "],\n  \"pressure\": [" + pressure + "]}";
}

}  // namespace

void BlocksUsed::count(const Mesh& mesh) {
  const int leaves = mesh.tree().leaves();
  fewest = steps == 0 ? leaves : std::min(fewest, leaves);
  most = std::max(most, leaves);
  sum += leaves;
  ++steps;
}

double uniform_blocks(const Mesh& mesh) {
  const Position& roots = mesh.blocks();
  return std::pow(8.0, mesh.levels() - 1) * roots[0] * roots[1] * roots[2];
}

std::string describe(const BlocksUsed& used, const Mesh& mesh) {
  constexpr double cells = block_cells * block_cells * block_cells;
  const double uniform = uniform_blocks(mesh);
  return text("mesh: %d levels, %d to %d blocks; %.0f cells on average, %.1f %% of the %.0f of a uniform mesh as fine\n", mesh.levels(),
              used.fewest, used.most, used.mean() * cells, 100 * used.mean() / uniform, uniform * cells);
}

std::string describe(const Checks& checks) {
  const std::string lines =
      text("check: mass kept within %.1e, energy within %.1e (limit 1e-12): %s\n",
           std::abs(checks.mass_error), std::abs(checks.energy_error), verdict(checks.conserved()));
  if (!checks.shock_checked) {
    return lines + "check: shock radius not checked: it is too young, or has left the box\n";
  }
  return lines + text("check: shock radius %.5f, exact %.5f, %.2f %% off (limit 3 %%): %s\n", checks.radius,
                      checks.exact_radius, 100 * std::abs(checks.radius / checks.exact_radius - 1),
                      verdict(checks.shock_right()));
}

std::string summary_json(const Summary& summary, const std::string& per_rank) {
  const Checks& checks = summary.checks;
  std::ostringstream json;
  json << text("{\"epoch_realtime_s\": %.6f, \"run_seconds\": %.6f,\n", summary.epoch, summary.run_seconds)
       << text(" \"blocks\": [%d, %d, %d], \"cell_width\": %.10g,\n", summary.mesh.blocks()[0],
               summary.mesh.blocks()[1], summary.mesh.blocks()[2], summary.mesh.cell_width())
       << text(" \"levels\": %d, \"mean_blocks\": %.6g, \"uniform_blocks\": %.6g,\n", summary.mesh.levels(), summary.used.mean(),
               uniform_blocks(summary.mesh))
       << text(" \"steps\": %d, \"time\": %.10g,\n", summary.steps, summary.time)
       << text(" \"checks\": {\"passed\": %s, \"shock_checked\": %s,", checks.passed() ? "true" : "false",
               checks.shock_checked ? "true" : "false")
       << text(" \"mass_error\": %.3e, \"energy_error\": %.3e,", checks.mass_error, checks.energy_error)
       << text(" \"shock_radius\": %.8g, \"exact_shock_radius\": %.8g},\n", checks.radius,
               checks.exact_radius)
       << " \"files\": [";
  for (const FileRecord& file : summary.files) {
    json << (&file == summary.files.data() ? "\n" : ",\n")
         << text("  {\"name\": \"%s\", \"kind\": \"%s\", \"data_bytes\": %zu, \"step\": %d}",
                 file.name.c_str(), file.kind == FileKind::checkpoint ? "checkpoint" : "plot", file.data_bytes,
                 file.step);
  }
  json << "],\n \"exact\": " << exact_json(summary) << ",\n \"per_rank\": " << per_rank << "}\n";
  return json.str();
}

}  // namespace sedov
