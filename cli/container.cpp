// SPDX-License-Identifier: BSD-3-Clause
//
// glean container: the task-local files in a container. ls, cat and map; the others are in container_files.cpp.
#include "cli/container.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/units.hpp"

namespace glean::cli {

using nlohmann::ordered_json;

std::vector<store::LogicalFile> chosen_files(const store::Container& container, const Selection& selection) {
  std::vector<store::LogicalFile> files;
  std::vector<bool> pattern_fits(selection.patterns.size()), task_is_there(selection.tasks.size());
  for (const store::LogicalFile& file : container.files()) {
    bool fits = selection.patterns.empty() && selection.tasks.empty();
    for (std::size_t i = 0; i < selection.patterns.size(); ++i) {
      if (fnmatch(selection.patterns[i].c_str(), file.name.c_str(), 0) != 0) continue;
      fits = true;
      pattern_fits[i] = true;
    }
    for (std::size_t i = 0; i < selection.tasks.size(); ++i) {
      if (selection.tasks[i] != file.rank) continue;
      fits = true;
      task_is_there[i] = true;
    }
    if (fits) files.push_back(file);
  }
  std::string missing;
  for (std::size_t i = 0; i < pattern_fits.size(); ++i) {
    if (!pattern_fits[i]) missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", selection.patterns[i]);
  }
  for (std::size_t i = 0; i < task_is_there.size(); ++i) {
    if (!task_is_there[i]) missing += fmt::format("{}task {}", missing.empty() ? "" : ", ", selection.tasks[i]);
  }
  if (missing.empty()) return files;
  throw base::Error(base::Errc::not_found, fmt::format("'{}' has no {}", container.path(), missing),
                    fmt::format("`glean container ls {}` lists what it has; patterns are those of the shell", container.path()));
}

void warn_if_cut_off(const store::Container& container) {
  for (const store::PhysicalFile& file : container.physical_files()) {
    if (file.why_by_trailers.empty()) continue;
    std::cerr << fmt::format("glean: '{}': {}\n", file.path, file.why_by_trailers)
              << "glean: its tasks are read by the trailers of their chunks, up to the last whole one\n";
  }
}

std::string printable(const std::string& name) {
  std::string text = name;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

void print_json(const ordered_json& json) {
  std::cout << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

void add_selection(CLI::App& verb, Selection& selection) {
  verb.add_option("PATTERN", selection.patterns, "Only files whose names fit, as the shell's patterns do");
  verb.add_option("--task", selection.tasks, "Only those of this task, by its rank; may be given several times")->allow_extra_args(false);
}

namespace {

struct LookOptions {
  std::string path;
  Selection selection;
  bool json = false;
};

ordered_json container_json(const store::Container& container) {
  ordered_json json{{"path", container.path()}, {"complete", container.is_complete()}, {"checksums", container.has_checksums()}};
  json["files"] = ordered_json::array();
  for (const store::PhysicalFile& file : container.physical_files()) {
    json["files"].push_back({{"path", file.path},
                             {"bytes", file.bytes},
                             {"tasks", file.header.tasks()},
                             {"block_bytes", file.header.block_bytes},
                             {"byte_order", file.header.order == store::ByteOrder::big ? "big" : "little"},
                             {"key_values", file.header.key_value_mode != store::no_key_values},
                             {"why_incomplete", file.why_by_trailers}});
  }
  return json;
}

int list_files(const LookOptions& options) {
  store::SystemCalls calls;
  const store::Container container(calls, options.path);
  const std::vector<store::LogicalFile> files = chosen_files(container, options.selection);
  warn_if_cut_off(container);
  if (options.json) {
    ordered_json json = container_json(container);
    json["entries"] = ordered_json::array();
    for (const store::LogicalFile& file : files) {
      json["entries"].push_back({{"name", file.name}, {"task", file.rank}, {"begin", file.begin}, {"bytes", file.bytes}});
    }
    print_json(json);
    return success;
  }
  std::size_t widest = 5;
  for (const store::LogicalFile& file : files) widest = std::max(widest, fmt::format("{}", file.bytes).size());
  std::cout << fmt::format("{:>{}}  {:>6}  NAME\n", "BYTES", widest, "TASK");
  for (const store::LogicalFile& file : files) {
    std::cout << fmt::format("{:>{}}  {:>6}  {}\n", file.bytes, widest, file.rank, printable(file.name));
  }
  return success;
}

// Standard output may be a pipe that ends early: that is no error of ours.
bool write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0) throw base::system_error(errno, "cannot write to standard output");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

int print_files(const LookOptions& options) {
  store::SystemCalls calls;
  const store::Container container(calls, options.path);
  const std::vector<store::LogicalFile> files = chosen_files(container, options.selection);
  warn_if_cut_off(container);
  std::vector<std::byte> buffer(store::container_piece_bytes);
  for (const store::LogicalFile& file : files) {
    const store::TaskReader reader = container.reader(container.task(file.rank));
    for (store::Bytes at = 0; at < file.bytes;) {
      const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min<store::Bytes>(buffer.size(), file.bytes - at)));
      static_cast<void>(reader.read(part, file.begin + at));
      if (!write_out(part)) return success;
      at += part.size();
    }
  }
  return success;
}

int map_chunks(const LookOptions& options) {
  store::SystemCalls calls;
  const store::Container container(calls, options.path);
  std::set<std::uint64_t> ranks;
  for (const store::LogicalFile& file : chosen_files(container, options.selection)) ranks.insert(file.rank);
  warn_if_cut_off(container);
  ordered_json json = container_json(container);
  json["chunks"] = ordered_json::array();
  if (!options.json) std::cout << fmt::format("{:>6} {:>6} {:>16} {:>14} {:>14}  FILE\n", "TASK", "CHUNK", "OFFSET", "USED", "ROOM");
  for (const std::uint64_t rank : ranks) {
    const store::Container::Task& task = container.task(rank);
    const store::PhysicalFile& file = container.physical_files()[task.file];
    const store::TaskReader reader = container.reader(task);
    for (const store::ChunkOfTask& chunk : reader.chunks()) {
      const store::Bytes room = file.chunks[task.local].capacity();
      if (options.json) {
        json["chunks"].push_back({{"task", rank}, {"chunk", chunk.chunk}, {"path", file.path}, {"offset", chunk.offset},
                                  {"position", chunk.position}, {"bytes", chunk.used}, {"room", room}});
      } else {
        std::cout << fmt::format("{:>6} {:>6} {:>16} {:>14} {:>14}  {}\n", rank, chunk.chunk, chunk.offset, chunk.used, room, file.path);
      }
    }
  }
  if (options.json) print_json(json);
  return success;
}

void add_look(CLI::App& container, const std::string& name, const std::string& what, bool has_json, int (*look)(const LookOptions&),
              int& exit_code) {
  const auto options = std::make_shared<LookOptions>();
  CLI::App* verb = container.add_subcommand(name, what);
  verb->add_option("NAME", options->path, "The container: its first file")->required();
  add_selection(*verb, options->selection);
  if (has_json) verb->add_flag("--json", options->json, "Print JSON");
  verb->callback([options, look, &exit_code] { exit_code = look(*options); });
}

}  // namespace

void add_container(CLI::App& app, int& exit_code) {
  CLI::App* container = app.add_subcommand("container", "Look into containers of task-local files, make and unpack them");
  container->require_subcommand(1);
  add_look(*container, "ls", "List the files in a container", true, list_files, exit_code);
  add_look(*container, "cat", "Print the bytes of files in a container", false, print_files, exit_code);
  add_look(*container, "map", "Show where the chunks of each task lie", true, map_chunks, exit_code);
  add_container_files(*container, exit_code);
  container->footer("Exit code: 0 done, 1 a container differs, or something could not be read or written, 2 the command line is wrong,\n"
                    "           3 a container has no checksums.");
}

}  // namespace glean::cli
