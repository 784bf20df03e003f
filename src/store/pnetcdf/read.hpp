// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a NetCDF file with PnetCDF, on one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/type.hpp"

namespace glean::store {

// What the file's header said when it was opened. All members are Local; reading blocks.
class NetcdfReader {
 public:
  struct Variable {
    std::string name;
    mesh::Type external = mesh::Type::float64;
    bool per_step = false;
    mesh::Shape shape;   // of one record
  };

  // Throws not_found, permission, and invalid_argument when it is no such file.
  explicit NetcdfReader(const std::string& path);
  ~NetcdfReader();   // after MPI_Finalize the file stays open until the process ends
  NetcdfReader(const NetcdfReader&) = delete;
  NetcdfReader& operator=(const NetcdfReader&) = delete;

  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }   // index = id
  [[nodiscard]] std::uint64_t records() const { return records_; }

  // Reads a box, which lies in the variable, into contiguous memory, with PnetCDF's conversion. `record` is ignored for
  // fixed variables. Elements that nobody has written may have any value. Throws not_found for a record that is not
  // there, out_of_range when `memory` cannot hold a value (the others are read), invalid_argument for text and numbers.
  void read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::byte* values) const;

  // Number of elements. `variable` -1: of the file. Throws not_found.
  [[nodiscard]] std::size_t attribute_elements(int variable, const std::string& name) const;
  // All elements, converted. Errors as above.
  void read_attribute(int variable, const std::string& name, mesh::Type memory, void* values) const;

 private:
  [[nodiscard]] Variable inquire(int variable, int record_dimension) const;
  // PnetCDF's status.
  [[nodiscard]] int read_part(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                              std::byte* values) const;

  std::string path_;
  int id_ = -1;
  std::uint64_t records_ = 0;
  std::vector<Variable> variables_;
};

}  // namespace glean::store
