// SPDX-License-Identifier: BSD-3-Clause
#include "passed_handle.hpp"

#include "session/byte_opening.hpp"

namespace glean::mpiio {

std::shared_ptr<PassedHandle> PassedHandle::of(std::shared_ptr<session::Core> core, MPI_Comm comm, const std::string& path) {
  pool::FileId file;
  if (!core->has_pool() || !session::members_of(*core, comm).leads || !pool::find_file(path, file)) return nullptr;
  if (pool::enter_passed(core->pool().header(), file)) return std::make_shared<PassedHandle>(std::move(core), file);
  core->warn_once("more files than there is room for are written past GLEAN at a time: opened once more, some of them may be captured");
  return nullptr;
}

PassedHandle::~PassedHandle() {
  if (core_->has_pool()) pool::leave_passed(core_->pool().header(), file_);
}

}  // namespace glean::mpiio
