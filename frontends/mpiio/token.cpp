// SPDX-License-Identifier: BSD-3-Clause
#include "token.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace glean::mpiio {
namespace {

constexpr std::size_t most_spare = 16;

struct Spare {
  MPI_File file;
  int access;
  Hints hints;
};

struct Spares {
  std::mutex lock;
  std::vector<Spare> tokens;
};

Spares& spares() {
  static Spares& all = *new Spares;   // calls may come after destructors of statics
  return all;
}

// MPI_FILE_NULL: there is none.
MPI_File take_spare(int access, const Hints& hints) {
  const std::lock_guard lock(spares().lock);
  auto& tokens = spares().tokens;
  const auto serves = [&](const Spare& one) { return one.access == access && one.hints == hints; };
  const auto found = std::find_if(tokens.begin(), tokens.end(), serves);
  if (found == tokens.end()) return MPI_FILE_NULL;
  const MPI_File file = found->file;
  tokens.erase(found);
  return file;
}

bool keep(Spare spare) {
  const std::lock_guard lock(spares().lock);
  if (spares().tokens.size() >= most_spare) return false;
  spares().tokens.push_back(std::move(spare));
  return true;
}

// As that of a file that has just been opened.
void reset_error_handler(MPI_File file) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  PMPI_File_set_errhandler(file, handler);
  PMPI_Errhandler_free(&handler);
}

}  // namespace

Token::Token(int access, MPI_Info info) : access_(access) {
  hints_.add(info);
  file_ = take_spare(access, hints_);
  if (is_open()) reset_error_handler(file_);
  else if (PMPI_File_open(MPI_COMM_SELF, "/dev/null", access, info, &file_) != MPI_SUCCESS) file_ = MPI_FILE_NULL;
}

Token::~Token() {
  if (!is_open()) return;
  if (is_changed_ || !keep({file_, access_, std::move(hints_)})) PMPI_File_close(&file_);
}

void Token::close_spare() {
  const std::lock_guard lock(spares().lock);
  for (Spare& one : std::exchange(spares().tokens, {})) PMPI_File_close(&one.file);
}

}  // namespace glean::mpiio
