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
#include <vector>

#include "base/error.hpp"
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
  std::string output;
  bool single = false;
  bool image = false;
  bool json = false;
  bool complete = false;
  int drain = 0;   // the process of the drain that asks
};

#if GLEAN_WITH_CONVERT

using nlohmann::ordered_json;

convert::Options options_of(const ConvertOptions& given) {
  convert::Options options;
  options.to = given.to == "hdf5" ? base::CopyFormat::hdf5 : base::CopyFormat::vtkhdf;
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
  if (given.image && given.to != "vtkhdf") wrong.emplace_back("--image is for --to vtkhdf");
  std::map<std::string, std::string> made_of;
  for (const std::string& file : given.files) {
    if (!given.output.empty()) break;
    const std::string path = convert::output_path(file, options.to);
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

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = app.add_subcommand("convert", "Make HDF5 or VTKHDF files of NetCDF files");
  verb->add_option("FILE", options->files, "NetCDF files (CDF-1, CDF-2, CDF-5) that are complete")->required();
  verb->add_option("--to", options->to, "The format: HDF5 (of blocks with refinement in FLASH's layout), or VTKHDF")
      ->check(CLI::IsMember({"hdf5", "vtkhdf"}))
      ->capture_default_str();
  verb->add_option("--semantics", options->semantics, "What the files mean: what is found, arrays, or blocks by FLASH's names")
      ->check(CLI::IsMember({"auto", "none", "flash"}))
      ->capture_default_str();
  verb->add_option("--variables", options->variables, "Only these, with commas between them; the mesh comes along")->delimiter(',');
  verb->add_flag("--single", options->single, "Variables in double precision become such in single precision");
  verb->add_flag("--image", options->image, "A uniform grid becomes ImageData, which ParaView 5.11 cannot read");
  verb->add_option("-o,--output", options->output, "The file to write, of one FILE; otherwise FILE with .h5 or .vtkhdf");
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--complete", options->complete, "Refuse to leave anything out, and to make several files of one");
  verb->add_option("--drain", options->drain)->group("");   // for drains: it ends with that process
  verb->footer("Exit code: 0 all files are there, 1 one could not be made, 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = convert_files(*options); });
}

}  // namespace glean::cli
