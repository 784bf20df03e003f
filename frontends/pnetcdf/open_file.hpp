// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of a file that the program has open through PnetCDF.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontends/mpiio/captured_file.hpp"
#include "memory.hpp"
#include "store/format/cdf/cdf.hpp"
#include "variable.hpp"

namespace glean::pnetcdf {

// The file's modes, as the library has them; unknown: a call that changes it has failed.
enum class Mode { unknown, define, collective, independent };

// A nonblocking put. The library has a request for its last element in its place: it says what becomes of it.
struct PendingPut {
  int varid;
  std::vector<Slab> slabs;
  Memory memory;
  std::array<std::byte, 8> last_element;   // the library may write from here
  std::vector<std::byte> values;           // as the file has them; empty: they are in the program's memory
  bool is_captured = false;
};

// One thread at a time: as PnetCDF asks for.
class OpenFile {
 public:
  struct Opened {
    std::string path;   // from the root on
    std::weak_ptr<mpiio::Target> target;   // none: puts are the library's
    std::shared_ptr<mpiio::FileComm> comm;   // if there is a target: of the ranks that have this open
    store::CdfVersion format;
    Mode mode;
  };
  explicit OpenFile(Opened opened) : opened_(std::move(opened)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] const std::string& path() const { return opened_.path; }
  [[nodiscard]] MPI_Comm comm() const { return opened_.comm->get(); }
  [[nodiscard]] store::CdfVersion format() const { return opened_.format; }
  [[nodiscard]] bool has_small_records() const { return opened_.format != store::CdfVersion::cdf5; }
  [[nodiscard]] Mode mode() const { return opened_.mode; }
  // Its definitions have never ended: nothing has been put.
  [[nodiscard]] bool is_being_made() const { return is_being_made_; }
  [[nodiscard]] bool is_in_data_mode() const { return mode() == Mode::collective || mode() == Mode::independent; }
  // What was known of variables holds no longer.
  void enter(Mode mode);
  void forget_variables() { variables_.clear(); }
  // When what other ranks have filled in must be before what is put from now on. Collective.
  void wait_for_all() const;

  // How often definitions have ended since it was opened, opening it included; 0: they have not yet, or what they are cannot be said.
  [[nodiscard]] std::uint32_t definitions_ended() const { return definitions_ended_; }
  // Definitions have ended: tells the output what its variables are. Local.
  void tell_meaning(int ncid);
  // Null where puts are the library's.
  [[nodiscard]] std::shared_ptr<mpiio::Target> target() const;
  // Null where the library does not know it.
  [[nodiscard]] const Variable* variable(int ncid, int varid);

  std::map<int, std::unique_ptr<PendingPut>> pending;   // by the library's number
  MPI_Offset unseen_bytes = 0;   // of puts, which the library has not counted

 private:
  Opened opened_;
  bool is_being_made_ = opened_.mode == Mode::define;
  std::map<int, Variable> variables_;
  std::uint32_t definitions_ended_ = 0;
};

// By the library's number; null for a file that is not known. Any thread.
[[nodiscard]] std::shared_ptr<OpenFile> find_file(int ncid);
void add_file(int ncid, std::shared_ptr<OpenFile> file);
void remove_file(int ncid);

}  // namespace glean::pnetcdf
