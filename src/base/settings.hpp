// SPDX-License-Identifier: BSD-3-Clause
//
// Every setting of the library, with its default. How they are read: base/config.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/job_end.hpp"

namespace glean::base {

enum class Mode { passthrough, collective, threaded, dedicated, staged };   // docs/modes.md
[[nodiscard]] constexpr bool captures(Mode mode) { return mode != Mode::passthrough && mode != Mode::collective; }
enum class Publish { rename, in_place };   // when a file appears under its final name
// A file that is there and that an unmodified program cuts to nothing: it stays until the new one is complete, or is written again.
enum class Replace { rename, in_place };
enum class RangeRule { error, fill };      // a value that the external type cannot hold
// What a put does when the pool is full. drop: whole steps, before they are begun.
enum class WhenFull { block, spill, synchronous, drop };
enum class ReadBack { compare, capture };  // of files that an unmodified program reads as soon as it has written them
// What a call that closes a file waits for: nothing but that all is captured, or until the file is published and on the storage.
enum class Close { captured, durable };
enum class DrainPlace { threads, process };   // of the aggregator rank, or one helper per node
enum class DirectIo { automatic, on, off };
// How nodes exchange blocks of data. automatic: by the network.
enum class ExchangeOver { automatic, tcp, mpi };
// What the end of a session waits for where stagers write: until they have everything, or until it is in the files.
enum class StagingEnd { staged, durable };
// How long a node keeps what it has sent to stagers: until they have it; until it is on the storage.
enum class StagingKeep { staged, durable };
enum class LogLevel { debug, info, warning, error, off };

// What the variables of a file mean. automatic: as their names say.
enum class Semantics : std::uint8_t { automatic, none, flash };
enum class CopyFormat : std::uint8_t { hdf5, vtkhdf, netcdf };   // netcdf: of results of analyses only

// Files that are made of an output when it is complete; they can differ between files too.
struct CopySettings {
  std::vector<CopyFormat> also;              // beside it
  std::optional<CopyFormat> format;          // in its place
  Semantics semantics = Semantics::automatic;
  std::vector<std::string> plot_variables;   // of a plot file besides, in single precision; empty: none
  [[nodiscard]] bool any() const { return !also.empty() || format || !plot_variables.empty(); }
  friend bool operator==(const CopySettings&, const CopySettings&) = default;
};

// What is found out of each step of an output while it moves; it can differ between files too.
enum class Reduction : std::uint8_t { statistics, histogram };
// The user's own analyses: programs that look at each step (docs/analysis.md).
struct ProgramSettings {
  std::vector<std::string> files;            // .py and .so
  std::string python = "python3";            // what runs the .py
  Bytes budget_bytes = 0;                    // of the pool, that waits for each; 0: an eighth
  double wait_seconds = 0;                   // of the drain for one whose budget is used up
  double deadline_seconds = 60;              // for a step
  Bytes memory_bytes = GiB;                  // of its process; 0: unlimited
  int restarts = 3;
  friend bool operator==(const ProgramSettings&, const ProgramSettings&) = default;
};
// What is done when a condition on a step holds (base/condition.hpp).
struct TriggerSettings {
  std::string condition;   // empty: there is none
  std::string run;         // a command
  std::string mark;        // a file with a line
  std::string tell;        // a message to the program
  friend bool operator==(const TriggerSettings&, const TriggerSettings&) = default;
};
// "dir/libmine.so" and "mine.py" are "mine".
[[nodiscard]] std::string name_of_program(std::string_view file);
struct AnalysisSettings {
  std::vector<Reduction> reductions;
  std::vector<std::string> variables;        // empty: all that have numbers
  int bins = 64;                             // of a histogram, at most
  ProgramSettings programs{};                // keys `analyse_with` and the rest of base/program_keys.hpp
  TriggerSettings trigger{};
  std::string publish_when{};                // a condition on a step; empty: whatever is in it
  friend bool operator==(const AnalysisSettings&, const AnalysisSettings&) = default;
};

// `[[analysis]]`: of outputs whose path or file name matches `output`, operators make a file of its own beside each.
struct AnalysisTable {
  std::string output;                        // a pattern, as of a rule
  std::vector<std::string> variables;        // of the result; empty: all
  std::vector<std::string> run;              // operators (base/operators.hpp), in order
  CopyFormat format = CopyFormat::netcdf;
  std::string suffix = "reduced";            // NAME_SUFFIX.nc of NAME.nc
  friend bool operator==(const AnalysisTable&, const AnalysisTable&) = default;
};

// Variables in double precision that are written in single precision; it can differ between files too.
struct PrecisionSettings {
  bool single = false;
  std::vector<std::string> variables;        // empty: all
  [[nodiscard]] bool narrows(std::string_view variable) const;
  friend bool operator==(const PrecisionSettings&, const PrecisionSettings&) = default;
};

// How a new file is laid out over the targets of a file system that has stripes, as MPI-IO's hints of these names say it.
struct Striping {
  int factor = 0;          // targets; 0: not said
  Bytes unit_bytes = 0;    // of a stripe; 0: not said
  int start_device = -1;   // the first target; -1: not said
  friend bool operator==(const Striping&, const Striping&) = default;
};

// What can differ between files.
struct OutputSettings {
  Mode mode = Mode::threaded;
  Publish publish = Publish::rename;
  RangeRule range = RangeRule::error;
  bool checksums = false;   // recorded in a sidecar of each file
  WhenFull full = WhenFull::block;
  ReadBack read_back = ReadBack::compare;
  Close close = Close::captured;
  Replace replace = Replace::rename;
  Striping striping;
  friend bool operator==(const OutputSettings&, const OutputSettings&) = default;
};

struct PoolSettings {
  Bytes budget_bytes = 0;          // of a node, journal included; 0: chosen from the memory that is there
  double deadline_seconds = 300;   // the longest wait of any call
};

struct DrainSettings {
  DrainPlace place = DrainPlace::threads;
  std::string command = "glean";   // the helper process: looked for beside the library and in PATH, unless it has a slash
  int threads = 1;                 // per node
  std::vector<int> cores;          // where they run; empty: anywhere
  Bytes request_bytes = 8 * MiB;   // of a write, and its alignment
  int depth = 4;                   // writes in flight per thread
  DirectIo direct_io = DirectIo::automatic;
};

struct TopologySettings {
  int ranks_per_node = 0;          // that follow each other; 0: those that share memory
  std::string machine;             // a machine file, by name or path; empty: every node has a way out of its own
};

struct PlanSettings {
  int aggregators = 0;             // of an I/O group; 0: as the cost model finds
  int writers = 0;                 // nodes or stagers that write a file at once, at most; 0: as many as the machine has storage targets
  bool tune = true;                // between files, by what was measured
  int files = 1;                   // that an output becomes, to be joined; 0: one for each I/O group
};

struct JobSettings {
  JobEnd end;                      // when its time is over
};

struct ReportSettings {
  bool table = false;              // printed by rank 0 when the session closes
  std::string file;                // JSON; empty: none
};

// Where captured data goes when the pool is full, for outputs whose `full` is spill.
struct SpillSettings {
  std::string directory;           // node-local; empty: none
  Bytes budget_bytes = 0;          // of a node
};

struct StagingSettings {
  std::string address = "glean-stage.json";   // the address file of the stagers
  std::string key;                            // the file with the key; empty: ~/.glean/stage.key
  StagingEnd end = StagingEnd::staged;
  StagingKeep keep = StagingKeep::staged;
  double restart_seconds = 30;                // for which a stager whose process has ended is waited for; 0: not at all
};

// `[[rule]]`: for outputs whose path or file name matches `pattern` (shell pattern) these settings
// replace the general ones. The last rule that matches and names a setting decides it.
struct Rule {
  std::string pattern;
  std::vector<std::pair<std::string, std::string>> values;  // checked when read
  // The container of files of this pattern; empty: none. Such a rule says nothing else.
  [[nodiscard]] std::string_view into() const;
};

struct Settings {
  // Keys `mode`, `publish`, `range`, `checksums`, `full`, `read_back`, `close`, `replace`, `striping_factor`, `striping_unit` and
  // `start_iodevice`.
  OutputSettings output;
  CopySettings copies;    // keys `also`, `format`, `semantics`, `plot_variables`
  AnalysisSettings analysis;   // keys `analyse`, `analyse_variables`, `histogram_bins`
  PrecisionSettings precision; // keys `precision`, `reduce_variables`
  std::string into;       // of a rule only: the container in which files of its pattern (base/name_pattern.hpp) are gathered
  PoolSettings pool;
  SpillSettings spill;
  StagingSettings staging;
  DrainSettings drain;
  TopologySettings topology;
  PlanSettings plan;
  JobSettings job;
  ReportSettings report;
  ExchangeOver exchange = ExchangeOver::automatic;
  std::vector<std::string> markers;   // shell patterns: names of files by which the program says that what it has closed is there
  LogLevel log_level = LogLevel::warning;
  std::vector<Rule> rules;
  std::vector<AnalysisTable> analyses;
  std::string view;   // where the process that drains serves a live view: HOST:PORT, or auto; empty: nowhere

  // An output may do so.
  [[nodiscard]] bool any_captures() const;
  [[nodiscard]] bool any_needs_writers() const;
  [[nodiscard]] bool any_stages() const;
  // An output may be written by the nodes of the job in the background.
  [[nodiscard]] bool any_drains_here() const;
  [[nodiscard]] bool any_writes_collectively() const;
  [[nodiscard]] bool any_spills() const;
  // An output may do what one of several files cannot.
  [[nodiscard]] bool any_needs_one_file() const;
  // Files that each rank writes for itself are gathered in containers.
  [[nodiscard]] bool any_gathers() const;
  // The settings of one output, rules applied.
  [[nodiscard]] OutputSettings for_output(std::string_view path) const;
  [[nodiscard]] CopySettings copies_of_output(std::string_view path) const;
  [[nodiscard]] AnalysisSettings analysis_of_output(std::string_view path) const;
  [[nodiscard]] PrecisionSettings precision_of_output(std::string_view path) const;
  // Tables that match, in order.
  [[nodiscard]] std::vector<AnalysisTable> results_of_output(std::string_view path) const;
};

}  // namespace glean::base
