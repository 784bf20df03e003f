// SPDX-License-Identifier: BSD-3-Clause
//
// glean convert: NetCDF files as HDF5 and VTKHDF files, by what they mean.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/operators.hpp"
#include "base/units.hpp"
#include "cli/verbs.hpp"
#if GLEAN_WITH_CONVERT
#include "convert/convert.hpp"
#endif

namespace glean::cli {
namespace {

struct ConvertOptions {
  std::vector<std::string> files;
  std::string to = "hdf5";
  std::string semantics = "auto";
  std::vector<std::string> variables;
  std::vector<std::string> run, region, slice, subsample, threshold, points, expressions;   // operators
  std::string precision;
  std::string digits, bits, tolerance, deflate;
  std::string output;
  bool single = false;
  bool image = false;
  bool json = false;
  bool complete = false;
  int drain = 0;   // the process of the drain that asks
};

#if GLEAN_WITH_CONVERT

using nlohmann::ordered_json;

// Those of --run as they are, then the others: what is taken, what is computed and left out, and how exactly it is kept.
std::vector<std::string> operators_of(const ConvertOptions& given) {
  std::vector<std::string> operators;
  for (const std::string& text : given.run) {
    for (std::string& one : base::split_operators(text)) operators.push_back(std::move(one));
  }
  const auto add = [&](const char* name, const std::vector<std::string>& what) {
    for (const std::string& one : what) operators.push_back(fmt::format("{} {}", name, one));
  };
  add("region", given.region);
  add("slice", given.slice);
  add("subsample", given.subsample);
  add("expression", given.expressions);
  add("threshold", given.threshold);
  add("points", given.points);
  for (const auto& [name, what] :
       {std::pair("precision", given.precision), std::pair("digits", given.digits), std::pair("bits", given.bits),
        std::pair("tolerance", given.tolerance), std::pair("deflate", given.deflate)}) {
    if (!what.empty()) operators.push_back(fmt::format("{} {}", name, what));
  }
  return operators;
}

convert::Options options_of(const ConvertOptions& given) {
  convert::Options options;
  options.to = given.to == "hdf5" ? base::CopyFormat::hdf5 : given.to == "vtkhdf" ? base::CopyFormat::vtkhdf : base::CopyFormat::netcdf;
  options.operators = operators_of(given);
  options.semantics = given.semantics == "none"    ? base::Semantics::none
                      : given.semantics == "flash" ? base::Semantics::flash
                                                   : base::Semantics::automatic;
  options.variables = given.variables;
  options.single = given.single;
  options.image = given.image;
  options.output = given.output;
  options.leaves_out_nothing = given.complete;
  options.is_of_drain = given.drain != 0;
  return options;
}

// Before any file is made.
void check(const ConvertOptions& given, const convert::Options& options) {
  std::vector<std::string> wrong;
  if (!given.output.empty() && given.files.size() > 1) wrong.emplace_back("-o is the name of one file, and there are several");
  const bool is_reduced = !options.operators.empty() || options.to == base::CopyFormat::netcdf;
  for (const std::string& text : options.operators) {
    try {
      const base::Operator how = base::parse_operator(text);
      const bool compresses = how.kind == base::Operator::Kind::tolerance || how.kind == base::Operator::Kind::deflate;
      if (compresses && given.to != "hdf5") wrong.push_back(fmt::format("'{}' is for --to hdf5", text));
      if (how.kind == base::Operator::Kind::points && given.to == "vtkhdf")
        wrong.push_back(fmt::format("'{}' is not for --to vtkhdf", text));
    } catch (const base::Error& error) {
      wrong.emplace_back(error.what());
    }
  }
  if (is_reduced && given.single) wrong.emplace_back("--single goes without operators; with them it is --precision float32");
  if (given.image && given.to != "vtkhdf") wrong.emplace_back("--image is for --to vtkhdf");
  std::map<std::string, std::string> made_of;
  for (const std::string& file : given.files) {
    if (!given.output.empty()) break;
    const std::string path = convert::output_path(file, options.to, is_reduced);
    const auto [first, is_new] = made_of.emplace(path, file);
    if (!is_new) wrong.push_back(fmt::format("'{}' and '{}' would both become '{}'", first->second, file, path));
  }
  std::string all;
  for (const std::string& each : wrong) all += (all.empty() ? "" : "; ") + each;
  if (!all.empty()) throw base::Error(base::Errc::invalid_argument, all);
}

void print_text(const std::string& file, const convert::Made& made) {
  const std::string mesh = made.blocks == 0 ? ""
                                            : fmt::format("{} {} in {} {}, ", made.blocks, made.blocks == 1 ? "block" : "blocks",
                                                          made.levels, made.levels == 1 ? "level" : "levels");
  const double rate = made.seconds > 0 ? static_cast<double>(made.bytes) / made.seconds : 0;
  std::cout << fmt::format("{}: {}: {}, {}{} {}, {} in {:.2f} s, {}\n", file, made.path, made.kind, mesh, made.fields,
                           made.fields == 1 ? "variable" : "variables", base::readable_bytes(made.bytes), made.seconds,
                           base::readable_rate(rate));
  for (const std::string& note : made.notes) std::cout << "  " << note << '\n';
}

ordered_json to_json(const std::string& file, const convert::Made& made) {
  ordered_json json{{"source", file},          {"path", made.path},     {"kind", made.kind}, {"variables", made.fields},
                    {"blocks", made.blocks},   {"levels", made.levels}, {"time", nullptr},   {"bytes", made.bytes},
                    {"seconds", made.seconds}, {"notes", made.notes},   {"error", nullptr}};
  if (made.time) json["time"] = *made.time;
  return json;
}

int convert_files(const ConvertOptions& given) {
  if (given.drain != 0) {   // a copy that is made later would replace one of a newer file
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != given.drain) return found_a_failure;
  }
  const convert::Options options = options_of(given);
  check(given, options);
  store::SystemCalls calls;
  ExitCode exit_code = success;
  ordered_json list = ordered_json::array();
  for (const std::string& file : given.files) {
    try {
      for (const convert::Made& made : convert::convert(calls, file, options)) {
        if (given.json) list.push_back(to_json(file, made));
        else print_text(file, made);
      }
    } catch (const std::exception& error) {   // of this file; the others are converted
      static_cast<void>(say(error));
      if (given.json) list.push_back({{"source", file}, {"path", nullptr}, {"error", error.what()}});
      exit_code = found_a_failure;
    }
    std::cout.flush();
  }
  if (given.json) std::cout << list.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
  return exit_code;
}

#else

int convert_files(const ConvertOptions&) {
  throw base::Error(base::Errc::unsupported, "this glean cannot convert files: it was built without HDF5",
                    "build it where HDF5 is (Debian: libhdf5-dev), without -DGLEAN_WITH_HDF5=OFF");
}

#endif

void add_operators(CLI::App& verb, ConvertOptions& options) {
  constexpr char group[] = "Operators (docs/analysis.md), in this order";
  verb.add_option("--run", options.run, "Any of them, as in an [[analysis]] table: \"slice z=12; digits 4\"")
      ->group(group)
      ->allow_extra_args(false);
  const auto add = [&](const char* name, auto& value, const char* what) {
    CLI::Option* const option = verb.add_option(name, value, what)->group(group);
    if constexpr (!std::is_same_v<std::remove_reference_t<decltype(value)>, std::string>) option->allow_extra_args(false);
  };
  add("--region", options.region, "A box: x=10:20 by indices, x@0.25:0.75 by coordinates");
  add("--slice", options.slice, "One index, z=12, or coordinate, z@0.5: the dimension goes");
  add("--subsample", options.subsample, "Every second value along each dimension: 2; or along some: \"x=2 y=4\"");
  add("--expression", options.expressions, "A new variable: \"speed = sqrt(velx^2 + vely^2)\"");
  add("--threshold", options.threshold, "What is outside of dens=0.1:1 becomes the fill value");
  add("--points", options.points, "Places and values of what is in dens=0.5: only");
  add("--precision", options.precision, "float32: what is float64 becomes that");
  add("--digits", options.digits, "Significant decimal digits that are kept");
  add("--bits", options.bits, "Significant bits that are kept");
  add("--tolerance", options.tolerance, "Compression with zfp: the largest error (--to hdf5)");
  add("--deflate", options.deflate, "Compression without loss: 1 to 9 (--to hdf5)");
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = app.add_subcommand("convert", "Make HDF5, VTKHDF or smaller NetCDF files of NetCDF files");
  verb->add_option("FILE", options->files, "NetCDF files (CDF-1, CDF-2, CDF-5) that are complete")->required();
  verb->add_option("--to", options->to, "The format: HDF5 (of blocks with refinement in FLASH's layout), VTKHDF, or NetCDF")
      ->check(CLI::IsMember({"hdf5", "vtkhdf", "netcdf"}))
      ->capture_default_str();
  verb->add_option("--semantics", options->semantics, "What the files mean: what is found, arrays, or blocks by FLASH's names")
      ->check(CLI::IsMember({"auto", "none", "flash"}))
      ->capture_default_str();
  verb->add_option("--variables", options->variables, "Only these, with commas between them; the mesh comes along")->delimiter(',');
  verb->add_flag("--single", options->single, "Variables in double precision become such in single precision");
  verb->add_flag("--image", options->image, "A uniform grid becomes ImageData, which ParaView 5.11 cannot read");
  verb->add_option("-o,--output", options->output, "The file to write, of one FILE; otherwise FILE with .h5 or .vtkhdf, or FILE_reduced");
  add_operators(*verb, *options);
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--complete", options->complete, "Refuse to leave anything out, and to make several files of one");
  verb->add_option("--drain", options->drain)->group("");   // for drains: it ends with that process
  verb->footer("Exit code: 0 all files are there, 1 one could not be made, 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = convert_files(*options); });
}

}  // namespace glean::cli
