// SPDX-License-Identifier: BSD-3-Clause
#include "session/striping.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <filesystem>
#include <optional>

#include "base/units.hpp"
#include "session/core.hpp"
#include "session/own_calls.hpp"
#include "topology/discover/striping.hpp"

namespace glean::session {
namespace {

// Types of statfs(2) of file systems that MPI libraries stripe files on: Lustre, PVFS2 and OrangeFS, PanFS.
constexpr std::array<unsigned long, 3> striped = {0x0BD00BD0, 0x20030528, 0xAAD7AAEA};

// ompio of Open MPI 4.1 aborts the job where a path has about 245 characters: it puts it into a buffer with more of its own.
#ifdef OPEN_MPI
constexpr std::size_t path_max = 200;
#else
constexpr std::size_t path_max = PATH_MAX - 1;
#endif

std::optional<std::int64_t> number_of(const StripingHints& hints, const char* name) {
  const auto found = hints.find(name);
  if (found == hints.end()) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [rest, error] = std::from_chars(found->second.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

MPI_Info info_of(const StripingHints& hints) {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  for (const auto& [name, value] : hints) PMPI_Info_set(info, name.c_str(), value.c_str());
  return info;
}

// By the profiling name, past what interposes the other one. What fails is not the program's business: its error handler is not called.
// Not exclusively, and to be read as well: ompio on Lustre makes the file first and opens it then, and has looked at hints of files that
// are also read only.
int make_file(const std::string& path, MPI_Info info) {
  MPI_Errhandler of_program = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &of_program);
  PMPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  const OwnCalls here;   // ompio tries locks on a file beside it, which it removes
  MPI_File file = MPI_FILE_NULL;
  const int code = PMPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  if (code == MPI_SUCCESS) PMPI_File_close(&file);
  PMPI_File_set_errhandler(MPI_FILE_NULL, of_program);
  PMPI_Errhandler_free(&of_program);
  return code;
}

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  return text.data();
}

}  // namespace

StripingHints striping_hints(const base::Striping& settings, const StripingHints& of_program) {
  StripingHints hints = of_program;
  if (settings.factor > 0) hints["striping_factor"] = std::to_string(settings.factor);
  if (settings.unit_bytes > 0) hints["striping_unit"] = std::to_string(settings.unit_bytes);
  if (settings.start_device >= 0) hints["start_iodevice"] = std::to_string(settings.start_device);
  return hints;
}

bool has_stripes(const std::string& path) {
  struct statfs status {};
  const std::string directory = std::filesystem::absolute(path).parent_path();
  if (statfs(directory.c_str(), &status) != 0) return false;
  const auto type = static_cast<unsigned long>(status.f_type) & 0xFFFFFFFF;
  return std::find(striped.begin(), striped.end(), type) != striped.end();
}

std::string missed_stripes(const std::string& path, const StripingHints& hints) {
  const auto found = topology::discover_striping(path);
  if (!found) return {};
  std::string missed;
  const auto count = number_of(hints, "striping_factor"), unit = number_of(hints, "striping_unit");
  if (count && *count > 0 && found->count != *count) missed = fmt::format("{} of {} stripes", found->count, *count);
  if (unit && *unit > 0 && found->bytes != static_cast<base::Bytes>(*unit)) {
    missed += fmt::format("{}stripes of {} instead of {}", missed.empty() ? "" : ", ", base::exact_bytes(found->bytes),
                          base::exact_bytes(static_cast<base::Bytes>(*unit)));
  }
  return missed;
}

void tell_where_none_are(Core& core, const std::string& path, const base::Striping& settings) {
  if (has_stripes(path)) return;
  if (settings != base::Striping{}) return core.notice(Core::Notice::no_stripes);
  core.warn_once("striping hints of the program have no effect: files are written where the file system has no stripes",
                 base::LogLevel::info);
}

bool make_striped_file(Core& core, const std::string& path, const base::Striping& settings, const StripingHints& of_program) {
  const StripingHints hints = striping_hints(settings, of_program);
  if (hints.empty() || access(path.c_str(), F_OK) == 0) return false;
  tell_where_none_are(core, path, settings);
  constexpr char without[] = "striping hints do not reach all files: ";
  if (path.size() > path_max) {
    core.warn_once(fmt::format("{}the MPI library is not asked to make one whose path has more than {} characters", without, path_max));
    return false;
  }
  MPI_Info info = info_of(hints);
  const int code = make_file(path, info);
  PMPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    core.warn_once(fmt::format("{}the MPI library does not make them: {}", without, text_of(code)));
    return false;
  }
  if (const std::string missed = missed_stripes(path, hints); !missed.empty()) {
    core.warn_once(fmt::format("the MPI library has not made files as striping hints say: {}", missed));
  }
  return true;
}

}  // namespace glean::session
