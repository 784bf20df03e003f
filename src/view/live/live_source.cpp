// SPDX-License-Identifier: BSD-3-Clause
#include "view/live/live_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "view/series_name.hpp"

namespace glean::view {
namespace {

using Json = nlohmann::json;
constexpr Bytes pinned_share = 4;              // of the pool, at most
constexpr std::size_t outputs_max = 256;       // of which fixed values are kept
constexpr std::size_t series_max = 256;
constexpr std::size_t steps_of_history_max = 2000;
constexpr std::uint64_t fixed_elements_max = 4'000'000;   // of an output

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string text_of(const Json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

LiveSource::LiveSource(drain::Consumers& consumers, pool::Pool& pool)
    : consumers_(consumers), pool_(pool), budget_(pool.header().chunk_count * pool.header().chunk_bytes / pinned_share),
      consumer_(consumers.add({.budget = budget_, .process = 0, .wants = {}, .tells_left_out = true})) {}

LiveSource::~LiveSource() {
  series_.clear();
  consumers_.remove(consumer_);
}

// --- steps as they come

bool LiveSource::collect(double seconds, bool is_watched) {
  auto step = consumers_.next(consumer_, seconds);
  if (!step) return false;
  take_up(std::move(*step), is_watched);
  return true;
}

void LiveSource::take_up(drain::CompleteStep step, bool is_watched) {
  namespace fs = std::filesystem;
  const pool::OutputKey key = step.output;
  const std::string file = fs::path(step.path).filename(), name = series_name(file), left_out = step.left_out;
  Bytes bytes = 0;
  for (const drain::StepPiece& piece : step.pieces) bytes += piece.bytes.size();
  std::shared_ptr<const FixedValues> before;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = outputs_.find(key); known != outputs_.end()) before = known->second.fixed;
  }
  auto held = std::make_shared<Held>(consumers_, consumer_, std::move(step), before);
  held->bytes = bytes;
  held->complete_s = now_s();
  const auto fixed = fixed_with(held->dataset, before);
  const std::uint64_t records = held->dataset.records();

  const std::lock_guard lock(mutex_);
  if (outputs_.size() >= outputs_max) outputs_.erase(outputs_.begin());
  outputs_[key] = {name, fixed};
  if (!series_.contains(name) && series_.size() >= series_max) series_.erase(series_.begin());
  Series& series = series_[name];
  series.steps += records;
  series.file = file;
  series.complete_s = held->complete_s;
  series.problem = left_out.empty() ? "" : fmt::format("the step is not shown: {}", left_out);
  // Without viewers only what can be shown is noted, once for each series.
  if (is_watched || series.fields.empty()) {
    held->exhibit = std::make_unique<Exhibit>(held->dataset);
    if (!held->exhibit->fields().empty()) series.fields = held->exhibit->fields();
  }
  series.newest = is_watched && left_out.empty() ? std::move(held) : nullptr;
  ++version_;
}

std::shared_ptr<const FixedValues> LiveSource::fixed_with(const LiveDataset& dataset, const std::shared_ptr<const FixedValues>& before) {
  std::shared_ptr<FixedValues> values;
  std::uint64_t elements = 0;
  for (const int variable : dataset.fixed_here()) {
    const DatasetVariable& known = dataset.variable(variable);
    const std::uint64_t count = mesh::elements_of(known.shape);
    if (known.type == mesh::Type::text || elements + count > fixed_elements_max) continue;
    elements += count;
    if (!values) values = before ? std::make_shared<FixedValues>(*before) : std::make_shared<FixedValues>();
    (*values)[variable] = dataset.all(variable);
  }
  return values ? values : before;
}

void LiveSource::let_go_of_large(double after_seconds) {
  std::vector<std::shared_ptr<Held>> gone;   // ends without the lock
  const std::lock_guard lock(mutex_);
  const double now = now_s();
  std::vector<Series*> held;
  for (auto& [name, series] : series_) {
    if (series.newest) held.push_back(&series);
  }
  std::sort(held.begin(), held.end(), [](const Series* a, const Series* b) { return a->complete_s > b->complete_s; });
  Bytes all = 0;
  for (Series* series : held) {
    all += series->newest->bytes;
    if (all <= budget_ / 2 || now - series->complete_s < after_seconds) continue;
    all -= series->newest->bytes;
    gone.push_back(std::move(series->newest));
    series->newest = nullptr;
    series->problem = fmt::format("step {} was too large to be held for later looks ({} of {}): the next one will be shown", series->steps,
                                  base::readable_bytes(gone.back()->bytes), base::readable_bytes(budget_ / 2));
  }
}

// --- answers

Answer LiveSource::answer(const Json& request) {
  const std::string what = text_of(request, "what");
  if (what == "list") return list();
  if (what == "slice" || what == "surface" || what == "volume") return picture(request, what);
  if (what == "reports") return pool_now();
  if (what == "history") {
    const std::lock_guard lock(mutex_);
    const auto found = series_.find(text_of(request, "series"));
    const std::string variable = text_of(request, "variable");
    Json steps = Json::array();
    if (found != series_.end()) {
      for (const Json& each : found->second.history[variable]) steps.push_back(each);
    }
    return {{{"series", text_of(request, "series")}, {"variable", variable}, {"history", steps}, {"complete", true}}};
  }
  throw base::Error(base::Errc::invalid_argument, "'" + what + "' cannot be asked for");
}

Answer LiveSource::list() {
  const std::lock_guard lock(mutex_);
  Json all = Json::array();
  for (const auto& [name, series] : series_) {
    all.push_back({{"name", name}, {"files", 1}, {"steps", series.steps}, {"fields", series.fields}, {"changed_s", series.complete_s}});
    if (!series.problem.empty()) all.back()["problem"] = series.problem;
  }
  return {{{"series", all}, {"live", true}}};
}

Answer LiveSource::picture(const Json& request, const std::string& what) {
  const std::string name = text_of(request, "series"), variable = text_of(request, "variable");
  std::shared_ptr<Held> held;
  std::uint64_t steps = 0;
  std::string file;
  {
    const std::lock_guard lock(mutex_);
    const auto found = series_.find(name);
    if (found == series_.end()) throw base::Error(base::Errc::not_found, "there is no '" + name + "' in the pool");
    held = found->second.newest;
    steps = found->second.steps;
    file = found->second.file;
    if (!held) {
      throw base::Error(base::Errc::not_found, found->second.problem.empty() ? "Waiting for the next step…" : found->second.problem);
    }
  }
  if (!held->exhibit) held->exhibit = std::make_unique<Exhibit>(held->dataset);
  const std::uint64_t record = held->dataset.records() - 1;
  Answer answer = held->exhibit->show(what, request, record);
  answer.about.update({{"series", name}, {"variable", variable}, {"step", steps - 1}, {"steps", steps}, {"record", record},
                       {"file", file}, {"age_ms", 1e3 * (now_s() - held->complete_s)}});
  if (const auto time = held->exhibit->time(record)) answer.about["time"] = *time;
  Json summary = held->exhibit->summary(variable, record);
  summary["step"] = steps - 1;
  const std::lock_guard lock(mutex_);
  auto& history = series_[name].history[variable];
  if (history.empty() || history.back()["step"] != steps - 1) history.push_back(std::move(summary));
  if (history.size() > steps_of_history_max) history.pop_front();
  return answer;
}

Answer LiveSource::pool_now() const {
  const pool::PoolHeader& header = pool_.header();
  std::uint64_t open = 0;
  for (std::uint32_t slot = 0; slot < pool::output_slots; ++slot) {
    open += pool_.slot(slot).state.load(std::memory_order_acquire) == pool::OutputState::open ? 1 : 0;
  }
  const auto figures = consumers_.figures(consumer_);
  std::string text = fmt::format("{} {} on the way", open, open == 1 ? "output" : "outputs");
  if (figures.skipped_for_budget != 0) text += fmt::format(", {} steps were too large to be shown", figures.skipped_for_budget);
  return {{{"now", {{"at_s", now_s()}, {"used_bytes", pool_.used_bytes()}, {"budget_bytes", header.chunk_count * header.chunk_bytes},
                    {"waiting_text", text}}}}};
}

}  // namespace glean::view
