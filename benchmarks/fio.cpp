// SPDX-License-Identifier: BSD-3-Clause
#include "fio.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "measure.hpp"

namespace glean::benchmarks {

double fio_seconds(const FioRequests& requests, const Fio& fio, std::uint64_t bytes) {
  empty_directory(requests.directory);
  std::ostringstream line;
  line << fio.environment << requests.program << " --name=fio --filename=" << requests.directory
       << "/fio.dat --rw=write --direct=1 --ioengine=io_uring --iodepth=" << requests.depth
       << " --bs=" << requests.request_mebibytes << "m --size=" << bytes << " --end_fsync=1 --fallocate="
       << fio.allocation << " --output-format=json";
  const std::string command = line.str();
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  const int status = pclose(pipe);
  const auto begin = text.find('{');   // fio may print notes before it
  if (status != 0 || begin == std::string::npos) throw std::runtime_error("failed: " + command + "\n" + text);
  const Json job = Json::parse(text.substr(begin)).at("jobs").at(0);
  if (job.at("error").get<int>() != 0) throw std::runtime_error("fio reports an error: " + command);
  return job.at("job_runtime").get<double>() * 1e-3;
}

}  // namespace glean::benchmarks
