// SPDX-License-Identifier: BSD-3-Clause
//
// glean latest: the newest complete file of a family, for job scripts.
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/natural_order.hpp"
#include "cli/completeness.hpp"
#include "cli/verbs.hpp"
#include "store/completeness.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t refusals_shown = 5;   // unless all are asked for

struct LatestOptions {
  std::vector<std::string> patterns;
  std::string by = "time";
  bool fast = false;
  bool require_sums = false;
  bool json = false;
  bool verbose = false;
};

struct Candidate {
  std::string path;
  timespec modified{};
  base::Bytes bytes = 0;
};

struct Refused {
  std::string path;
  std::string reason;
};

void add(const std::string& path, std::vector<Candidate>& candidates, std::set<std::string>& seen) {
  struct stat status {};
  if (store::is_kept_beside(path) || !seen.insert(path).second) return;
  Candidate candidate{path, {}, 0};
  // A link that leads nowhere is a candidate too: judging it says why it is none.
  if (stat(path.c_str(), &status) == 0) {
    candidate.modified = status.st_mtim;
    candidate.bytes = static_cast<base::Bytes>(status.st_size);
  }
  candidates.push_back(std::move(candidate));
}

// A name that is there is a name, whatever characters are in it; everything else is a pattern.
std::vector<Candidate> find_candidates(const std::vector<std::string>& patterns) {
  std::vector<Candidate> candidates;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    struct stat status {};
    if (pattern.empty()) throw base::Error(base::Errc::invalid_argument, "a pattern is empty");
    if (lstat(pattern.c_str(), &status) == 0) {
      add(pattern, candidates, seen);
      continue;
    }
    glob_t found{};
    const int result = glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT | GLOB_TILDE, nullptr, &found);
    for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) add(found.gl_pathv[i], candidates, seen);
    const int reason = errno;
    globfree(&found);
    if (result != 0 && result != GLOB_NOMATCH) {
      throw base::system_error(result == GLOB_NOSPACE ? ENOMEM : reason, fmt::format("cannot search for '{}'", pattern));
    }
  }
  return candidates;
}

// Newest first.
void sort(std::vector<Candidate>& candidates, bool by_name) {
  const auto time_order = [](const Candidate& a, const Candidate& b) {
    const auto time = [](const Candidate& c) { return std::pair(c.modified.tv_sec, c.modified.tv_nsec); };
    return time(a) < time(b) ? -1 : time(b) < time(a) ? 1 : 0;
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const int name = base::natural_compare(a.path, b.path);
    const int time = time_order(a, b);
    return (by_name ? (name != 0 ? name : time) : (time != 0 ? time : name)) > 0;
  });
}

void print_none(const LatestOptions& options, const std::vector<Refused>& refused) {
  if (refused.empty()) {
    std::cerr << "glean: no file matches\n";
    return;
  }
  std::cerr << fmt::format("glean: none of {} {} is complete\n", refused.size(), refused.size() == 1 ? "file" : "files");
  if (options.verbose) return;   // has said why
  for (std::size_t i = 0; i < std::min(refused.size(), refusals_shown); ++i) {
    std::cerr << fmt::format("glean: {}: {}\n", refused[i].path, refused[i].reason);
  }
  if (refused.size() > refusals_shown) std::cerr << fmt::format("glean: … and {} more\n", refused.size() - refusals_shown);
}

void print_json(const Candidate* found, const std::string& by, const std::vector<Refused>& refused) {
  ordered_json document{{"path", nullptr}, {"validated_by", nullptr}, {"bytes", nullptr}, {"modified_s", nullptr}};
  if (found != nullptr) {
    document = {{"path", found->path},
                {"validated_by", by},
                {"bytes", found->bytes},
                {"modified_s", static_cast<double>(found->modified.tv_sec) + 1e-9 * static_cast<double>(found->modified.tv_nsec)}};
  }
  document["refused"] = ordered_json::array();
  for (const Refused& each : refused) document["refused"].push_back({{"path", each.path}, {"reason", each.reason}});
  std::cout << document.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

int find_latest(const LatestOptions& options) {
  std::vector<Candidate> candidates = find_candidates(options.patterns);
  sort(candidates, options.by == "name");
  HeaderReader headers;
  std::vector<Refused> refused;
  const Candidate* found = nullptr;
  std::string by;
  for (const Candidate& candidate : candidates) {
    const Judgement judgement =
        judge(candidate.path, options.fast ? Depth::length_only : Depth::all_sums, options.require_sums, headers);
    if (!judgement.note.empty()) std::cerr << fmt::format("glean: {}: {}\n", candidate.path, judgement.note);
    if (judgement.complete) {
      if (options.verbose) std::cerr << fmt::format("glean: {}: complete, says its {}\n", candidate.path, judgement.by);
      found = &candidate;
      by = judgement.by;
      break;
    }
    if (options.verbose) std::cerr << fmt::format("glean: {}: {}\n", candidate.path, judgement.reason);
    refused.push_back({candidate.path, judgement.reason});
  }
  if (found == nullptr) print_none(options, refused);
  if (options.json) print_json(found, by, refused);
  else if (found != nullptr) std::cout << found->path << '\n';
  return found != nullptr ? success : found_a_failure;
}

}  // namespace

void add_latest(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<LatestOptions>();
  CLI::App* verb = app.add_subcommand("latest", "Print the newest complete file of a family");
  verb->add_option("PATTERN", options->patterns, "Shell patterns, quoted, or names of files")->required();
  verb->add_option("--by", options->by, "What is newest: by time of modification, or by the number in the name")
      ->check(CLI::IsMember({"time", "name"}))
      ->capture_default_str();
  verb->add_flag("--fast", options->fast, "Of a file with checksums compare only the length");
  verb->add_flag("--require-checksums", options->require_sums, "A file without checksums is not complete");
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--verbose", options->verbose, "Say on standard error what is wrong with newer files");
  verb->footer("Exit code: 0 found, 1 none is complete, 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = find_latest(*options); });
}

}  // namespace glean::cli
