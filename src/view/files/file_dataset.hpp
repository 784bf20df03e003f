// SPDX-License-Identifier: BSD-3-Clause
//
// A NetCDF or HDF5 file as a dataset.
#pragma once

#include <memory>
#include <string>

#include "store/input/file_reader.hpp"
#include "view/dataset.hpp"

namespace glean::view {

class FileDataset : public Dataset {
 public:
  // Throws base::Error: what is wrong with the file.
  FileDataset(store::SystemCalls& calls, const std::string& path);

  [[nodiscard]] const std::vector<DatasetVariable>& variables() const override { return variables_; }
  [[nodiscard]] const std::vector<mesh::Attribute>& attributes() const override { return reader_.contents().attributes; }
  void read(int variable, std::uint64_t record, const mesh::Box& box, double* values) const override;
  // 1 where nothing has records.
  [[nodiscard]] std::uint64_t steps() const;

 private:
  store::FileReader reader_;
  std::vector<DatasetVariable> variables_;
};

}  // namespace glean::view
