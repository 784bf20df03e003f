// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef GLEAN_HAVE_HWLOC
#include <hwloc.h>
#endif

#include <array>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "topology/discover/discover.hpp"
#include "topology/discover/memory.hpp"

namespace glean::topology {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// A machine may have more processors than a fixed cpu_set_t holds; the kernel says so with EINVAL.
std::vector<int> allowed_cores() {
  for (int limit = CPU_SETSIZE; limit <= 64 * CPU_SETSIZE; limit *= 2) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(static_cast<std::size_t>(limit)), free_set);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(limit));
    if (!set || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> cores;
    for (int core = 0; core < limit; ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, set.get())) cores.push_back(core);
    }
    return cores;
  }
  return {0};
}

// Directories node0, node1, …
int numa_nodes_of_kernel(const std::string& sys) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(sys + "/devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos && name.size() > 4) {
      ++count;
    }
  }
  return count == 0 ? 1 : count;
}

// hwloc also knows memory that is no place to run, such as high-bandwidth memory, and descriptions of machines from
// files (HWLOC_XMLFILE); 0 where it cannot tell.
int numa_nodes_of_hwloc() {
#ifdef GLEAN_HAVE_HWLOC
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return 0;
  const int count =
      hwloc_topology_load(topology) == 0 ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) : 0;
  hwloc_topology_destroy(topology);
  return count > 0 ? count : 0;
#else
  return 0;
#endif
}

Bytes available_bytes(const std::string& directory) {
  struct statvfs status {};
  return statvfs(directory.c_str(), &status) == 0 ? Bytes{status.f_bavail} * status.f_frsize : 0;
}

}  // namespace

Node discover_node(const Places& places) {
  Node node;
  node.host_name = host_name();
  node.cores = allowed_cores();
  const int numa_nodes = places.sys == Places{}.sys ? numa_nodes_of_hwloc() : 0;
  node.numa_nodes = numa_nodes > 0 ? numa_nodes : numa_nodes_of_kernel(places.sys);
  const Memory memory = discover_memory(places);
  node.memory_bytes = memory.total_bytes;
  node.memory_available_bytes = memory.available_bytes;
  node.shared_memory_available_bytes = available_bytes(places.shared_memory);
  node.page_bytes = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return node;
}

}  // namespace glean::topology
