// SPDX-License-Identifier: BSD-3-Clause
#include "session/restart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/natural_order.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "session/remote_input.hpp"
#include "store/completeness.hpp"

namespace glean::session {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  std::pair<std::int64_t, std::int64_t> modified;   // seconds, nanoseconds
  bool is_there = false;                            // not on this host: the stagers see it
};

// The result of rank 0, as on_root() sends it.
struct Found {
  std::array<char, PATH_MAX> path;
  FoundThere there;
};

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("*?[\\", at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

// The paths that a pattern may mean, of files that are not there yet. The program's directory and links in the front of the pattern are
// resolved, as they are in the final path of an output.
class Pattern {
 public:
  explicit Pattern(const std::string& pattern) {
    const std::string absolute = fs::path(pattern).is_absolute() ? pattern : escaped(fs::current_path().string()) + "/" + pattern;
    patterns_.push_back(absolute);
    const std::string plain = fs::path(pattern).is_absolute() ? "" : fs::current_path().string() + "/";
    const std::size_t first_special = pattern.find_first_of("*?[\\");
    const std::size_t slash = pattern.rfind('/', first_special);
    const std::string directory = plain + (slash == pattern.npos ? "." : pattern.substr(0, slash + 1));
    std::error_code none;
    const fs::path resolved = fs::weakly_canonical(directory, none);
    if (!none) patterns_.push_back(escaped(resolved.string()) + "/" + pattern.substr(slash == pattern.npos ? 0 : slash + 1));
  }

  [[nodiscard]] bool matches(const std::string& path) const {
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [&](const std::string& one) { return fnmatch(one.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0; });
  }

 private:
  std::vector<std::string> patterns_;
};

void add(const std::string& path, std::vector<Candidate>& candidates) {
  struct stat status {};
  if (store::is_kept_beside(path)) return;
  Candidate candidate{path, {}, false};   // a link that leads nowhere too: judging it says why it is none
  if (stat(path.c_str(), &status) == 0) candidate.modified = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  candidates.push_back(std::move(candidate));
}

// Newest first. A name that is there is a name, whatever characters are in it; everything else is a pattern.
std::vector<Candidate> candidates_of(Core& core, const std::string& pattern, double seconds) {
  std::vector<Candidate> candidates;
  struct stat status {};
  if (lstat(pattern.c_str(), &status) == 0) {
    add(pattern, candidates);
    return candidates;
  }
  const auto all_there = list_there(core, pattern, seconds);   // first: it waits for files that this host may see, too
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  const int reason = errno;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) add(found.gl_pathv[i], candidates);
  globfree(&found);
  const bool has_no_directory = result == GLOB_ABORTED && (reason == ENOENT || reason == ENOTDIR);
  if (result != 0 && result != GLOB_NOMATCH && !has_no_directory) {
    throw base::system_error(result == GLOB_NOSPACE ? ENOMEM : reason, "cannot search for '" + pattern + "'");
  }
  std::unordered_set<std::string> here;
  for (const Candidate& candidate : candidates) here.insert(candidate.path);
  for (const auto& there : all_there) {
    if (store::is_kept_beside(there.path) || here.contains(there.path)) continue;
    candidates.push_back({there.path, {there.modified_seconds, there.modified_nanoseconds}, true});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.modified != b.modified ? a.modified > b.modified : base::natural_compare(a.path, b.path) > 0;
  });
  return candidates;
}

// What this session has closed and still drains comes first, or fails: then what lies under its name is what counts.
void wait_for_closed_outputs(Core& core, const Pattern& pattern, double seconds) {
  if (!core.has_pool()) return;
  const std::uint64_t begin = base::now_ns();
  for (const auto& output : core.outputs().list(PoolOutputs::ByThisRank::closed)) {
    const std::string final_path = output->name.files().final_path;
    const std::string named = fs::absolute(output->name.path()).lexically_normal().string();
    if (!pattern.matches(final_path) && !pattern.matches(named)) continue;
    const double left = seconds < 0 ? seconds : std::max(0.0, seconds - base::seconds(base::now_ns() - begin));
    const auto error = caught([&] { static_cast<void>(core.outputs().wait_to_read(*output, {Reading::published, left})); });
    if (error && error->code() == base::Errc::timeout) throw base::Error(*error);
    if (error) base::log(base::LogLevel::warning, "restart: an output of this session is passed over: {}", error->what());
  }
}

// An open output of this session writes into the file itself.
bool is_being_written(Core& core, const std::string& path) {
  std::string final_path;
  if (caught([&] { final_path = store::resolved_path(path); })) final_path = fs::absolute(path).lexically_normal().string();
  const auto writes = [&](const OutputName& name) { return name.leads_to(final_path) && name.files().working_path == final_path; };
  const auto& direct = core.direct();
  if (std::any_of(direct.begin(), direct.end(), [&](const Backend* backend) { return writes(backend->name()); })) return true;
  if (!core.has_pool()) return false;
  const auto open = core.outputs().list(PoolOutputs::ByThisRank::open);
  return std::any_of(open.begin(), open.end(), [&](const auto& output) { return writes(output->name); });
}

// Why a file is passed over.
std::optional<std::string> why_not(Core& core, const Candidate& candidate, double seconds) {
  const std::string& path = candidate.path;
  const auto of_kind = candidate.is_there ? std::nullopt : store::why_no_candidate(path);
  if (of_kind) return of_kind;
  if (is_being_written(core, path)) return "this session has it open, and writes it in place";
  std::optional<std::string> why;
  const auto error = caught([&] {
    store::SystemCalls calls;
    why = candidate.is_there ? why_incomplete_there(core, path, seconds) : store::why_incomplete(calls, path);
    if (why) return;
    const auto file = open_here_or_there(core, path, seconds);
    const auto& variables = file->variables();
    const bool has_steps = std::any_of(variables.begin(), variables.end(), [](const auto& one) { return one.per_step; });
    if (has_steps && file->records() == 0 && file->contents().counts_records_last) {
      why = "its header counts no steps: it was not finished, or no step was written";
    }
  });
  // That HDF5 is not there says nothing of the file: an older one of another format must not take its place. Nor does a slow stager.
  const bool is_slow = candidate.is_there && error && error->code() == base::Errc::timeout;
  if (is_slow || (error && error->code() == base::Errc::unsupported)) throw base::Error(*error);
  return error ? error->what() : why;
}

std::string choose(Core& core, const std::string& pattern, double seconds) {
  wait_for_closed_outputs(core, Pattern(pattern), seconds);
  constexpr std::size_t shown = 5;
  std::vector<std::string> refused;
  const std::vector<Candidate> candidates = candidates_of(core, pattern, seconds);
  for (const Candidate& candidate : candidates) {
    const auto why = why_not(core, candidate, seconds);
    if (!why) {
      base::log(base::LogLevel::info, "restart from '{}', the newest complete file of '{}'", candidate.path, pattern);
      return candidate.path;
    }
    base::log(base::LogLevel::warning, "restart passes over '{}': {}", candidate.path, *why);
    if (refused.size() < shown) refused.push_back(fmt::format("'{}': {}", candidate.path, *why));
  }
  if (candidates.empty()) {
    throw base::Error(base::Errc::not_found, "no file matches '" + pattern + "'", "there is nothing to restart from: start from scratch");
  }
  throw base::Error(base::Errc::io, fmt::format("none of {} {} that match '{}' is complete: {}{}", candidates.size(),
                                                candidates.size() == 1 ? "file" : "files", pattern, fmt::join(refused, "; "),
                                                candidates.size() > refused.size() ? "; …" : ""));
}

}  // namespace

std::unique_ptr<Input::Impl> restart(const std::shared_ptr<Core>& core, const std::string& pattern, double seconds) {
  core->require_usable("restart");
  core->require_question("restart");
  if (pattern.empty() || pattern.find('\0') != pattern.npos) {
    throw base::Error(base::Errc::invalid_argument, pattern.empty() ? "the pattern is empty" : "the pattern has a zero byte");
  }
  if (core->parts().count > 1) {
    throw base::Error(base::Errc::unsupported, "restart: outputs of this session are several files (plan.files)",
                      "`glean join` makes one file of them; open_input reads it, and `glean latest` finds it");
  }
  InCall in_call(core->collective(), Call::restart, pattern);
  in_call.set_busy(core->is_root());
  const Found found = on_root<Found>(core->comm(), [&](Found& value) {
    const std::string path = choose(*core, pattern, seconds);
    if (path.size() >= value.path.size()) throw base::system_error(ENAMETOOLONG, "cannot read '" + path + "'");
    std::memcpy(value.path.data(), path.c_str(), path.size() + 1);
    const auto gone = caught([&] { value.there = find_there(*core, path, seconds); });
    if (gone) throw base::Error(base::Errc::io, gone->what(), gone->hint());   // not_found would say that there is nothing to restart from
  });
  in_call.set_busy(false);
  const std::string path = found.path.data();
  std::unique_ptr<Reader> file;
  auto error = caught([&] { file = open_found(*core, path, found.there); });
  if (error) {   // and here, too
    error = base::Error(base::Errc::io, fmt::format("'{}' is the newest complete file of '{}', and rank {} cannot open it: {}", path,
                                                    pattern, core->rank(), error->what()));
  }
  agree(core->comm(), error);
  return std::make_unique<Input::Impl>(core, path, std::move(file));
}

}  // namespace glean::session
