// SPDX-License-Identifier: BSD-3-Clause
#include "base/keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cctype>
#include <vector>

#include "base/key_words.hpp"
#include "base/program_keys.hpp"
#include "base/units.hpp"

namespace glean::base {
namespace {

using namespace words;

constexpr int cores_max = 4096;
constexpr Bytes budget_min = MiB;
constexpr Bytes request_max = GiB;
constexpr Bytes stripe_max = 4 * GiB - 64 * KiB;   // of Lustre
constexpr int targets_max = 1'000'000;
constexpr Bytes page = 4 * KiB;

constexpr double staging_restart_max = 3600;

bool assign_int(int& value, std::string_view text, int low, int high) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < low || number > high) return false;
  value = number;
  return true;
}

bool assign_budget(Settings& settings, std::string_view text) {
  const auto bytes = text == "auto" ? Bytes{0} : parse_bytes(text);
  if (!bytes || (text != "auto" && *bytes < budget_min)) return false;
  settings.pool.budget_bytes = *bytes;
  return true;
}

bool assign_spill_budget(Settings& settings, std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || (*bytes != 0 && *bytes < budget_min)) return false;
  settings.spill.budget_bytes = *bytes;
  return true;
}

bool assign_staging_restart(Settings& settings, std::string_view text) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds < 0 || *seconds > staging_restart_max) return false;
  settings.staging.restart_seconds = *seconds;
  return true;
}

bool assign_deadline(Settings& settings, std::string_view text) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds <= 0) return false;
  settings.pool.deadline_seconds = *seconds;
  return true;
}

bool assign_request(Settings& settings, std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes < page || *bytes > request_max || *bytes % page != 0) return false;
  settings.drain.request_bytes = *bytes;
  return true;
}

bool assign_stripe(Settings& settings, std::string_view text) {
  const auto bytes = text == "auto" ? Bytes{0} : parse_bytes(text);
  if (!bytes || *bytes > stripe_max || *bytes % page != 0) return false;
  settings.output.striping.unit_bytes = *bytes;
  return true;
}

std::string print_or_auto(int value, int automatic) { return value == automatic ? "auto" : fmt::format("{}", value); }

bool assign_job_end(Settings& settings, std::string_view text) {
  const auto end = parse_job_end(text);
  if (!end) return false;
  settings.job.end = *end;
  return true;
}

bool assign_files(Settings& settings, std::string_view text) {
  if (text == "group") return settings.plan.files = 0, true;
  return assign_int(settings.plan.files, text, 1, 1'000'000);
}

// "0,2,4-7"
bool assign_cores(Settings& settings, std::string_view text) {
  std::vector<int> cores;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    int first = 0;
    if (!assign_int(first, part.substr(0, dash), 0, cores_max)) return false;
    int last = first;
    if (dash != std::string_view::npos && !assign_int(last, part.substr(dash + 1), first, cores_max)) return false;
    for (int core = first; core <= last; ++core) cores.push_back(core);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (comma != std::string_view::npos && text.empty()) return false;
  }
  settings.drain.cores = std::move(cores);
  return true;
}

// "DONE,_SUCCESS,*.flag"
bool assign_list(std::vector<std::string>& list, std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const bool is_last = comma == std::string_view::npos;
    text = is_last ? std::string_view{} : text.substr(comma + 1);
    if (part.empty() || (!is_last && text.empty())) return false;
    parts.emplace_back(part);
  }
  list = std::move(parts);
  return true;
}

// "hdf5,vtkhdf"
bool assign_also(Settings& settings, std::string_view text) {
  std::vector<std::string> names;
  if (!assign_list(names, text)) return false;
  std::vector<CopyFormat> formats;
  for (const std::string& name : names) {
    CopyFormat format{};
    if (!assign_name(copy_names, format, name)) return false;
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  settings.copies.also = std::move(formats);
  return true;
}

std::string print_also(const Settings& settings) {
  std::string text;
  for (const CopyFormat format : settings.copies.also) text += (text.empty() ? "" : ",") + print_name(copy_names, format);
  return text;
}

bool assign_format(Settings& settings, std::string_view text) {
  CopyFormat format{};
  if (text != "as-written" && !assign_name(copy_names, format, text)) return false;
  settings.copies.format = text == "as-written" ? std::nullopt : std::optional(format);
  return true;
}

// "statistics,histogram"
bool assign_analyse(Settings& settings, std::string_view text) {
  std::vector<std::string> names;
  if (!assign_list(names, text)) return false;
  std::vector<Reduction> reductions;
  for (const std::string& name : names) {
    Reduction reduction{};
    if (!assign_name(reduction_names, reduction, name)) return false;
    if (std::find(reductions.begin(), reductions.end(), reduction) == reductions.end()) reductions.push_back(reduction);
  }
  settings.analysis.reductions = std::move(reductions);
  return true;
}

std::string print_analyse(const Settings& settings) {
  std::string text;
  for (const Reduction each : settings.analysis.reductions) text += (text.empty() ? "" : ",") + print_name(reduction_names, each);
  return text;
}

constexpr auto table = std::to_array<Key>({
    {"mode", Scope::output, "threaded, dedicated, staged, collective or passthrough",
     "What writes: drain threads in the background, a rank set aside, stagers, tuned collective calls, or PnetCDF as it is.",
     [](Settings& s, std::string_view text) { return assign_name(mode_names, s.output.mode, text); },
     [](const Settings& s) { return print_name(mode_names, s.output.mode); }},
    {"publish", Scope::output, "rename or in-place",
     "When a file appears under its final name: once it is complete and safe, or at once.",
     [](Settings& s, std::string_view text) { return assign_name(publish_names, s.output.publish, text); },
     [](const Settings& s) { return print_name(publish_names, s.output.publish); }},
    {"range", Scope::output, "error or fill",
     "A value that the external type cannot hold: an error, or only the fill value in the file.",
     [](Settings& s, std::string_view text) { return assign_name(range_names, s.output.range, text); },
     [](const Settings& s) { return print_name(range_names, s.output.range); }},
    {"checksums", Scope::output, "true or false",
     "Record checksums of each file in a sidecar, for `glean verify` and `glean latest`.",
     [](Settings& s, std::string_view text) { return assign_name(bool_names, s.output.checksums, text); },
     [](const Settings& s) { return print_name(bool_names, s.output.checksums); }},
    {"full", Scope::output, "block, spill, synchronous or drop",
     "When the pool is full: wait, go on in spill.directory, write into the file at once, or leave out whole steps.",
     [](Settings& s, std::string_view text) { return assign_name(full_names, s.output.full, text); },
     [](const Settings& s) { return print_name(full_names, s.output.full); }},
    {"read_back", Scope::output, "compare or capture",
     "Files that an unmodified program reads as soon as it has written them: captured, or as MPI-IO would if that is faster.",
     [](Settings& s, std::string_view text) { return assign_name(read_back_names, s.output.read_back, text); },
     [](const Settings& s) { return print_name(read_back_names, s.output.read_back); }},
    {"replace", Scope::output, "rename or in-place",
     "A file that an unmodified program cuts to nothing: it stays until the new one is complete, or is written again, with room for one.",
     [](Settings& s, std::string_view text) { return assign_name(replace_names, s.output.replace, text); },
     [](const Settings& s) { return print_name(replace_names, s.output.replace); }},
    {"close", Scope::output, "captured or durable",
     "What closing a file waits for: nothing, or until it is published and on the storage; what fails then is the close's error.",
     [](Settings& s, std::string_view text) { return assign_name(close_names, s.output.close, text); },
     [](const Settings& s) { return print_name(close_names, s.output.close); }},
    {"also", Scope::output, "hdf5, vtkhdf or both; empty: none",
     "Copies in other formats that are made of a NetCDF file when it is complete: NAME.h5, NAME.vtkhdf beside NAME.nc.",
     assign_also, print_also},
    {"format", Scope::output, "as-written, hdf5 or vtkhdf",
     "The format of the file that appears: the program's own, or NAME.h5 or NAME.vtkhdf in place of NAME.nc.",
     assign_format,
     [](const Settings& s) {
       return s.copies.format ? print_name(copy_names, *s.copies.format) : std::string("as-written");
     }},
    {"semantics", Scope::output, "auto, none or flash",
     "What the variables of a file mean, for `also`, `format` and `plot_variables`: as their names say, nothing, or FLASH's blocks.",
     [](Settings& s, std::string_view text) { return assign_name(semantics_names, s.copies.semantics, text); },
     [](const Settings& s) { return print_name(semantics_names, s.copies.semantics); }},
    {"plot_variables", Scope::output, "names such as dens,pres; empty: none",
     "A plot file is made of each file too: these variables in single precision, as HDF5.",
     [](Settings& s, std::string_view text) { return assign_list(s.copies.plot_variables, text); },
     [](const Settings& s) { return fmt::format("{}", fmt::join(s.copies.plot_variables, ",")); }},
    {"analyse", Scope::output, "statistics, histogram or both; empty: nothing",
     "What is found out of each step while it moves: tables FILE.statistics.csv, FILE.histogram.csv beside FILE.",
     assign_analyse, print_analyse},
    {"analyse_variables", Scope::output, "names such as dens,pres; empty: all that have numbers",
     "Of which variables.",
     [](Settings& s, std::string_view text) { return assign_list(s.analysis.variables, text); },
     [](const Settings& s) { return fmt::format("{}", fmt::join(s.analysis.variables, ",")); }},
    {"histogram_bins", Scope::output, "2 to 65536",
     "Bins of a histogram, at most: they are as wide as a power of two.",
     [](Settings& s, std::string_view text) { return assign_int(s.analysis.bins, text, 2, 65536); },
     [](const Settings& s) { return std::to_string(s.analysis.bins); }},
    {"precision", Scope::output, "as-defined or float32",
     "Variables that a program defines in double precision are written in single precision: native outputs only.",
     [](Settings& s, std::string_view text) { return assign_name(precision_names, s.precision.single, text); },
     [](const Settings& s) { return print_name(precision_names, s.precision.single); }},
    {"reduce_variables", Scope::output, "names such as dens,pres; empty: all",
     "Which variables `precision` is for.",
     [](Settings& s, std::string_view text) { return assign_list(s.precision.variables, text); },
     [](const Settings& s) { return fmt::format("{}", fmt::join(s.precision.variables, ",")); }},
    {"striping_factor", Scope::output, "auto, or 1 to 1000000",
     "Targets over which a new file is striped, where the file system has stripes; auto: as the program or its directory says.",
     [](Settings& s, std::string_view text) {
       if (text == "auto") return s.output.striping.factor = 0, true;
       return assign_int(s.output.striping.factor, text, 0, targets_max);
     },
     [](const Settings& s) { return print_or_auto(s.output.striping.factor, 0); }},
    {"striping_unit", Scope::output, "auto, or bytes, a multiple of 4KiB below 4GiB",
     "Bytes of a stripe of such a file.",
     assign_stripe,
     [](const Settings& s) {
       return s.output.striping.unit_bytes == 0 ? std::string("auto") : exact_bytes(s.output.striping.unit_bytes);
     }},
    {"start_iodevice", Scope::output, "auto, or 0 to 999999",
     "The target that has the first stripe of such a file, counted from 0.",
     [](Settings& s, std::string_view text) {
       if (text == "auto") return s.output.striping.start_device = -1, true;
       return assign_int(s.output.striping.start_device, text, 0, targets_max - 1);
     },
     [](const Settings& s) { return print_or_auto(s.output.striping.start_device, -1); }},
    {"into", Scope::output, "the name of a container such as restart.sion; in a rule only",
     "Files of the rule's pattern, such as restart.{rank}, that the ranks of an unmodified program write are gathered in this container.",
     [](Settings& s, std::string_view text) { return s.into = text, true; },
     [](const Settings& s) { return s.into; }},
    {"markers", Scope::session, "shell patterns such as DONE,*.flag; empty: none",
     "A file that an unmodified program makes under such a name waits until all that was closed before is published.",
     [](Settings& s, std::string_view text) { return assign_list(s.markers, text); },
     [](const Settings& s) { return fmt::format("{}", fmt::join(s.markers, ",")); }},
    {"pool.budget", Scope::session, "bytes from 1MiB, or auto",
     "All shared memory that GLEAN uses on a node; auto takes a quarter of what is free, at most 1 GiB.",
     assign_budget,
     [](const Settings& s) {
       return s.pool.budget_bytes == 0 ? std::string("auto") : exact_bytes(s.pool.budget_bytes);
     }},
    {"pool.deadline", Scope::session, "a duration above 0",
     "The longest time that a call waits before it fails and names what it waited for.",
     assign_deadline, [](const Settings& s) { return exact_seconds(s.pool.deadline_seconds); }},
    {"drain.place", Scope::session, "threads or process",
     "What writes in the background: threads of rank 0, or one helper process per node that outlives the application.",
     [](Settings& s, std::string_view text) { return assign_name(place_names, s.drain.place, text); },
     [](const Settings& s) { return print_name(place_names, s.drain.place); }},
    {"drain.command", Scope::session, "a command",
     "The command `glean`, which the helper process runs; without a slash it is looked for beside the library, then in PATH.",
     [](Settings& s, std::string_view text) { return s.drain.command = text, !text.empty(); },
     [](const Settings& s) { return s.drain.command; }},
    {"spill.directory", Scope::session, "a directory; empty: none",
     "Node-local, for what outputs with full = spill put while the pool is full.",
     [](Settings& s, std::string_view text) { return s.spill.directory = text, true; },
     [](const Settings& s) { return s.spill.directory; }},
    {"spill.budget", Scope::session, "bytes from 1MiB; 0: none", "All that lies in spill.directory of a node at a time.",
     assign_spill_budget, [](const Settings& s) { return exact_bytes(s.spill.budget_bytes); }},
    {"staging.address", Scope::session, "a file", "Where the stagers are: the address file that `glean stage` has written.",
     [](Settings& s, std::string_view text) { return s.staging.address = text, !text.empty(); },
     [](const Settings& s) { return s.staging.address; }},
    {"staging.key", Scope::session, "a file; empty: ~/.glean/stage.key", "The key of the stagers, which only its owner may read.",
     [](Settings& s, std::string_view text) { return s.staging.key = text, true; },
     [](const Settings& s) { return s.staging.key; }},
    {"staging.end", Scope::session, "staged or durable",
     "What the end of a session waits for: until the stagers have everything, or until it is in the files.",
     [](Settings& s, std::string_view text) { return assign_name(staging_end_names, s.staging.end, text); },
     [](const Settings& s) { return print_name(staging_end_names, s.staging.end); }},
    {"staging.keep", Scope::session, "staged or durable",
     "How long a node keeps what it has sent: until the stagers have it, or until they have it on the storage.",
     [](Settings& s, std::string_view text) { return assign_name(staging_keep_names, s.staging.keep, text); },
     [](const Settings& s) { return print_name(staging_keep_names, s.staging.keep); }},
    {"staging.restart", Scope::session, "a time, at most 1h; 0: not at all",
     "How long a job waits for a stager that was killed to be started again.",
     assign_staging_restart, [](const Settings& s) { return exact_seconds(s.staging.restart_seconds); }},
    {"drain.threads", Scope::session, "1 to 64", "Threads per node that write in the background.",
     [](Settings& s, std::string_view text) { return assign_int(s.drain.threads, text, 1, 64); },
     [](const Settings& s) { return fmt::format("{}", s.drain.threads); }},
    {"drain.cores", Scope::session, "logical processors, such as 0,2,4-7; empty: any",
     "Where drain threads run; thread i takes the i-th, and they start over at the end of the list.",
     assign_cores, [](const Settings& s) { return fmt::format("{}", fmt::join(s.drain.cores, ",")); }},
    {"drain.request", Scope::session, "bytes, a multiple of 4KiB, at most 1GiB",
     "Size of a write, and the alignment of where it starts in the file.",
     assign_request, [](const Settings& s) { return exact_bytes(s.drain.request_bytes); }},
    {"drain.depth", Scope::session, "1 to 256", "Writes in flight per drain thread.",
     [](Settings& s, std::string_view text) { return assign_int(s.drain.depth, text, 1, 256); },
     [](const Settings& s) { return fmt::format("{}", s.drain.depth); }},
    {"drain.direct_io", Scope::session, "auto, on or off",
     "Write whole blocks past the page cache (O_DIRECT); auto does where the file system allows it.",
     [](Settings& s, std::string_view text) { return assign_name(direct_names, s.drain.direct_io, text); },
     [](const Settings& s) { return print_name(direct_names, s.drain.direct_io); }},
    {"exchange", Scope::session, "auto, tcp or mpi",
     "How nodes exchange blocks of data: TCP in the background, or MPI inside the program's calls; auto: by the network.",
     [](Settings& s, std::string_view text) { return assign_name(exchange_names, s.exchange, text); },
     [](const Settings& s) { return print_name(exchange_names, s.exchange); }},
    {"topology.ranks_per_node", Scope::session, "0 to 1000000",
     "Ranks that follow each other and form a node, as if there were as many nodes; 0: those that share memory.",
     [](Settings& s, std::string_view text) { return assign_int(s.topology.ranks_per_node, text, 0, 1'000'000); },
     [](const Settings& s) { return fmt::format("{}", s.topology.ranks_per_node); }},
    {"topology.machine", Scope::session, "a name that `glean topology --list` knows, or the path of a machine file",
     "The machine: its I/O groups, network and gateways; node i of the session is its node i; empty: nothing is known.",
     [](Settings& s, std::string_view text) { return s.topology.machine = text, true; },
     [](const Settings& s) { return s.topology.machine; }},
    {"plan.aggregators", Scope::session, "0 to 1000000",
     "Nodes of each I/O group that write; 0: as many as the cost model finds best.",
     [](Settings& s, std::string_view text) { return assign_int(s.plan.aggregators, text, 0, 1'000'000); },
     [](const Settings& s) { return fmt::format("{}", s.plan.aggregators); }},
    {"plan.writers", Scope::session, "0 to 1000000",
     "Nodes, or stagers, that write a file at the same time, at most; 0: as many as topology.machine has storage targets, or all.",
     [](Settings& s, std::string_view text) { return assign_int(s.plan.writers, text, 0, 1'000'000); },
     [](const Settings& s) { return fmt::format("{}", s.plan.writers); }},
    {"plan.tune", Scope::session, "true or false",
     "Try other numbers of aggregators and other requests between files, a few times, and keep what is faster.",
     [](Settings& s, std::string_view text) { return assign_name(bool_names, s.plan.tune, text); },
     [](const Settings& s) { return print_name(bool_names, s.plan.tune); }},
    {"plan.files", Scope::session, "1 to 1000000, or group",
     "Files that an output becomes, none of which waits for another: `glean join` makes one; group: one for each I/O group.",
     assign_files, [](const Settings& s) { return s.plan.files == 0 ? std::string("group") : fmt::format("{}", s.plan.files); }},
    {"job.end", Scope::session, "auto, none, a duration from the start of the session, or a time as 2026-01-31T12:00:00Z",
     "When the job's time is over: the drain gets more threads before, and warns; auto takes what Slurm says.",
     assign_job_end, [](const Settings& s) { return exact_job_end(s.job.end); }},
    {"report.table", Scope::session, "true or false", "Print a table of what happened when the session closes.",
     [](Settings& s, std::string_view text) { return assign_name(bool_names, s.report.table, text); },
     [](const Settings& s) { return print_name(bool_names, s.report.table); }},
    {"report.file", Scope::session, "a path; empty: none",
     "Write what happened as JSON into this file when the session closes.",
     [](Settings& s, std::string_view text) { return s.report.file = text, true; },
     [](const Settings& s) { return s.report.file; }},
    {"view", Scope::session, "HOST:PORT or auto; empty: none",
     "The process that drains serves a live view of the steps in the pool; auto: at a free port that only this machine reaches.",
     [](Settings& s, std::string_view text) {
       const bool is_address = text.empty() || text == "auto" || text.find(':') != text.npos;
       return is_address && (s.view = text, true);
     },
     [](const Settings& s) { return s.view; }},
    {"log.level", Scope::session, "debug, info, warning, error or off", "What is said on standard error.",
     [](Settings& s, std::string_view text) { return assign_name(level_names, s.log_level, text); },
     [](const Settings& s) { return print_name(level_names, s.log_level); }},
});

}  // namespace

std::span<const Key> key_table() {
  static const auto* all = [] {   // never destroyed: what ends late reads settings too
    auto* keys = new std::vector<Key>(table.begin(), table.end());
    keys->insert(keys->end(), program_key_table().begin(), program_key_table().end());
    return keys;
  }();
  return *all;
}

const Key* find_key(std::string_view name) {
  const auto keys = key_table();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

std::string environment_name(std::string_view key) {
  std::string name = "GLEAN_";
  for (const char c : key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace glean::base
