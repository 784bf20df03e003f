// SPDX-License-Identifier: BSD-3-Clause
//
// glean container extract, pack, verify.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/container.hpp"
#include "cli/progress.hpp"

namespace glean::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct ExtractOptions {
  std::string path, directory = ".";
  Selection selection;
  bool json = false, progress = false;
};

struct PackingOptions {
  std::string path, directory = ".", block = "4KiB", chunk;
  std::vector<std::string> files;
  std::uint32_t parts = 1;
  bool json = false, progress = false;
};

struct VerifyingOptions {
  std::vector<std::string> paths;
  bool json = false, quiet = false, progress = false;
};

ProgressLine::When when(bool always) { return always ? ProgressLine::When::always : ProgressLine::When::terminal; }

// What is wrong with the command line throws in front of it.
template <class Work>
int unless_it_fails(const Work& work) {
  try {
    return work();
  } catch (const base::Error& error) {
    static_cast<void>(say(error));
    return error.code() == base::Errc::invalid_argument ? bad_input : found_a_failure;
  }
}

int extract_files(const ExtractOptions& options) {
  store::SystemCalls calls;
  const store::Container container(calls, options.path);
  const std::vector<store::LogicalFile> files = chosen_files(container, options.selection);
  warn_if_cut_off(container);
  store::Bytes bytes = 0;
  for (const store::LogicalFile& file : files) bytes += file.bytes;
  ProgressLine line("extract", bytes, when(options.progress));
  return unless_it_fails([&] {
    const store::Extracted extracted =
        store::extract(calls, container, files, options.directory, [&](store::Bytes done) { line.show(done); });
    if (options.json) {
      ordered_json json{{"directory", options.directory}, {"complete", container.is_complete()}, {"bytes", extracted.bytes}};
      json["files"] = ordered_json::array();
      for (const store::LogicalFile& file : files) json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
      print_json(json);
    } else {
      std::cout << fmt::format("{}: {} {}, {}\n", options.directory, extracted.files, extracted.files == 1 ? "file" : "files",
                               base::readable_bytes(extracted.bytes));
    }
    return container.is_complete() ? success : found_a_failure;
  });
}

store::Bytes size_of(const std::string& option, const std::string& text) {
  const auto bytes = base::parse_bytes(text);
  if (bytes && *bytes > 0) return *bytes;
  throw base::Error(base::Errc::invalid_argument, fmt::format("{} takes a size, not '{}'", option, text), "such as 4KiB or 2MiB");
}

// Directories become the files below them, in the order of their names; what is neither is refused.
std::vector<store::PackSource> sources_of(const PackingOptions& options) {
  std::vector<store::PackSource> sources;
  std::vector<std::string> wrong;
  for (const std::string& given : options.files) {
    const fs::path path = fs::path(options.directory) / given;
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      const bool is_file = !error && fs::is_regular_file(path, error);
      if (!is_file) wrong.push_back(fmt::format("'{}' is {}", path.string(), error ? "not there" : "no regular file"));
      sources.push_back({path.string(), fs::path(given).lexically_normal().string()});
      continue;
    }
    std::vector<std::string> below;
    for (fs::recursive_directory_iterator each(path, error), end; !error && each != end; each.increment(error)) {
      if (each->is_regular_file()) below.push_back(each->path().lexically_relative(options.directory).lexically_normal().string());
      else if (!each->is_directory()) wrong.push_back(fmt::format("'{}' is no regular file", each->path().string()));
    }
    if (error) wrong.push_back(fmt::format("'{}' cannot be read: {}", path.string(), error.message()));
    std::sort(below.begin(), below.end());
    for (const std::string& name : below) sources.push_back({(fs::path(options.directory) / name).string(), name});
  }
  if (wrong.empty()) return sources;
  std::string all;
  for (const std::string& each : wrong) all += (all.empty() ? "" : "; ") + each;
  throw base::Error(base::Errc::invalid_argument, all, "files are looked for in the directory of -C, here otherwise");
}

int pack_files(const PackingOptions& options) {
  store::SystemCalls calls;
  store::PackOptions how;
  how.block_bytes = size_of("--block", options.block);
  if (!options.chunk.empty()) how.chunk_bytes = size_of("--chunk", options.chunk);
  how.files = options.parts;
  std::random_device random;
  how.id = (std::uint64_t{random()} << 32) | random();
  const std::vector<store::PackSource> sources = sources_of(options);
  store::Bytes bytes = 0;
  for (const store::PackSource& source : sources) bytes += store::InputFile(calls, source.path).bytes();
  ProgressLine line("pack", bytes, when(options.progress));
  return unless_it_fails([&] {
    const store::Packed packed = store::pack(calls, options.path, sources, how, [&](store::Bytes done) { line.show(done); });
    if (options.json) {
      print_json({{"path", options.path},
                  {"files", options.parts},
                  {"tasks", packed.tasks},
                  {"bytes", packed.bytes},
                  {"file_bytes", packed.file_bytes}});
    } else {
      std::cout << fmt::format("{}: {} {}, {} in {}\n", options.path, packed.tasks, packed.tasks == 1 ? "file" : "files",
                               base::readable_bytes(packed.bytes), base::readable_bytes(packed.file_bytes));
    }
    return success;
  });
}

struct Verified {
  ExitCode code = success;
  std::string reason;
  store::ContainerVerification verification;
};

Verified verify_one(const std::string& path, bool shows_progress) {
  store::SystemCalls calls;
  try {
    const store::Container container(calls, path);
    if (!container.has_checksums()) return {no_checksums, "it has none: SIONlib has written it", {}};
    store::Bytes bytes = 0;
    for (const store::Container::Task& task : container.tasks()) bytes += task.bytes;
    ProgressLine line("verify", bytes, when(shows_progress));
    Verified verified{success, {}, store::verify_container(container, [&](store::Bytes done) { line.show(done); })};
    if (!verified.verification.differences.empty()) verified.code = found_a_failure;
    return verified;
  } catch (const base::Error& error) {
    return {found_a_failure, error.what(), {}};
  }
}

std::string in_words(const store::ContainerDifference& difference) {
  std::string where = difference.path;
  if (difference.rank) where += fmt::format(": task {}", *difference.rank);
  if (difference.chunk) where += fmt::format(", chunk {}", *difference.chunk);
  return where + ": " + difference.what;
}

const char* verdict_of(ExitCode code) { return code == success ? "good" : code == no_checksums ? "no checksums" : "differs"; }

ordered_json verified_json(const std::string& path, const Verified& verified) {
  ordered_json json{{"path", path},
                    {"verdict", verdict_of(verified.code)},
                    {"reason", verified.reason},
                    {"bytes", verified.verification.bytes},
                    {"chunks", verified.verification.chunks}};
  json["differences"] = ordered_json::array();
  for (const store::ContainerDifference& each : verified.verification.differences) {
    ordered_json entry{{"path", each.path}, {"task", nullptr}, {"chunk", nullptr}, {"what", each.what}};
    if (each.rank) entry["task"] = *each.rank;
    if (each.chunk) entry["chunk"] = *each.chunk;
    json["differences"].push_back(std::move(entry));
  }
  return json;
}

int verify_containers(const VerifyingOptions& options) {
  ordered_json list = ordered_json::array();
  bool one_differs = false, one_has_none = false;
  for (const std::string& path : options.paths) {
    const Verified verified = verify_one(path, options.progress);
    one_differs = one_differs || verified.code == found_a_failure;
    one_has_none = one_has_none || verified.code == no_checksums;
    if (options.json) {
      list.push_back(verified_json(path, verified));
      continue;
    }
    if (options.quiet && verified.code == success) continue;
    std::cout << fmt::format("{}: {}{}{}\n", path, verdict_of(verified.code), verified.reason.empty() ? "" : ": ", verified.reason);
    for (const store::ContainerDifference& each : verified.verification.differences) std::cout << "  " << in_words(each) << '\n';
  }
  if (options.json) print_json(list);
  return one_differs ? found_a_failure : one_has_none ? no_checksums : success;
}

void add_extract(CLI::App& container, int& exit_code) {
  const auto options = std::make_shared<ExtractOptions>();
  CLI::App* verb = container.add_subcommand("extract", "Make files of the files in a container");
  verb->add_option("NAME", options->path, "The container: its first file")->required();
  add_selection(*verb, options->selection);
  verb->add_option("-C,--directory", options->directory, "Where to")->capture_default_str();
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--progress", options->progress, "Say how far it is, also where standard error is no terminal");
  verb->callback([options, &exit_code] { exit_code = extract_files(*options); });
}

void add_pack(CLI::App& container, int& exit_code) {
  const auto options = std::make_shared<PackingOptions>();
  CLI::App* verb = container.add_subcommand("pack", "Make a container of files");
  verb->add_option("NAME", options->path, "The container to write")->required();
  verb->add_option("FILE", options->files, "Files, one task for each, and directories of them")->required();
  verb->add_option("-C,--directory", options->directory, "Where the files are")->capture_default_str();
  verb->add_option("--block", options->block, "Chunks begin at multiples of this size")->capture_default_str();
  verb->add_option("--chunk", options->chunk, "Chunks of this size; otherwise each file is one chunk");
  verb->add_option("--files", options->parts, "Write so many physical files")->check(WholeNumber(1))->capture_default_str();
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--progress", options->progress, "Say how far it is, also where standard error is no terminal");
  verb->callback([options, &exit_code] { exit_code = pack_files(*options); });
}

void add_verify_container(CLI::App& container, int& exit_code) {
  const auto options = std::make_shared<VerifyingOptions>();
  CLI::App* verb = container.add_subcommand("verify", "Compare the chunks of containers with their checksums");
  verb->add_option("NAME", options->paths, "Containers: the first file of each")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--quiet", options->quiet, "Print nothing of containers that are good");
  verb->add_flag("--progress", options->progress, "Say how far it is, also where standard error is no terminal");
  verb->callback([options, &exit_code] { exit_code = verify_containers(*options); });
}

}  // namespace

void add_container_files(CLI::App& container, int& exit_code) {
  add_extract(container, exit_code);
  add_pack(container, exit_code);
  add_verify_container(container, exit_code);
}

}  // namespace glean::cli
