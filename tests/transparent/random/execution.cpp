// SPDX-License-Identifier: BSD-3-Clause
#include "execution.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

namespace transparent {
namespace {

// MPICH's ROMIO goes on with the datatype of a collective call that has begun, but does not keep it: bare, a rank that frees the datatype
// and makes another one before MPI_Wait writes as much as that one says.
#ifdef MPICH_NUMVERSION
constexpr bool collective_calls_keep_types = false;
#else
constexpr bool collective_calls_keep_types = true;
#endif

MPI_Datatype leaf_type(int bytes) {
  MPI_Datatype type = MPI_BYTE;
  if (bytes == 2) type = MPI_SHORT;
  if (bytes == 4) type = MPI_INT;
  if (bytes == 8) type = MPI_DOUBLE;
  MPI_Datatype copy;
  if (bytes <= 8) {
    MPI_Type_dup(type, &copy);
  } else {
    MPI_Type_contiguous(bytes, MPI_BYTE, &copy);
  }
  MPI_Type_commit(&copy);
  return copy;
}

MPI_Datatype type_of(const Shape& shape, int leaf_bytes) {
  MPI_Datatype leaf = leaf_type(leaf_bytes);
  MPI_Datatype type = build(shape, leaf, leaf_bytes);
  MPI_Type_free(&leaf);
  return type;
}

}  // namespace

Execution::Execution(const Scenario& scenario, const Simplify& how, const Place& where, Care care)
    : scenario_(scenario), how_(how), where_(where), directory_(where.directory + "/seed-" + std::to_string(scenario.seed)), care_(care),
      model_(scenario_), opened_(scenario_.files.size()) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
}

std::vector<std::string> Execution::run() {
  const int files = static_cast<int>(scenario_.files.size()), steps = static_cast<int>(scenario_.steps.size());
  if (rank_ == 0) {
    std::filesystem::remove_all(directory_);   // a run that did not come to its end has left it
    std::filesystem::create_directory(directory_);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int file = 0; file < files; ++file) prepare(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (where_.room >= 0) fill_disk();
  for (int file = 0; file < files; ++file) open(file);
  tell(-1, opened_again);
  for (int number = 0; number < steps; ++number) {
    if (how_.keep.empty() || how_.keep.contains(number)) step(number);
  }
  for (int file = 0; file < files; ++file) finish(file);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int file = 0; file < files; ++file) {
    if (place_of(file) == 0) look(file, Look::list, -1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int file = 0; file < files && !where_.leave; ++file) {
    if (place_of(file) == 0) remove_names(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0 && !where_.leave && rmdir(directory_.c_str()) != 0) {
    failed(-1, std::string("the directory cannot be removed in the end: ") + std::strerror(errno) + there());
  }
  return failures_;
}

int Execution::colour_of(int file) const { return colour(scenario_.files[static_cast<std::size_t>(file)].members, rank_); }
int Execution::place_of(int file) const { return place(scenario_.files[static_cast<std::size_t>(file)].members, rank_); }

std::string Execution::path(int file) const { return path_of(model_.name_of(file, colour_of(file), same_name)); }

void Execution::failed(int step, const std::string& what) {
  std::string text = "rank " + std::to_string(rank_);
  if (step >= 0) text += ", step " + std::to_string(step);
  failures_.push_back(text + ": " + what);
}

void Execution::ok(int code, int step, const char* call) {
  if (code == MPI_SUCCESS) return;
  if (where_.witness != nullptr) where_.witness->tell_failure(step >= 0 ? scenario_.steps[static_cast<std::size_t>(step)].file : file_);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  failed(step, std::string(call) + ": " + text + (error_class == MPI_ERR_NO_SUCH_FILE ? there() : ""));
}

void Execution::prepare(int file) {
  const FilePlan& plan = scenario_.files[static_cast<std::size_t>(file)];
  if (place(plan.members, rank_) != 0 || plan.prefilled == 0) return;
  std::string bytes;
  for (int i = 0; i < plan.prefilled; ++i) bytes += static_cast<char>(prefilled_byte(i));
  std::ofstream(path(file), std::ios::binary) << bytes;
}

void Execution::fill_disk() {
  if (rank_ == 0) {
    const std::int64_t free = static_cast<std::int64_t>(std::filesystem::space(where_.directory).available);
    const int descriptor = ::open((where_.directory + "/ballast").c_str(), O_WRONLY | O_CREAT, 0666);
    if (descriptor < 0 || posix_fallocate(descriptor, 0, std::max<std::int64_t>(1, free - where_.room)) != 0) {
      std::fputs("transparent_random: the disk cannot be filled\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    ::close(descriptor);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Execution::open(int file) {
  const Members members = scenario_.files[static_cast<std::size_t>(file)].members;
  Opened& opened = this->opened(file);
  file_ = file;
  if (opened.comm == MPI_COMM_NULL) MPI_Comm_split(MPI_COMM_WORLD, colour(members, rank_), rank_, &opened.comm);
  MPI_Info info = MPI_INFO_NULL;
  if (care_.barriers) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "disable");
  }
  ok(MPI_File_open(opened.comm, path(file).c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &opened.handle), -1, "open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

void Execution::step(int number) {
  const Step& step = scenario_.steps[static_cast<std::size_t>(number)];
  Opened& opened = this->opened(step.file);
  file_ = step.file;
  settle(step.file);
  if (step.kind != StepKind::access) complete_all(step.file);
  switch (step.kind) {
    case StepKind::view: {
      const View& view = step.views[static_cast<std::size_t>(place(scenario_.files[static_cast<std::size_t>(step.file)].members, rank_))];
      model_.set_view(step);
      MPI_Datatype etype = leaf_type(step.etype_bytes), filetype = type_of(view.shape, step.etype_bytes);
      ok(MPI_File_set_view(opened.handle, view.displacement, etype, filetype, "native", MPI_INFO_NULL), number, "set_view");
      MPI_Type_free(&etype);
      MPI_Type_free(&filetype);
      break;
    }
    case StepKind::access: access(step, number); break;
    case StepKind::seek:
      for (int rank = 0; rank < scenario_.ranks; ++rank) model_.sight(step.file, rank).pointer = step.value + 3 * rank;
      ok(MPI_File_seek(opened.handle, step.value + 3 * rank_, MPI_SEEK_SET), number, "seek");
      break;
    case StepKind::synchronize: synchronize(step.file); break;
    case StepKind::reopen:
      close(step.file, number);
      tell(number, opening_again);
      model_.open(step.file, same_name);
      open(step.file);
      tell(number, opened_again);
      break;
    case StepKind::set_size:
      synchronize(step.file);
      ok(MPI_File_set_size(opened.handle, step.value), number, "set_size");
      model_.set_size(step.file, step.value);
      synchronize(step.file);
      break;
    case StepKind::atomicity: {
      const bool has_its_name = model_.directory().find(model_.name_of(step.file, 0, same_name)) == model_.file(step.file).nodes.front();
      if (!has_its_name) break;   // docs/transparent.md, "Limits"
      ok(MPI_File_set_atomicity(opened.handle, step.value), number, "set_atomicity");
      break;
    }
    case StepKind::query:
      if (where_.witness == nullptr) query(step);   // of a file that is not open there is nothing to ask
      break;
    case StepKind::names: names(step, number); break;
    case StepKind::second_handle: second_handle(step, number); break;
  }
}

Execution::Memory Execution::memory_of(const Shape& shape, std::int64_t leaf_bytes, int count) {
  const Flat flat = flatten(shape, leaf_bytes);
  Memory memory;
  std::int64_t low = 0, high = 1;
  for (int i = 0; i < count; ++i) {
    for (const Piece& piece : flat.pieces) {
      const std::int64_t start = i * flat.extent() + piece.offset;
      low = std::min(low, start);
      high = std::max(high, start + piece.length);
      for (std::int64_t byte = 0; byte < piece.length; ++byte) memory.places.push_back(start + byte);
    }
  }
  memory.origin = -low;
  memory.bytes.assign(static_cast<std::size_t>(high - low), 0x55);
  return memory;
}

void Execution::access(const Step& step, int number) {
  Opened& opened = this->opened(step.file);
  const Sight before = model_.sight(step.file, rank_);
  // What a read finds is what is there before any rank does this step: no rank may read what another one writes in it.
  const Contents& contents = model_.contents(step.file, rank_);
  Pending pending{.step = number, .collective = step.collective, .split = step.timing == Timing::split};
  pending.action = model_.access(step, number)[static_cast<std::size_t>(rank_)];
  const Action& action = pending.action;
  const bool one_at_a_time = step.pointer == Pointer::shared && !step.collective && before.equal;
  if (one_at_a_time) MPI_Barrier(opened.comm);
  if (action.takes_part) {
    const Shape& shape = step.parts[static_cast<std::size_t>(rank_)].memory;
    pending.memory = memory_of(shape, before.etype_bytes, action.count);
    std::int64_t index = 0;
    pending.first = action.places.empty() ? 0 : action.places.front().offset;
    for (const Piece& piece : action.places) {
      pending.first = std::min(pending.first, piece.offset);
      pending.last = std::max(pending.last, piece.offset + piece.length);
      for (std::int64_t place = piece.offset; !step.write && place < piece.offset + piece.length; ++place) {
        pending.expected.push_back(contents.bytes[static_cast<std::size_t>(place)]);
        pending.defined.push_back(contents.defined[static_cast<std::size_t>(place)]);
      }
    }
    for (const std::int64_t place : pending.memory.places) {
      if (step.write) {
        pending.memory.bytes[static_cast<std::size_t>(pending.memory.origin + place)] = data_byte(scenario_.seed, number, rank_, index++);
      }
    }
    complete_overlapping(step.file, step.write, pending);
    MPI_Datatype type = type_of(shape, before.etype_bytes);
    opened.pending.push_back(std::move(pending));
    begin(step, opened.pending.back(), type);
    if (step.timing != Timing::blocking && step.collective && !collective_calls_keep_types) opened.pending.back().type = type;
    else MPI_Type_free(&type);   // the call that has begun keeps it
    if (step.timing == Timing::blocking || (!care_.nonblocking_collective && step.collective && step.timing == Timing::nonblocking)) {
      complete(opened, std::prev(opened.pending.end()));
    }
  }
  if (step.collective && step.write) opened.write_may_go_on = true;
  if (one_at_a_time) {
    complete_all(step.file);
    MPI_Barrier(opened.comm);
  }
}

void Execution::complete(Opened& opened, std::list<Pending>::iterator pending) {
  const Step& step = scenario_.steps[static_cast<std::size_t>(pending->step)];
  if (pending->split) {
    end(step, *pending);
  } else if (pending->request != MPI_REQUEST_NULL) {
    ok(MPI_Wait(&pending->request, &pending->status), pending->step, "Wait");
  }
  if (pending->type != MPI_DATATYPE_NULL) MPI_Type_free(&pending->type);
  int bytes = 0;
  MPI_Get_count(&pending->status, MPI_BYTE, &bytes);
  // Not all implementations set the status of a part that is empty, or of split calls.
  if (pending->action.count > 0 && !pending->split && bytes != static_cast<int>(pending->memory.places.size())) {
    failed(pending->step, call_of(step) + " moved " + std::to_string(bytes) + " bytes, says its status, instead of " +
                              std::to_string(pending->memory.places.size()));
  }
  if (!step.write) compare(*pending);
  // From now on the buffer is the program's again.
  std::fill(pending->memory.bytes.begin(), pending->memory.bytes.end(), std::uint8_t{0xee});
  opened.pending.erase(pending);
}

void Execution::complete_all(int file) {
  Opened& opened = this->opened(file);
  while (!opened.pending.empty()) complete(opened, opened.pending.begin());
}

void Execution::settle(int file) {
  Opened& opened = this->opened(file);
  for (auto pending = opened.pending.begin(); pending != opened.pending.end();) {
    const auto next = std::next(pending);
    if (pending->collective) complete(opened, pending);
    pending = next;
  }
  if (opened.write_may_go_on && care_.barriers) MPI_Barrier(opened.comm);
  opened.write_may_go_on = false;
}

void Execution::complete_overlapping(int file, bool write, const Pending& next) {
  Opened& opened = this->opened(file);
  for (auto pending = opened.pending.begin(); pending != opened.pending.end();) {
    const auto following = std::next(pending);
    const bool writes = write || scenario_.steps[static_cast<std::size_t>(pending->step)].write;
    if (writes && pending->first < next.last && next.first < pending->last) complete(opened, pending);
    pending = following;
  }
}

void Execution::compare(const Pending& pending) {
  const Memory& memory = pending.memory;
  std::vector<bool> data(memory.bytes.size());
  int wrong = 0;
  std::int64_t index = 0;
  std::string first;
  for (const Piece& piece : pending.action.places) {
    for (std::int64_t place = piece.offset; place < piece.offset + piece.length; ++place, ++index) {
      const auto i = static_cast<std::size_t>(index);
      const auto in_memory = static_cast<std::size_t>(memory.origin + memory.places[i]);
      data[in_memory] = true;
      ++bytes_compared_;
      if (pending.defined[i] == 0 || memory.bytes[in_memory] == pending.expected[i]) continue;
      if (wrong++ == 0) {
        first = "byte " + std::to_string(index) + " of the data, byte " + std::to_string(place) + " of the file, is " +
                std::to_string(memory.bytes[in_memory]) + " instead of " + std::to_string(pending.expected[i]);
      }
    }
  }
  const std::string call = call_of(scenario_.steps[static_cast<std::size_t>(pending.step)]);
  if (wrong > 0) failed(pending.step, call + ": " + std::to_string(wrong) + " bytes are wrong; " + first);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!data[i] && memory.bytes[i] != 0x55) return failed(pending.step, call + " has changed memory between the elements");
  }
}

void Execution::synchronize(int file) {
  Opened& opened = this->opened(file);
  // ompio refuses to synchronize a file while a request of any file is pending, on the rank that has it.
  for (int each = 0; each < static_cast<int>(opened_.size()); ++each) {
    if (each == file || care_.barriers) complete_all(each);
  }
  ok(MPI_File_sync(opened.handle), -1, "sync");
  MPI_Barrier(opened.comm);
  ok(MPI_File_sync(opened.handle), -1, "sync");
  model_.synchronize(file);
}

void Execution::finish(int file) {
  file_ = file;
  settle(file);
  complete_all(file);
  close(file, static_cast<int>(scenario_.steps.size()) + file);
  MPI_Comm_free(&opened(file).comm);
}

void Execution::remove_names(int file) {
  bool by_mpi = scenario_.seed % 2 == 0;
  const std::string base = base_name(file, colour_of(file));
  for (const auto& [name, entry] : model_.directory().entries()) {
    if (!name.starts_with(base)) continue;
    // A symbolic link that leads nowhere is nothing that all implementations of MPI-IO delete.
    const std::string path = path_of(name);
    const bool removed = (by_mpi && entry.node >= 0 ? MPI_File_delete(path.c_str(), MPI_INFO_NULL) : unlink(path.c_str())) == 0;
    if (!removed) failed(-1, name + " cannot be removed in the end");
    by_mpi = !by_mpi;
  }
}

}  // namespace transparent
