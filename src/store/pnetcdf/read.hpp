// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a NetCDF file with PnetCDF, on one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
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
    mesh::Shape shape;                    // of one record
    base::Bytes begin_bytes = 0;          // as in VariableLayout
    base::Bytes record_stride_bytes = 0;
    std::vector<std::string> dimensions;  // names of all, the record dimension among them
  };
  struct Attribute {
    std::string name;
    mesh::Type external = mesh::Type::text;
    std::size_t elements = 0;
  };

  // Throws not_found, permission, and invalid_argument when it is no such file. Reads go to PnetCDF in parts of at most
  // `request_bytes_max`: MPI counts elements in an int.
  explicit NetcdfReader(const std::string& path, base::Bytes request_bytes_max = 512 * base::MiB);
  ~NetcdfReader();   // after MPI_Finalize the file stays open until the process ends
  NetcdfReader(const NetcdfReader&) = delete;
  NetcdfReader& operator=(const NetcdfReader&) = delete;

  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }   // index = id
  [[nodiscard]] std::uint64_t records() const { return records_; }

  // Reads a box, which lies in the variable, into contiguous memory, with PnetCDF's conversion. `record` is ignored for
  // fixed variables. Elements that were not written may have any value; behind the end of the file they are zero.
  // Throws not_found for a record that is not there, out_of_range when `memory` cannot hold a value (the others are
  // read), invalid_argument for text and numbers.
  void read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::byte* values) const;

  // In the order of the file. `variable` -1: of the file.
  [[nodiscard]] std::vector<Attribute> attributes(int variable) const;
  // Number of elements. `variable` -1: of the file. Throws not_found.
  [[nodiscard]] std::size_t attribute_elements(int variable, const std::string& name) const;
  // All elements, converted. Errors as above.
  void read_attribute(int variable, const std::string& name, mesh::Type memory, void* values) const;

 private:
  [[nodiscard]] Variable inquire(int variable, int record_dimension) const;
  enum class Where { in_the_file, across_the_end, behind_the_end };
  [[nodiscard]] Where place(const Variable& variable, std::uint64_t record, const mesh::Box& box) const;
  // PnetCDF's status.
  [[nodiscard]] int read_part(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                              std::byte* values) const;

  std::string path_;
  base::Bytes request_bytes_max_;
  base::Bytes file_bytes_ = 0;
  int id_ = -1;
  std::uint64_t records_ = 0;
  std::vector<Variable> variables_;
};

}  // namespace glean::store
