// SPDX-License-Identifier: BSD-3-Clause
#include "base/analysis_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/operators.hpp"

namespace glean::base {
namespace {

constexpr std::array<std::string_view, 3> format_names{"hdf5", "vtkhdf", "netcdf"};   // as CopyFormat

class TableReader {
 public:
  TableReader(std::string prefix, std::vector<std::string>& problems, std::vector<Entry>& entries)
      : prefix_(std::move(prefix)), problems_(problems), entries_(entries) {}

  void read(const Entry& value) {
    bool fits = true;
    std::string takes;
    if (value.key == "output") {
      table_.output = value.value;
    } else if (value.key == "variables") {
      table_.variables = names_in(value.value);
      fits = std::none_of(table_.variables.begin(), table_.variables.end(), [](const auto& name) { return name.empty(); });
      takes = "names such as dens,pres";
    } else if (value.key == "run") {
      read_operators(value);
    } else if (value.key == "format") {
      const auto found = std::find(format_names.begin(), format_names.end(), value.value);
      fits = found != format_names.end();
      if (fits) table_.format = static_cast<CopyFormat>(found - format_names.begin());
      takes = "netcdf, hdf5 or vtkhdf";
    } else if (value.key == "suffix") {
      table_.suffix = value.value;
      // A copy by `plot_variables` is called so.
      fits = !value.value.empty() && value.value.find('/') == std::string::npos && value.value != "plot";
      takes = "a part of a file name, which is not 'plot'";
    } else {
      const std::string meant = nearest(value.key, std::vector<std::string>{"output", "variables", "run", "format", "suffix"});
      return problem(value.origin, fmt::format("unknown key '{}' of an analysis; did you mean '{}'?", value.key, meant));
    }
    if (!fits) return problem(value.origin, fmt::format("{} = '{}' cannot be; it takes {}", value.key, value.value, takes));
    entries_.push_back({prefix_ + value.key, value.value, value.origin});
  }

  AnalysisTable finish(const std::string& origin) {
    if (table_.output.empty()) problem(origin, "an analysis needs the files that it is of, such as output = \"*_plt_*\"");
    if (table_.run.empty() && table_.variables.empty() && !has_wrong_operators_) {
      problem(origin, "an analysis needs what it does, such as run = [\"subsample 2\"], or variables");
    }
    for (const std::string& text : compressing_) {
      if (table_.format != CopyFormat::hdf5) problem(origin, fmt::format("'{}' needs format = \"hdf5\"", text));
    }
    for (const std::string& text : listing_) {
      if (table_.format == CopyFormat::vtkhdf) problem(origin, fmt::format("'{}' needs format = \"netcdf\" or \"hdf5\"", text));
    }
    return std::move(table_);
  }

 private:
  void problem(const std::string& where, const std::string& what) { problems_.push_back(where + ": " + what); }

  static std::vector<std::string> names_in(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      names.emplace_back(text.substr(0, comma));
      text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    }
    return names;
  }

  void read_operators(const Entry& value) {
    for (const std::string& text : split_operators(value.value)) {
      try {
        const Operator how = parse_operator(text);
        if (how.kind == Operator::Kind::tolerance || how.kind == Operator::Kind::deflate) compressing_.push_back(text);
        if (how.kind == Operator::Kind::points) listing_.push_back(text);
        table_.run.push_back(text);
      } catch (const Error& error) {
        problem(value.origin, fmt::format("run: {}", error.what()));
        has_wrong_operators_ = true;
      }
    }
  }

  std::string prefix_;
  std::vector<std::string>& problems_;
  std::vector<Entry>& entries_;
  AnalysisTable table_;
  std::vector<std::string> compressing_, listing_;
  bool has_wrong_operators_ = false;
};

}   // namespace

void add_analysis_table(const std::vector<Entry>& values, const std::string& origin, Configuration& configuration,
                        std::vector<std::string>& problems) {
  std::vector<AnalysisTable>& tables = configuration.settings.analyses;
  TableReader reader(fmt::format("analysis[{}].", tables.size()), problems, configuration.entries);
  for (const Entry& value : values) reader.read(value);
  AnalysisTable table = reader.finish(origin);
  for (const AnalysisTable& other : tables) {
    if (other.output != table.output || other.suffix != table.suffix || other.format != table.format) continue;
    problems.push_back(fmt::format("{}: two analyses of \"{}\" have suffix = \"{}\" and one format: their results would have one name",
                                   origin, table.output, table.suffix));
    break;
  }
  tables.push_back(std::move(table));
}

}   // namespace glean::base
