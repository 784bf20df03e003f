// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_findings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace glean::cli {
namespace {

// They start other programs, and are not themselves what writes.
constexpr std::array launchers = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun", "srun", "aprun", "jsrun", "env",
                                  "time", "nice", "numactl", "taskset", "timeout", "sh", "bash", "dash"};

// These start processes on the hosts of a batch system, and those on the hosts that they are told, or that a batch system names.
constexpr std::array on_hosts_of_job = {"srun", "aprun", "jsrun", "prun", "flux"};
constexpr std::array on_hosts_told = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"};
constexpr std::array options_with_hosts = {"-H", "-f", "--host", "-host", "--hosts", "-hosts", "--hostfile",
                                         "-hostfile", "--machinefile", "-machinefile"};
constexpr std::array variables_of_jobs = {"SLURM_JOB_ID", "PBS_NODEFILE", "PE_HOSTFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "FLUX_JOB_ID"};

// Also mpirun.openmpi and bash5.
template <std::size_t Count>
bool is_one_of(const std::string& word, const std::array<const char*, Count>& names) {
  const std::string name = std::filesystem::path(word).filename().string();
  return std::any_of(names.begin(), names.end(), [&](const std::string_view known) {
    if (!name.starts_with(known)) return false;
    return name.size() == known.size() || std::string_view(".0123456789").find(name[known.size()]) != std::string_view::npos;
  });
}

bool is_launcher(const std::string& word) { return is_one_of(word, launchers); }

bool is_loaded(const RunNotes& notes, const Executable& program) {
  std::error_code ignored;
  const std::string path = std::filesystem::canonical(program.path, ignored).string();
  return std::find(notes.loaded.begin(), notes.loaded.end(), path) != notes.loaded.end();
}

// HDF5's subfiling writes by itself, past MPI-IO.
void look_for_subfiling(std::vector<RunFinding>& findings) {
  const char* driver = std::getenv("HDF5_DRIVER");
  bool asked_for = driver != nullptr && std::string_view(driver) == "subfiling";
  for (char** variable = environ; *variable != nullptr; ++variable) {
    asked_for = asked_for || std::string_view(*variable).starts_with("H5FD_SUBFILING");
  }
  if (asked_for) {
    findings.push_back({"the environment sets up HDF5's subfiling, which writes past MPI-IO: what it writes is not captured",
                        "unset HDF5_DRIVER and H5FD_SUBFILING_*, and open files with H5Pset_fapl_mpio"});
  }
}

// From 1.15 on PnetCDF has a way of its own past MPI-IO, which is switched off by a hint: those of the user come before that.
void look_for_own_way_of_pnetcdf(std::vector<RunFinding>& findings) {
  if (!asks_pnetcdf_for_gio()) return;
  findings.push_back({"PNETCDF_HINTS has nc_driver=gio: PnetCDF from 1.15 on writes past MPI-IO then: what it writes is not captured",
                      "take nc_driver=gio out of PNETCDF_HINTS"});
}

}  // namespace

bool asks_pnetcdf_for_gio() {
  const char* hints = std::getenv("PNETCDF_HINTS");
  std::string text = hints == nullptr ? "" : hints;
  std::erase(text, ' ');
  return (";" + text + ";").find(";nc_driver=gio;") != std::string::npos;
}

bool may_reach_other_hosts(const std::vector<std::string>& words) {
  const auto any = [&](const auto& names) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return is_one_of(word, names); });
  };
  const auto is_host_option = [](const std::string& word) {
    const std::string option = word.substr(0, word.find('='));
    return std::find(options_with_hosts.begin(), options_with_hosts.end(), option) != options_with_hosts.end();
  };
  if (any(on_hosts_of_job)) return true;
  return any(on_hosts_told) && (std::any_of(words.begin(), words.end(), is_host_option) ||
                                std::any_of(variables_of_jobs.begin(), variables_of_jobs.end(), [](const char* name) {
                                  return std::getenv(name) != nullptr;
                                }));
}

std::vector<Executable> programs_of(const std::vector<std::string>& words) {
  std::vector<Executable> programs;
  bool after_launcher = true;   // the next word may be the name of a program, from PATH too
  for (const std::string& word : words) {
    if (word.starts_with('-') || word.find('=') != std::string::npos) continue;
    const bool has_slash = word.find('/') != std::string::npos;
    const std::string path = after_launcher || has_slash ? find_program(word) : "";
    if (path.empty()) continue;
    after_launcher = is_launcher(word);
    if (!after_launcher) programs.push_back(examine(path));
  }
  return programs;
}

std::vector<RunFinding> examine_programs(const std::vector<Executable>& programs, const Executable& library) {
  std::vector<RunFinding> findings;
  const MpiLibrary made_for = mpi_of(library.libraries);
  for (const Executable& program : programs) {
    const MpiLibrary mpi = mpi_of(program.libraries);
    if (program.kind == Executable::Kind::statically_linked) {
      findings.push_back({fmt::format("'{}' is statically linked: nothing can be preloaded to it", program.path),
                          "link it dynamically, with the shared library of MPI"});
    } else if (program.changes_user && geteuid() != 0) {
      findings.push_back({fmt::format("'{}' runs as another user or with capabilities: the system preloads nothing to it", program.path),
                          "run a copy without the set-user-ID and set-group-ID bits and without capabilities"});
    } else if (mpi != MpiLibrary::none && mpi != made_for) {
      findings.push_back({fmt::format("'{}' uses {}, and '{}' was built with {}", program.path, name_of(mpi), library.path,
                                      name_of(made_for)),
                          "build GLEAN with the MPI of the program"});
    }
  }
  look_for_subfiling(findings);
  look_for_own_way_of_pnetcdf(findings);
  return findings;
}

RunNotes read_notes(const std::string& directory) {
  RunNotes notes;
  std::error_code ignored;
  notes.alive = std::filesystem::exists(directory + "/alive", ignored);
  std::ifstream other(directory + "/other");
  std::getline(other, notes.other_mpi);
  std::ifstream loaded(directory + "/loaded");
  for (std::string line; std::getline(loaded, line);) notes.loaded.push_back(line);
  return notes;
}

bool nothing_is_seen(const std::vector<Executable>& programs, const RunNotes& notes) {
  return !notes.alive && notes.other_mpi.empty() &&
         std::none_of(programs.begin(), programs.end(), [&](const Executable& program) { return is_loaded(notes, program); });
}

std::vector<RunFinding> explain(const std::vector<Executable>& programs, const Executable& library, const RunNotes& notes,
                                const std::vector<RunFinding>& known, bool has_failed) {
  if (notes.alive) return {};
  if (!notes.other_mpi.empty()) {
    return {{fmt::format("the program's MPI is {}, and '{}' was built with {}", notes.other_mpi, library.path,
                         name_of(mpi_of(library.libraries))),
             "build GLEAN with the MPI of the program"}};
  }
  std::vector<RunFinding> findings;
  for (const Executable& program : programs) {
    if (program.kind == Executable::Kind::statically_linked) continue;
    if (is_loaded(notes, program)) {
      findings.push_back({fmt::format("'{}' ran with the library, and did not initialize MPI", program.path),
                          mpi_of(program.libraries) == MpiLibrary::none
                              ? "does it use MPI? a library of MPI inside of it cannot be reached" : ""});
    } else if (program.kind == Executable::Kind::script) {
      findings.push_back({fmt::format("the script '{}' started nothing that initialized MPI with the library", program.path),
                          fmt::format("{}see whether it clears LD_PRELOAD; `glean run` can also stand in the script, before mpirun",
                                      has_failed ? "unless it has failed before: " : "")});
    } else if (program.kind == Executable::Kind::dynamic && !program.changes_user) {
      findings.push_back({fmt::format("'{}' did not get the library", program.path),
                          "see whether something on the way clears LD_PRELOAD; to other hosts mpirun of Open MPI passes it with "
                          "-x LD_PRELOAD (glean-run(1))"});
    }
  }
  if (findings.empty() && known.empty() && has_failed) {
    findings.push_back({"no process on this host has initialized MPI before the command failed", ""});
  } else if (findings.empty() && known.empty()) {
    findings.push_back({"no process on this host has initialized MPI with the library",
                        "to other hosts mpirun of Open MPI passes the environment with -x LD_PRELOAD (glean-run(1))"});
  }
  return findings;
}

}  // namespace glean::cli
