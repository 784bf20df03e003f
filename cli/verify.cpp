// SPDX-License-Identifier: BSD-3-Clause
//
// glean verify: files against the checksums that were recorded when they were published.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "cli/verification.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

struct VerifyOptions {
  std::vector<std::string> paths;
  bool json = false;
  bool quiet = false;
};

enum class Verdict { good, unchecked, unusable, differs };

struct Checked {
  std::string path;
  Verdict verdict = Verdict::good;
  std::string reason;
  std::optional<store::Sidecar> sidecar;
  store::Verification verification;
  bool newer = false;   // modified after the sums were recorded
};

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "good";
    case Verdict::unchecked: return "no checksums";
    case Verdict::unusable: return "unusable";
    case Verdict::differs: break;
  }
  return "differs";
}

bool is_newer_than_its_sums(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  const auto file = std::filesystem::last_write_time(real, error);
  const auto sums = std::filesystem::last_write_time(store::sidecar_path(real.string()), error);
  return !error && file > sums;
}

Checked check(const std::string& path) {
  Checked checked{path, Verdict::unusable, {}, {}, {}, false};
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    checked.reason = base::system_error(errno, "cannot read it").what();
    return checked;
  }
  if (!S_ISREG(status.st_mode)) {
    checked.reason = "it is not a regular file";
    return checked;
  }
  store::SystemCalls calls;
  checked.verdict = Verdict::unchecked;
  try {
    checked.sidecar = store::read_sidecar(calls, path);
    if (!checked.sidecar) checked.reason = "none were recorded for it, or they were left behind when it was moved";
  } catch (const base::Error& error) {
    checked.reason = error.what();
  }
  if (!checked.sidecar) return checked;
  try {
    checked.verification = store::verify(calls, path, *checked.sidecar);
    checked.verdict = checked.verification.good() ? Verdict::good : Verdict::differs;
    checked.newer = checked.verdict == Verdict::differs && is_newer_than_its_sums(path);
  } catch (const base::Error& error) {
    checked.verdict = Verdict::differs;   // what cannot be read is not there
    checked.reason = error.what();
  }
  return checked;
}

void print_text(const Checked& checked, bool quiet) {
  if (quiet && checked.verdict == Verdict::good) return;
  std::cout << fmt::format("{}: {}{}{}\n", checked.path, name_of(checked.verdict), checked.reason.empty() ? "" : ": ",
                           checked.reason);
  if (checked.verdict != Verdict::differs || !checked.sidecar) return;
  for (const std::string& line : lines_of(checked.verification, *checked.sidecar)) std::cout << "  " << line << '\n';
  if (checked.newer) std::cout << "  it was modified after its checksums were recorded\n";
}

ordered_json to_json(const Checked& checked) {
  ordered_json result{{"path", checked.path}, {"verdict", name_of(checked.verdict)}, {"reason", checked.reason}};
  if (!checked.sidecar) return result;
  const auto& verification = checked.verification;
  result["bytes"] = verification.found_bytes;
  result["expected_bytes"] = verification.expected_bytes;
  result["summed_bytes"] = verification.summed_bytes;
  result["read_back_bytes"] = verification.read_back_bytes;
  result["differences"] = ordered_json::array();
  for (const store::Difference& difference : verification.differences) {
    const bool changed = difference.kind == store::Difference::Kind::changed;
    result["differences"].push_back({{"kind", changed ? "changed" : "not zero"},
                                     {"begin", difference.extent.begin},
                                     {"end", difference.extent.end},
                                     {"runs", changed ? difference.sum.runs : 1},
                                     {"run_bytes", changed ? difference.sum.length : difference.extent.size()},
                                     {"read_back", difference.sum.read_back},
                                     {"place", place_of(difference, *checked.sidecar)}});
  }
  return result;
}

ExitCode exit_code_of(Verdict worst) {
  switch (worst) {
    case Verdict::good: return success;
    case Verdict::unchecked: return no_checksums;
    case Verdict::unusable: return bad_input;
    case Verdict::differs: break;
  }
  return found_a_failure;
}

int verify_all(const VerifyOptions& options) {
  Verdict worst = Verdict::good;
  ordered_json list = ordered_json::array();
  for (const std::string& path : options.paths) {
    const Checked checked = check(path);
    worst = std::max(worst, checked.verdict);
    if (options.json) list.push_back(to_json(checked));
    else print_text(checked, options.quiet);
  }
  if (options.json) std::cout << list.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
  return exit_code_of(worst);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* verb = app.add_subcommand("verify", "Compare files with their checksums");
  verb->add_option("FILE", options->paths, "Files that were written with checksums = true")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--quiet", options->quiet, "Print nothing of files that are good");
  verb->footer("Exit code: 0 all are good, 1 one differs, 2 one cannot be read, 3 one has no checksums.");
  verb->callback([options, &exit_code] { exit_code = verify_all(*options); });
}

}  // namespace glean::cli
