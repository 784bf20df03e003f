// SPDX-License-Identifier: BSD-3-Clause
#include "view/files/file_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "view/series_name.hpp"

namespace glean::view {
namespace {

using Json = nlohmann::json;
constexpr std::size_t open_max = 4;
constexpr std::size_t files_of_series_max = 2000;   // the newest
constexpr std::size_t steps_of_history_max = 2000;
constexpr std::uint64_t report_bytes_max = 32 << 20;
constexpr std::chrono::milliseconds history_at_once{300};
using Summaries = std::map<std::pair<std::string, std::uint64_t>, Json>;

std::string text_in(const Json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Lines of "step,variable,values,minimum,maximum,mean,deviation,nan,infinite,…"; others are left out.
Summaries read_statistics(const std::string& path) {
  Summaries found;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    char* end = nullptr;
    const auto number = [&](std::size_t cell) { return cells[cell].empty() ? Json() : Json(std::strtod(cells[cell].c_str(), nullptr)); };
    if (cells.size() < 9 || cells[0].empty()) continue;
    const std::uint64_t step = std::strtoull(cells[0].c_str(), &end, 10);
    if (*end != '\0') continue;
    const double not_finite = std::strtod(cells[7].c_str(), nullptr) + std::strtod(cells[8].c_str(), nullptr);
    found[{cells[1], step}] = {{"minimum", number(3)}, {"maximum", number(4)}, {"mean", number(5)}, {"not_finite", not_finite},
                               {"every", 1}, {"is_of_drain", true}};
  }
  return found;
}

}  // namespace

std::uint64_t FileSource::look() {
  Directory found = look_at(places_);
  if (version_ == 0 || !(found == directory_)) {
    ++version_;
    directory_ = std::move(found);
    std::erase_if(known_, [this](const auto& each) {
      for (const Series& series : directory_.series) {
        for (const SeenFile& file : series.files) {
          if (file.path == each.first) return false;
        }
      }
      return true;
    });
  }
  return version_;
}

// --- files

FileSource::Open& FileSource::open(const SeenFile& file) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& each) { return each.file == file; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return open_.front();
  }
  auto dataset = std::make_unique<FileDataset>(calls_, file.path);
  auto exhibit = std::make_unique<Exhibit>(*dataset);
  open_.push_front({file, std::move(dataset), std::move(exhibit)});
  if (open_.size() > open_max) open_.pop_back();
  return open_.front();
}

FileSource::Known& FileSource::known(const SeenFile& file) {
  Known& known = known_[file.path];
  if (known.state == file.state && (known.steps != 0 || !known.problem.empty())) return known;
  known = {file.state, 0, {}, false, {}};
  try {
    known.steps = open(file).dataset->steps();
    if (known.steps == 0) known.problem = "it has no step yet";
  } catch (const std::exception& error) {
    known.problem = error.what();
  }
  return known;
}

const Series& FileSource::series_of(const Json& request) const {
  const std::string name = text_in(request, "series");
  for (const Series& series : directory_.series) {
    if (series.name == name) return series;
  }
  // Of a single file the name changes when a second one of its series comes.
  for (const Series& series : directory_.series) {
    const std::filesystem::path path(name), of_series(series.name);
    if (path.parent_path() == of_series.parent_path() && series_name(path.filename()) == of_series.filename()) return series;
  }
  throw base::Error(base::Errc::not_found, "there is no '" + name + "' any more");
}

std::vector<FileSource::Step> FileSource::steps_of(const Series& series) {
  std::vector<Step> steps;
  const std::size_t first = series.files.size() > files_of_series_max ? series.files.size() - files_of_series_max : 0;
  for (std::size_t f = first; f < series.files.size(); ++f) {
    const std::uint64_t records = known(series.files[f]).steps;
    for (std::uint64_t record = 0; record < records; ++record) steps.push_back({series.files[f], record, steps.size()});
  }
  return steps;
}

FileSource::Step FileSource::step_of(const Json& request, std::uint64_t& count) {
  const Series& series = series_of(request);
  const std::vector<Step> steps = steps_of(series);
  if (steps.empty()) {
    const std::string why = series.files.empty() ? "" : known(series.files.back()).problem;
    throw base::Error(base::Errc::not_found, "'" + series.name + "' has nothing to show: " + why);
  }
  count = steps.size();
  const auto wanted = request.find("step");
  const bool is_number = wanted != request.end() && wanted->is_number_unsigned();
  return steps[is_number ? std::min<std::uint64_t>(wanted->get<std::uint64_t>(), count - 1) : count - 1];
}

// --- answers

Answer FileSource::answer(const Json& request) {
  const std::string what = text_in(request, "what");
  if (what == "list") return list();
  if (what == "slice" || what == "surface" || what == "volume") return picture(request, what);
  if (what == "history") return history(request);
  if (what == "reports") return reports();
  throw base::Error(base::Errc::invalid_argument, "'" + what + "' cannot be asked for");
}

Answer FileSource::list() {
  Json all = Json::array();
  for (const Series& series : directory_.series) {
    Json entry{{"name", series.name}, {"files", series.files.size()}, {"steps", steps_of(series).size()}, {"fields", Json::array()}};
    std::int64_t changed = 0;
    for (const SeenFile& file : series.files) changed = std::max(changed, file.state.changed_ns);
    entry["changed_s"] = static_cast<double>(changed) * 1e-9;
    for (auto file = series.files.rbegin(); file != series.files.rend(); ++file) {
      const Known& about = known(*file);
      if (!about.problem.empty()) {
        if (file == series.files.rbegin()) entry["problem"] = about.problem;
        continue;
      }
      entry["fields"] = open(*file).exhibit->fields();
      break;
    }
    all.push_back(std::move(entry));
  }
  return {{{"series", all}, {"left_out", directory_.left_out}, {"live", false}, {"places", places_}}};
}

Answer FileSource::picture(const Json& request, const std::string& what) {
  std::uint64_t count = 0;
  const Step step = step_of(request, count);
  const Open& file = open(step.file);
  Answer answer = file.exhibit->show(what, request, step.record);
  answer.about["series"] = text_in(request, "series");
  answer.about["variable"] = text_in(request, "variable");
  answer.about["step"] = step.number;
  answer.about["steps"] = count;
  answer.about["record"] = step.record;
  answer.about["file"] = std::filesystem::path(step.file.path).filename().string();
  if (const auto time = file.exhibit->time(step.record)) answer.about["time"] = *time;
  return answer;
}

// Statistics of steps that are not known yet are computed for a while; the page asks again for the rest.
Answer FileSource::history(const Json& request) {
  const Series& series = series_of(request);
  const std::string variable = text_in(request, "variable");
  std::vector<Step> all = steps_of(series);
  if (all.size() > steps_of_history_max) all.erase(all.begin(), all.end() - steps_of_history_max);
  const auto began = std::chrono::steady_clock::now();
  Json steps = Json::array();
  bool is_complete = true;
  take_tables(series);
  for (const Step& step : all) {
    auto& summaries = known(step.file).summaries;
    auto found = summaries.find({variable, step.record});
    if (found == summaries.end()) {
      if (!steps.empty() && std::chrono::steady_clock::now() - began > history_at_once) {
        is_complete = false;
        continue;
      }
      Open& file = open(step.file);
      Json summary = file.exhibit->summary(variable, step.record);
      if (const auto time = file.exhibit->time(step.record)) summary["time"] = *time;
      found = known(step.file).summaries.emplace(std::pair{variable, step.record}, std::move(summary)).first;
    }
    Json entry = found->second;
    entry["step"] = step.number;
    steps.push_back(std::move(entry));
  }
  return {{{"variable", variable}, {"series", series.name}, {"history", steps}, {"complete", is_complete}}};
}

// What the drain has found out of the steps (docs/analysis.md) is not computed again.
void FileSource::take_tables(const Series& series) {
  for (const SeenFile& table : directory_.statistics) {
    const std::string of = table.path.substr(0, table.path.size() - std::string(".statistics.csv").size());
    const auto file = std::find_if(series.files.begin(), series.files.end(), [&](const SeenFile& each) { return each.path == of; });
    if (file == series.files.end() || table.state.bytes > report_bytes_max) continue;
    Known& about = known(*file);
    if (std::exchange(about.has_table, true)) continue;
    for (auto& [key, summary] : read_statistics(table.path)) about.summaries[key] = std::move(summary);
  }
}

Answer FileSource::reports() const {
  Json all = Json::array();
  for (const SeenFile& file : directory_.reports) {
    if (file.state.bytes > report_bytes_max) continue;
    std::ifstream stream(file.path, std::ios::binary);
    Json report = Json::parse(stream, nullptr, false);
    if (!report.is_object() || report.value("schema", Json()) != "glean-report-1") continue;
    if (report.contains("blocked_seconds")) report["blocked_seconds"].erase("per_rank");
    for (const char* key : {"datasets", "calls", "tuning", "passthrough"}) report.erase(key);
    all.push_back({{"file", std::filesystem::path(file.path).filename().string()}, {"report", std::move(report)}});
  }
  return {{{"reports", all}}};
}

}  // namespace glean::view
