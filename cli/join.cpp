// SPDX-License-Identifier: BSD-3-Clause
//
// glean join: one file of those that an output was written to (plan.files).
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "store/parts/join.hpp"
#if GLEAN_WITH_CONVERT
#include "convert/virtual_file.hpp"
#endif

namespace glean::cli {
namespace {

struct JoinOptions {
  std::string name;
  std::string output;
  bool remove = false;
  bool is_virtual = false;
};

store::Joined make(store::SystemCalls& calls, const std::vector<store::Part>& parts, const JoinOptions& options) {
  const std::string& output = options.output.empty() ? options.name : options.output;
  if (!options.is_virtual) return store::join(calls, parts, output);
#if GLEAN_WITH_CONVERT
  return convert::join_virtually(calls, parts, output);
#else
  throw base::Error(base::Errc::unsupported, "this glean makes no virtual datasets: it was built without HDF5",
                    "build it where HDF5 is (Debian: libhdf5-dev), without -DGLEAN_WITH_HDF5=OFF");
#endif
}

int join(const JoinOptions& options) {
  store::SystemCalls calls;
  try {
    const auto parts = store::find_parts(calls, options.name);
    const store::Joined joined = make(calls, parts, options);
    std::cout << fmt::format("{}: {} parts, {} records, {} bytes\n", joined.path, parts.size(), joined.records, joined.bytes);
    if (joined.steps_left_out != 0) {
      std::cerr << fmt::format("glean: {} {} left out that not all parts have: the job ended early, or its ranks ended different steps\n",
                               joined.steps_left_out, joined.steps_left_out == 1 ? "step is" : "steps are");
    }
    if (options.remove && joined.steps_left_out == 0) store::remove_parts(calls, parts);
    else if (options.remove) std::cerr << "glean: the parts are kept, because they have more\n";
    return success;
  } catch (const base::Error& error) {
    std::cerr << "glean: " << error.what() << '\n';
    if (!error.hint().empty()) std::cerr << "glean: " << error.hint() << '\n';
    return found_a_failure;
  }
}

}  // namespace

void add_join(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<JoinOptions>();
  CLI::App* verb = app.add_subcommand("join", "Make one file of those that an output was written to");
  verb->add_option("NAME", options->name, "The name that the program has given to the output")->required();
  verb->add_option("-o,--output", options->output, "The file to write; otherwise NAME");
  CLI::Option* remove = verb->add_flag("--remove", options->remove, "Remove the parts when the file is there and has all that they have");
  verb->add_flag("--virtual", options->is_virtual, "Make a small HDF5 file whose datasets lie in the parts, which stay")->excludes(remove);
  verb->footer("Exit code: 0 it is there, 1 it could not be made, 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = join(*options); });
}

}  // namespace glean::cli
