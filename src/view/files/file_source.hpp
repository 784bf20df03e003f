// SPDX-License-Identifier: BSD-3-Clause
//
// Shows files that are complete, and new ones as they appear.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/posix/system_calls.hpp"
#include "view/exhibit.hpp"
#include "view/files/directory.hpp"
#include "view/files/file_dataset.hpp"
#include "view/source.hpp"

namespace glean::view {

class FileSource : public Source {
 public:
  explicit FileSource(std::vector<std::string> places) : places_(std::move(places)) {}

  [[nodiscard]] std::uint64_t look() override;
  [[nodiscard]] Answer answer(const nlohmann::json& request) override;

 private:
  // What is known of a file, for as long as its state is the same.
  struct Known {
    FileState state;
    std::uint64_t steps = 0;
    std::string problem;   // why it cannot be shown; empty: it can
    bool has_table = false;   // of statistics, taken into the summaries
    std::map<std::pair<std::string, std::uint64_t>, nlohmann::json> summaries;   // by variable and record
  };
  struct Open {
    SeenFile file;
    std::unique_ptr<FileDataset> dataset;
    std::unique_ptr<Exhibit> exhibit;
  };
  struct Step {
    SeenFile file;
    std::uint64_t record = 0, number = 0;   // number: in the series
  };

  Known& known(const SeenFile& file);
  Open& open(const SeenFile& file);
  [[nodiscard]] const Series& series_of(const nlohmann::json& request) const;
  [[nodiscard]] std::vector<Step> steps_of(const Series& series);
  [[nodiscard]] Step step_of(const nlohmann::json& request, std::uint64_t& count);   // count: of the series
  [[nodiscard]] Answer list();
  [[nodiscard]] Answer picture(const nlohmann::json& request, const std::string& what);
  [[nodiscard]] Answer history(const nlohmann::json& request);
  void take_tables(const Series& series);
  [[nodiscard]] Answer reports() const;

  std::vector<std::string> places_;
  store::SystemCalls calls_;
  Directory directory_;
  std::uint64_t version_ = 0;
  std::map<std::string, Known> known_;   // by path
  std::list<Open> open_;                 // the last used first
};

}  // namespace glean::view
