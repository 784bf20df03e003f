// SPDX-License-Identifier: BSD-3-Clause
#include "open_file.hpp"

#include <shared_mutex>
#include <unordered_map>

#include "frontends/mpiio/session.hpp"
#include "meaning.hpp"

namespace glean::pnetcdf {
namespace {

struct Files {
  std::shared_mutex lock;
  std::unordered_map<int, std::shared_ptr<OpenFile>> by_number;
};

Files& files() {
  static Files& all = *new Files;   // calls may come after destructors of statics
  return all;
}

}  // namespace

void OpenFile::enter(Mode mode) {
  opened_.mode = mode;
  if (mode == Mode::collective) is_being_made_ = false;   // not by a call that one rank makes by mistake
  forget_variables();
}

void OpenFile::wait_for_all() const {
  if (target()) static_cast<void>(mpiio::Session::barrier(comm()));
}

std::shared_ptr<mpiio::Target> OpenFile::target() const {
  auto target = opened_.target.lock();
  return target && target->output && !target->aside ? target : nullptr;
}

void OpenFile::tell_meaning(int ncid) {
  ++definitions_ended_;
  const auto target = this->target();
  if (!target || !target->output->claim_meaning(definitions_ended_)) return;
  try {
    const auto meaning = inquire_meaning(ncid, definitions_ended_);
    if (meaning) target->output->say_meaning(meaning->encode());
  } catch (const std::exception&) {   // then the drain does not know it, and its file is the same
  }
}

const Variable* OpenFile::variable(int ncid, int varid) {
  const auto found = variables_.find(varid);
  if (found != variables_.end()) return &found->second;
  auto variable = inquire_variable(ncid, varid);
  if (!variable) return nullptr;
  return &(variables_[varid] = std::move(*variable));
}

std::shared_ptr<OpenFile> find_file(int ncid) {
  const std::shared_lock lock(files().lock);
  const auto found = files().by_number.find(ncid);
  return found == files().by_number.end() ? nullptr : found->second;
}

void add_file(int ncid, std::shared_ptr<OpenFile> file) {
  const std::unique_lock lock(files().lock);
  files().by_number[ncid] = std::move(file);
}

void remove_file(int ncid) {
  std::shared_ptr<OpenFile> last;
  const std::unique_lock lock(files().lock);
  const auto found = files().by_number.find(ncid);
  if (found == files().by_number.end()) return;
  last = std::move(found->second);
  files().by_number.erase(found);
}

}  // namespace glean::pnetcdf
