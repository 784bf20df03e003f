// SPDX-License-Identifier: BSD-3-Clause
#include "service/relocation.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "drain/current_names.hpp"
#include "pool/name_log.hpp"
#include "pool/published.hpp"

namespace glean::service {
namespace {

namespace fs = std::filesystem;

struct Move {
  pool::OutputKey output;
  store::FileNames from, to;
};

std::vector<Move> plan_moves(const pool::Pool& pool, const fs::path& directory) {
  std::vector<Move> moves;
  std::set<std::string> taken;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load(std::memory_order_acquire) != pool::OutputState::open) continue;
    Move move{{index, slot.generation}, {}, {}};
    try {
      move.from = drain::current_names(pool, move.output);
    } catch (const base::Error&) {
      continue;   // recovery names it
    }
    const fs::path before(move.from.final_path);
    fs::path final_path = directory / before.filename();
    if (before.empty() || final_path == before) continue;
    const auto is_free = [&] { return !taken.contains(final_path.string()) && !fs::exists(final_path); };
    if (!is_free()) final_path = directory / before.parent_path().filename() / before.filename();   // two directories of one job, perhaps
    if (!is_free()) {
      throw base::Error(base::Errc::exists, "'" + before.string() + "' cannot be completed as '" + final_path.string() +
                                                "': there is another file of that name", "name another directory; nothing was changed");
    }
    taken.insert(final_path.string());
    const bool in_place = move.from.working_path == move.from.final_path;
    const fs::path working = in_place ? final_path : final_path.parent_path() / fs::path(move.from.working_path).filename();
    move.to = {working.string(), final_path.string()};
    moves.push_back(std::move(move));
  }
  return moves;
}

void copy_durably(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error == std::errc::no_such_file_or_directory) return;   // nothing was written yet, or recovery says what is missing
  const int descriptor = error ? -1 : open(to.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_durable = descriptor >= 0 && fsync(descriptor) == 0;
  const int failed = error ? error.value() : errno;
  if (descriptor >= 0) close(descriptor);
  if (!is_durable) throw base::system_error(failed, "cannot copy '" + from + "' to '" + to + "'");
}

}  // namespace

void move_outputs_to(pool::Pool& pool, const std::string& directory, store::SystemCalls& calls) {
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  if (error || !fs::is_directory(place)) throw base::Error(base::Errc::not_found, "there is no directory '" + directory + "'");
  for (const Move& move : plan_moves(pool, place)) {
    fs::create_directories(fs::path(move.to.final_path).parent_path());
    copy_durably(move.from.working_path, move.to.working_path);
    pool::NameLog log(pool.name(), pool::NameLog::Make::yes);
    pool::NameChange change{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = move.output};
    move.to.final_path.copy(change.path.data(), change.path.size() - 1);
    move.to.working_path.copy(change.hidden.data(), change.hidden.size() - 1);
    if (!log.write(log.count(), change)) throw base::system_error(errno, "cannot note the new place of '" + move.from.final_path + "'");
    pool::OutputSlot& slot = pool.slot(move.output.slot);
    slot.is_renamed = 1;
    struct stat copied {};
    slot.working_inode = stat(move.to.working_path.c_str(), &copied) == 0 ? copied.st_ino : 0;
    slot.publishing_inode = 0;   // of the file that was copied
    if (move.from.working_path != move.from.final_path) calls.unlink(move.from.working_path.c_str());
  }
}

}  // namespace glean::service
