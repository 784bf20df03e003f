// SPDX-License-Identifier: BSD-3-Clause
//
// GLEAN: gets the output of a parallel program off its ranks with one memory copy and writes it,
// in the background, as the files that the community reads.
//
//   glean::Session session(MPI_COMM_WORLD);
//   glean::Output  out  = session.open("chk_0001.nc", glean::Format::cdf5);
//   glean::Grid    grid = out.define_grid(glean::UniformGrid{...});
//   glean::Variable dens = out.define_variable("dens", glean::Type::float64, grid);
//   out.begin_step();
//   out.put(dens, density);      // one copy; `density` may be overwritten at once
//   out.end_step();
//   out.close();                 // does not wait for the disk
//   ...                          // compute
//   session.wait(glean::Level::durable);
//
// Every call says whether it is *Local* (no other rank is needed) or *Collective* (all ranks of the
// session call it in the same order), and whether it *Blocks*. All throw glean::Error. A collective
// call throws on every rank or on none. Objects are not thread-safe: one thread of a rank at a time.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "glean/container.hpp"
#include "glean/input.hpp"
#include "glean/mesh.hpp"

// The version of this header; version() says that of the library.
#ifndef GLEAN_VERSION_MAJOR
#define GLEAN_VERSION_MAJOR 0
#define GLEAN_VERSION_MINOR 1
#define GLEAN_VERSION_PATCH 0
#endif

// The library hides everything else.
#pragma GCC visibility push(default)

namespace glean {
// Programs that were compiled with another version of these classes do not link.
inline namespace v0 {

// --- values ------------------------------------------------------------------------------------

// How safe captured data is. Each level includes the ones before it.
enum class Level {
  captured,  // the application's buffer can be reused
  staged,    // held outside the application's process (the node's pool and journal), by all ranks
  written,   // handed to the file system
  durable,   // fsynced, and published under the final name if the output is closed
};

enum class Format {
  cdf1, cdf2, cdf5,   // NetCDF classic, 64-bit offset, 64-bit data
  npy,                // NumPy's: one variable, little-endian, no attributes; not in the modes passthrough and collective
  hdf5,               // names with '/' are in groups; not in the modes passthrough and collective
  vtkhdf,             // VTK's HDF5 files: one grid and one step; not in these modes
  vtk,                // VTK's legacy files, binary: the same, without attributes
};

enum class Fill { off, on };    // what becomes of elements that no rank puts
enum class Existing { replace, refuse };  // what to do with a file that is there already

// --- errors ------------------------------------------------------------------------------------

enum class Errc {
  invalid_argument,  // a shape, type, name or selection that cannot be
  invalid_state,     // a call at the wrong time, such as a put outside a step
  invalid_config,    // an unknown key or a value that cannot be
  overlap,           // two puts of one step cover the same element
  out_of_range,      // a value that the external type cannot hold
  timeout,           // a deadline passed; the message names the ranks and calls that are missing
  no_space,          // the file system or the shared memory is full
  permission,        // the file or directory cannot be written
  exists,            // the file is there and was not to be replaced
  not_found,         // no such directory, file or variable
  io,                // the storage failed
  unsupported,       // this library or machine cannot do it
};

class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& what, std::string hint = {})
      : std::runtime_error(hint.empty() ? what : what + " (" + hint + ")"), code_(code), hint_(std::move(hint)) {}
  [[nodiscard]] Errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  Errc code_;
  std::string hint_;
};

// --- handles -----------------------------------------------------------------------------------

// Handles are small values; they belong to the output that made them. That of a variable is in glean/input.hpp.
struct Dimension { int id = -1; };
struct Grid { int id = -1; };

struct VariableOptions {
  Fill fill = Fill::off;
  bool per_step = false;      // a record variable: every step adds a record; on a grid, `time` is made where no dimension is unlimited
  Centring centring = Centring::cells;   // of a variable on a grid
  int components = 1;         // of a variable on a grid: 3 of a vector, 9 of a tensor; if more than 1, its last, fastest dimension
};

struct OutputOptions {
  Existing existing = Existing::replace;
};

// What this rank has seen since the session began.
struct Statistics {
  double blocked_seconds = 0;             // inside calls of this library
  std::uint64_t captured_bytes = 0;       // taken by puts of this rank
  std::uint64_t puts = 0;
  std::uint64_t pool_budget_bytes = 0;    // of the node
  std::uint64_t pool_high_water_bytes = 0;
  // -- when the pool was full
  std::uint64_t steps_dropped = 0;        // of all outputs
  std::uint64_t spilled_bytes = 0;        // of what was captured by this rank: on the way through its spill file
  std::uint64_t synchronous_bytes = 0;    // written by this rank itself
};

// What has become of an output.
enum class OutputState {
  open,       // this rank has not closed it
  draining,   // this rank has; other ranks or the drain have not done their part yet
  published,  // complete, durable and under its final name
  failed,     // it will not be published
  abandoned,  // given up by this rank
  dropped,    // all its steps were dropped because the pool was full: there is no file
};

struct OutputStatus {
  std::string path;                 // as the program named it
  OutputState state = OutputState::open;
  std::uint64_t steps_ended = 0;    // by this rank
  std::uint64_t steps_staged = 0;   // ended by all ranks
  std::uint64_t steps_written = 0;
  std::uint64_t steps_durable = 0;  // of an open or draining output: as far as a rank has asked for it
  std::string error;                // why it has failed
  std::uint64_t steps_dropped = 0;  // begun by this rank, and left out because the pool was full; not in the counts above
};

// What a trigger, or an analysis of the user's own, tells the program (docs/analysis.md).
struct Message {
  std::string text;
  std::string output;               // as the program named it
  std::uint64_t step = 0;
};

class Output {
 public:
  Output(Output&&) noexcept;
  Output& operator=(Output&&) noexcept;
  // Without close() before, the output is abandoned: nothing is published. Local.
  ~Output();

  // -- definitions: before the first begin_step, the same on every rank but for `blocks`. Local. If one throws, the output becomes no
  // file, also where the program goes on: end_definitions() tells all ranks, and later calls that throw say so, too. Names with a zero
  // byte are refused.

  Dimension define_dimension(std::string_view name, std::uint64_t length);
  // The record dimension; at most one.
  Dimension define_unlimited(std::string_view name);

  // Throws invalid_argument with all that is wrong with the grid on this rank. What ranks have together is known when definitions end.
  Grid define_grid(const UniformGrid& grid);
  Grid define_grid(const RectilinearGrid& grid);
  Grid define_grid(const CurvilinearGrid& grid);
  Grid define_grid(const UnstructuredMesh& grid);
  Grid define_grid(const AmrGrid& grid);

  // An array over a grid: its shape and this rank's blocks are the grid's. Over the points of a grid of boxes, a block has one more in
  // each dimension than cells; of points that blocks share, the block that begins there puts them. Over an unstructured mesh there is one
  // block, of all points or cells of this rank. With `per_step` the record dimension comes in front; where there is none yet, one called
  // `time` is defined.
  Variable define_variable(std::string_view name, Type external, Grid grid, VariableOptions options = {});
  // An array over dimensions, slowest first (an unlimited one only in front, which makes it a record
  // variable). `blocks`: what this rank will put; several, or none. A scalar is a variable without dimensions, or with the unlimited
  // one only: one number, or one for each step. The rank that puts it gives one block without indices, {Box{}}, and
  // put(v, std::span(&number, 1)); the others give no blocks and put nothing.
  Variable define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                           std::vector<Box> blocks, VariableOptions options = {});

  // Attributes of the file, or of one variable. `_FillValue` on a variable sets its fill value.
  void define_attribute(std::string_view name, std::string_view text) { define_attribute(Variable{}, name, text); }
  void define_attribute(Variable variable, std::string_view name, std::string_view text) {
    attribute(variable, name, Type::text, text.data(), text.size());
  }
  template <class T> void define_attribute(std::string_view name, std::span<const T> values) {
    attribute(Variable{}, name, type_of<T>(), values.data(), values.size());
  }
  template <class T> void define_attribute(Variable variable, std::string_view name, std::span<const T> values) {
    attribute(variable, name, type_of<T>(), values.data(), values.size());
  }

  // The attribute's values may change after the definitions: set_attribute() gives them, of the type and number that it is defined with,
  // text at most as long. Where the format has attributes: NetCDF and HDF5, VTKHDF. `_FillValue` does not change.
  void allow_attribute_change(std::string_view name) { allow_attribute_change(Variable{}, name); }
  void allow_attribute_change(Variable variable, std::string_view name);

  // The time of the next step, until it is set again; that of rank 0 counts. All ranks set it for the first time before definitions
  // end, with the same unit, such as "s". Local.
  void set_time(double time, std::string_view unit = {});

  // Creates the file with its metadata. Collective, blocks for one small file operation of rank 0.
  // The first begin_step calls it if the program has not.
  void end_definitions();

  // -- steps

  // Starts the next step: record 0, 1, 2, … of the record variables. Collective only the first time. Of an output that
  // may drop (setting `full`) a step may be left out: its puts are checked and go nowhere, and the next step that is
  // kept takes its number. There fixed variables are put in the first step only.
  void begin_step();

  // Puts all of this rank's blocks of a variable, one after the other, each row-major. Local. One
  // memory copy; waits only when the pool is full, at most for `pool.deadline`.
  // T may differ from the external type: values are converted on their way to the file.
  template <class T> void put(Variable variable, std::span<const T> data) {
    put_all(variable, type_of<T>(), data.data(), data.size());
  }
  template <class T> void put(Variable variable, const std::vector<T>& data) {
    put(variable, std::span<const T>(data));
  }
  // Puts one box, which lies inside one of this rank's blocks, from an array in memory whose
  // neighbours in dimension d are `strides[d]` elements apart, so that ghost cells and interleaved
  // variables need no packing. `first` is the element that belongs to box.start. Empty strides: the
  // box is contiguous. Local, as above.
  template <class T> void put(Variable variable, const Box& box, const T* first,
                              std::span<const std::ptrdiff_t> strides = {}) {
    put_box(variable, box.start, box.count, type_of<T>(), first, strides);
  }
  // Puts one box without a Box, whose vectors take memory: such a put allocates nothing.
  template <class T> void put(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count,
                              const T* first, std::span<const std::ptrdiff_t> strides = {}) {
    put_box(variable, start, count, type_of<T>(), first, strides);
  }

  // Untyped forms of the above, for language bindings.
  void put_all(Variable variable, Type memory, const void* data, std::size_t elements);
  void put_box(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count, Type memory,
               const void* first, std::span<const std::ptrdiff_t> strides);
  void attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count);
  // For what a program or a language binding refuses by itself, an array of another shape for example: the output goes on as if a
  // definition or a put of this rank had thrown `error`, and is not published. Local.
  void fail(const Error& error);

  // Ends this rank's part of the step; the drain starts on it when all ranks have. Local, no waiting.
  void end_step();

  // The value of an attribute that may change, known late: the time that the run took, the last residual. From the end of the definitions
  // until close(), in a step or between steps, as often as the program likes; the last values go into the file when it is closed. All ranks
  // call it with the same values, or rank 0 alone: those of rank 0 count. Of an output of several files each has a first rank, which
  // counts. Shorter text is padded with zero bytes, which readers leave out. The file of a job that was killed before it closed the output
  // has the values of the definition. Local.
  void set_attribute(std::string_view name, std::string_view text) { set_attribute(Variable{}, name, text); }
  void set_attribute(Variable variable, std::string_view name, std::string_view text) {
    late_attribute(variable, name, Type::text, text.data(), text.size());
  }
  template <class T> void set_attribute(std::string_view name, std::span<const T> values) {
    late_attribute(Variable{}, name, type_of<T>(), values.data(), values.size());
  }
  template <class T> void set_attribute(Variable variable, std::string_view name, std::span<const T> values) {
    late_attribute(variable, name, type_of<T>(), values.data(), values.size());
  }
  // Untyped form of it, for language bindings.
  void late_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count);

  // -- finding what was defined. Local. Throws not_found.
  [[nodiscard]] Variable find_variable(std::string_view name) const;

  // Waits until everything put so far is at `level` on every rank. Collective, blocks. Throws what the
  // drain met: overlapping puts, values out of range, a full disk. `seconds` < 0: the configured deadline.
  // On an open output `durable` means fsynced; it is published once it is closed and complete.
  void wait(Level level, double seconds = -1);

  // Whether everything that this rank has put so far is at `level`, as far as its node knows; it asks the drain for what it takes.
  // False of an output that has failed: why, wait() tells all ranks. Local, does not wait.
  [[nodiscard]] bool reached(Level level);

  // No more steps: the file is completed, made durable and published in the background. Collective, but
  // waits neither for the drain nor for other ranks. What goes wrong reaches every rank once: at the next
  // Session::open, Session::wait or Session::close, or at wait() of this output, which says it every time.
  void close();
  // close(), and wait(level): `durable` returns when the file is complete, under its name, on storage. Collective, blocks.
  void close(Level level, double seconds = -1);

  class Impl;
  explicit Output(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

class Session {
 public:
  // Joins the ranks of `comm` (duplicated; any thread level) into a session: settings, topology,
  // the node's pool, drain threads. `settings` has the keys of the configuration file, and goes before
  // environment and file. Collective, blocks: the pool's memory is touched once.
  explicit Session(MPI_Comm comm, const std::map<std::string, std::string>& settings = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  // close(), with errors written to the log. Collective. While an exception passes, and after MPI_Finalize,
  // it is Local and completes only what all ranks have closed.
  ~Session();

  // In mode `dedicated` the last rank of each node is set aside to write for the others: its constructor returns when they have
  // closed the session, and then this is true there, and the program ends: MPI_Finalize is all that is left to call. Local.
  [[nodiscard]] bool is_writer() const;
  // The ranks that compute: `comm` as it was given, or in mode `dedicated` a communicator of all ranks but the writers, which
  // remains until MPI_Finalize (MPI_COMM_NULL on a writer). What other calls say of all ranks is of these. Local.
  [[nodiscard]] MPI_Comm application_comm() const;

  // Opens a new output. The file appears under `path` when it is complete. Of a session 64 outputs can be open at once. Collective.
  Output open(std::string_view path, Format format, OutputOptions options = {});

  // Adds steps to a NetCDF file (CDF-1, CDF-2, CDF-5) that is there, whatever program has written it. Its definitions are the file's:
  // find_variable() finds what put() takes, each rank may put any box of a record, and begin_step() begins the record behind the last
  // one. The header counts the new records when they are on the storage, so that a reader sees the old file or one with more whole steps;
  // a kill, or an output that fails, leaves the old one, or those steps for which wait(Level::durable) has returned. What is not per step
  // does not change. An output of this session of that name is waited for. Throws not_found where there is no such file; io if it is not
  // complete; invalid_argument without an unlimited dimension; invalid_state while another job adds to it, or steps of a killed one wait
  // for `glean recover`; unsupported for other formats, and in the modes passthrough, collective and staged. Collective, blocks.
  Output append(std::string_view path);

  // Opens a file for reading on this rank. If it is an output of this session, waits for what `options.reading` asks
  // for, so that nothing older is ever read than what this rank has put. Local, blocks.
  //   published: throws invalid_state while this rank has not closed the output.
  //   written: what all ranks have put in the steps that this rank has ended; one fsync by the drain, for the file
  //     then says how many steps it has. Not for open outputs of mode `passthrough`: invalid_state; nor of mode `staged`, unless
  //     they are written in place: unsupported.
  // Both throw timeout, naming the ranks that are missing, and what went wrong if the output has failed. A path that is no output of
  // this session is opened as it is; in mode `staged` through the stagers, if it is not on this host. Throws not_found, permission, and
  // invalid_argument if it is no NetCDF or HDF5 file.
  [[nodiscard]] Input open_input(std::string_view path, InputOptions options = {});

  // Opens the newest complete file whose path matches a shell pattern, such as "run/chk_*.nc", the same on all ranks; Input::path() says
  // which one. Newest is the one that was modified last, of equal times the one with the highest number in its name. Outputs of this
  // session that are closed and match are waited for, for `seconds` or the deadline. What cannot be opened, was cut short or was not
  // finished is passed over, with a line in the log. Throws not_found if no file matches, and the program starts from scratch; io if
  // some match and none is complete, or a rank cannot open the one that was chosen; timeout, permission. Collective, blocks.
  [[nodiscard]] Input restart(std::string_view pattern, double seconds = -1);

  // A new container of task-local files, of which each rank gets its own. It appears under `path` when it is complete. The chunk size and
  // the name may differ from rank to rank, nothing else. Throws all that is wrong on any rank. Collective.
  [[nodiscard]] TaskFile create_container(std::string_view path, const ContainerOptions& options = {});
  // Opens a container for reading on this rank. One that this session has closed is waited for. Throws as glean::open_container, why it
  // has failed, and invalid_state while this rank has not closed it. Local, blocks.
  [[nodiscard]] ContainerInput open_container(std::string_view path);

  // The outputs whose definitions have ended, oldest first: what became of those that are finished (the last 256, those
  // that failed before others), then those that are not. As this rank sees it now: of a failure it may know before
  // others do. Also after close(). Local.
  [[nodiscard]] std::vector<OutputStatus> outputs() const;

  // What has been told since this rank asked last, in that order: of what the drain of its node has seen, so other nodes may hear something
  // else. None in the modes that have no drain on the node, nor from stagers. Local.
  [[nodiscard]] std::vector<Message> poll_messages();

  // Waits until everything put so far into any output is at `level`. Collective, blocks.
  void wait(Level level, double seconds = -1);

  // Waits for the drain of closed outputs, prints and writes the report, frees the pool. Collective,
  // blocks.
  void close();

  [[nodiscard]] Statistics statistics() const;  // Local.

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] const char* version() noexcept;

}  // namespace v0
}  // namespace glean

#pragma GCC visibility pop
