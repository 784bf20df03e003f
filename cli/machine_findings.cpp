// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/job_end.hpp"
#include "base/units.hpp"
#include "cli/findings.hpp"
#include "plan/node_plan.hpp"
#include "pool/pool.hpp"
#include "topology/discover/discover.hpp"

namespace glean::cli {
namespace {

using base::readable_bytes;

constexpr char shared_memory[] = "/dev/shm";
constexpr std::string_view pool_prefix = "glean.";

// Before Linux 5.12 the queues of io_uring counted as locked memory.
bool queues_count_as_locked_memory() {
  utsname system{};
  int major = 0;
  int minor = 0;
  if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2) return false;
  return major < 5 || (major == 5 && minor < 12);
}

void find_pool(Findings& findings, const std::string& file_name) {
  const std::string path = fmt::format("{}/{}", shared_memory, file_name);
  try {
    const pool::Pool pool = pool::Pool::attach("/" + file_name);
    const std::string size = readable_bytes(pool.header().pool_bytes);
    if (const int process = pool.other_process(); process != 0) {
      findings.push_back({"pool", Verdict::ok, fmt::format("{}: {}, in use by process {}", path, size, process), {}});
    } else {
      findings.push_back({"pool", Verdict::warn, fmt::format("{}: {}, left by a job that ended early", path, size),
                          "`glean recover` completes what is whole, and gives the memory back"});
    }
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::permission) return;   // another user's
    findings.push_back({"pool", Verdict::warn, fmt::format("{}: {}", path, error.what()),
                        fmt::format("if no job is just starting, `rm {}`", path)});
  }
}

}  // namespace

void find_kernel(Findings& findings) {
  const auto uring = topology::discover_io_uring();
  findings.push_back({"io_uring", uring.available ? Verdict::ok : Verdict::warn,
                      uring.available ? "available" : "not available: " + uring.reason,
                      uring.available ? "" : "nothing is lost but speed: each drain thread has one write in flight"});
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const bool low = !unlimited && limit.rlim_cur < base::MiB && queues_count_as_locked_memory();
  findings.push_back({"locked memory", low ? Verdict::warn : Verdict::ok,
                      unlimited ? std::string("unlimited") : "limit " + readable_bytes(limit.rlim_cur),
                      low ? "`ulimit -l 1024` lets io_uring work on this kernel" : ""});
}

void find_node(Findings& findings, const topology::Node& node, const base::Settings& settings) {
  const int cores = static_cast<int>(node.cores.size());
  const bool few = settings.drain.threads >= cores;
  findings.push_back({"cores", few ? Verdict::warn : Verdict::ok,
                      fmt::format("{} of {} on {}, {} NUMA node{}", cores, std::thread::hardware_concurrency(),
                                  node.host_name, node.numa_nodes, node.numa_nodes == 1 ? "" : "s"),
                      few ? fmt::format("{} drain thread(s) take time from the computation here; see drain.threads",
                                        settings.drain.threads)
                          : ""});
  findings.push_back({"memory", Verdict::ok,
                      fmt::format("{} available of {}", readable_bytes(node.memory_available_bytes),
                                  readable_bytes(node.memory_bytes)),
                      {}});
  const bool small = node.shared_memory_available_bytes / 2 < node.memory_available_bytes / 4 &&
                     node.shared_memory_available_bytes < 2 * base::GiB;
  findings.push_back({"shared memory", small ? Verdict::warn : Verdict::ok,
                      fmt::format("{} free in {}", readable_bytes(node.shared_memory_available_bytes), shared_memory),
                      small ? fmt::format("it keeps the pool small; `mount -o remount,size=4G {}`, or a container's "
                                          "--shm-size, gives more",
                                          shared_memory)
                            : ""});
}

void find_job_end(Findings& findings, const base::Settings& settings) {
  const std::uint64_t now = base::realtime_ns();
  const auto end = base::find_job_end(settings.job.end, now, std::getenv(base::slurm_end_variable));
  if (!end.ignored.empty()) {
    findings.push_back({"end of the job", Verdict::warn, fmt::format("not known: {}: {}", end.source, end.ignored),
                        "set job.end, to \"none\" if it does not matter"});
    return;
  }
  findings.push_back({"end of the job", Verdict::ok,
                      end.realtime_ns == 0
                          ? std::string("not known: no batch system has said it, and job.end does not")
                          : fmt::format("{}, in {:.0f} min ({})",
                                        base::utc_text(static_cast<std::int64_t>(end.realtime_ns / 1'000'000'000)),
                                        static_cast<double>(end.realtime_ns - now) / 60e9, end.source),
                      {}});
}

void find_plan(Findings& findings, const topology::Node& node, const base::Settings& settings, int ranks) {
  const std::string subject = fmt::format("plan, {} rank{}", ranks, ranks == 1 ? "" : "s");
  try {
    std::string text = plan::explain(plan::plan_node(node, {.ranks_on_node = ranks}, settings));
    text.pop_back();
    findings.push_back({subject, Verdict::ok, text, {}});
  } catch (const base::Error& error) {
    findings.push_back({subject, Verdict::fail, error.what(), error.hint()});
  }
}

void find_pools(Findings& findings) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(shared_memory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(pool_prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) find_pool(findings, name);
}

void find_storage(Findings& findings, const std::string& directory, const base::Settings& settings) {
  try {
    const topology::Storage storage = topology::discover_storage(directory);
    const bool direct_wanted = settings.drain.direct_io != base::DirectIo::off;
    Finding finding{directory, Verdict::ok,
                    fmt::format("{}, blocks of {}, {} free, direct I/O {}", storage.file_system,
                                readable_bytes(storage.block_bytes), readable_bytes(storage.available_bytes),
                                storage.direct_io ? "works" : "does not work"),
                    {}};
    if (!storage.writable) {
      finding.verdict = Verdict::fail;
      finding.text += "; nothing can be written";
      finding.advice = "check its permissions and how it is mounted";
    } else if (storage.file_system == "tmpfs" || storage.file_system == "ramfs") {
      finding.verdict = Verdict::warn;
      finding.advice = "files here are memory: they are gone after a restart, and leave less for the pool";
    } else if (!storage.direct_io && direct_wanted) {
      finding.verdict = Verdict::warn;
      finding.advice = "data goes through the page cache, which makes becoming durable slower on most disks";
    }
    findings.push_back(std::move(finding));
  } catch (const base::Error& error) {
    findings.push_back({directory, Verdict::fail, error.what(), error.hint()});
  }
}

}  // namespace glean::cli
