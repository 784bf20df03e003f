// SPDX-License-Identifier: BSD-3-Clause
#include "drain/trace_json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace glean::store {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WriteCounters, direct_requests, direct_bytes, buffered_requests, buffered_bytes)
}

namespace glean::drain {

// Where the rate is not known there is none.
static void to_json(nlohmann::json& json, const Forecast& forecast) {
  json = {{"at", forecast.at_ns}, {"left", forecast.seconds_left}, {"waiting", forecast.waiting_bytes}};
  if (forecast.bytes_per_second) json["rate"] = *forecast.bytes_per_second;
}

static void from_json(const nlohmann::json& json, Forecast& forecast) {
  json.at("at").get_to(forecast.at_ns);
  json.at("left").get_to(forecast.seconds_left);
  json.at("waiting").get_to(forecast.waiting_bytes);
  if (json.contains("rate")) forecast.bytes_per_second = json.at("rate").get<double>();
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CopyTrace, path, seconds, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnalysisTrace, name, steps, steps_left_out, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OutputTrace, path, state, note, unclosed_path, bytes, request_bytes, aggregators,
                                   steps, steps_dropped, checksums, range_errors,
                                   first_capture_ns, last_capture_ns, written_ns, durable_ns, copies, analyses)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EndOfJobTrace, end_realtime_ns, boosted_ns, added_threads, warnings, worst)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrainTrace::Interval, begin_ns, end_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrainTrace, threads, io_uring, busy_ns, cpu_ns, requests, from_pool_bytes, request_sizes, intervals,
                                   outputs, end_of_job)

// Not every path is UTF-8.
std::string trace_to_json(const DrainTrace& trace) {
  return nlohmann::json(trace).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

DrainTrace trace_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<DrainTrace>();
  } catch (const nlohmann::json::exception& error) {
    throw base::Error(base::Errc::io, std::string("damaged trace of a drain: ") + error.what());
  }
}

}  // namespace glean::drain
