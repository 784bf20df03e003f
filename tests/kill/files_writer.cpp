// SPDX-License-Identifier: BSD-3-Clause
//
// Writes files through MPI-IO, and knows nothing of GLEAN: new ones and again, cut to nothing first or in place, several at a time,
// whose bytes are known. It leaves word of every step that a rank has begun and ended (witness.hpp).
//
//   mpirun -n R files_writer DIRECTORY WITNESS SEED       the program of that seed, as soon as there is a file WITNESS.go
//   mpirun -n R files_writer --references DIRECTORY SEED  step by step; keeps what generation N holds when it is closed as .N, and
//                                                         fails where that is not what files_program says
//   files_writer --list SEED R                            one line for each generation: name, manner, first member, members, steps, and
//                                                         which of these are syncs, with commas
//   files_writer --check PATH BASE N SEED R captured|begun BEGUN:ENDED...
//       whether the file can be there, after ranks have come so far in generation N, which began with the file BASE ('' for none)
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "files_program.hpp"
#include "witness.hpp"

namespace {

using kill::Bytes;
using kill::Call;
using kill::Generation;
using kill::Kind;
using kill::Manner;
using kill::Phase;
using kill::Program;
using kill::Range;
using kill::Step;
using kill::Witness;

void need(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(what + ": " + text);
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Writer {
 public:
  enum class Keep { nothing, references };

  Writer(Program program, std::string directory, Witness witness, Keep keep)
      : program_(std::move(program)), directory_(std::move(directory)), witness_(witness), keep_(keep) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    // Other ranks write meanwhile what would be read and written back.
    MPI_Info_create(&hints_);
    MPI_Info_set(hints_, "romio_ds_write", "disable");
    MPI_Comm_split(MPI_COMM_WORLD, rank_ < ranks_ / 2 ? 0 : 1, rank_, &half_);
    witness_.reach(Phase::in_session);
  }

  void run() {
    std::mt19937 own(program_.seed + 2 + static_cast<unsigned>(rank_));
    std::map<std::uint32_t, std::uint32_t> done;
    for (const std::uint32_t index : program_.order) {
      const Generation& generation = program_.generations[index];
      const std::uint32_t number = done[index]++;
      // A name is used by others than before: a rank that comes later has to know that they have closed it.
      if (number == 0 && has_other_members(generation)) MPI_Barrier(MPI_COMM_WORLD);
      if (generation.has(rank_)) {
        witness_.enter_end(index, number + 1);
        step(generation, number);
        witness_.ended(index, number + 1);
      }
      if (keep_ == Keep::references) MPI_Barrier(MPI_COMM_WORLD);
      else if (own() % 4 == 0) usleep(static_cast<useconds_t>(own() % 2000));
      if (keep_ == Keep::references && generation.steps[number].kind == Kind::close && rank_ == 0) keep(generation);
      if (keep_ == Keep::references) MPI_Barrier(MPI_COMM_WORLD);
    }
    witness_.reach(Phase::all_closed);
  }

 private:
  struct Open {
    MPI_File file = MPI_FILE_NULL;
    MPI_Datatype view = MPI_DATATYPE_NULL;
  };

  [[nodiscard]] bool has_other_members(const Generation& generation) const {
    for (std::uint32_t earlier = generation.index; earlier-- > 0;) {
      const Generation& before = program_.generations[earlier];
      if (before.name != generation.name) continue;
      return before.first_member != generation.first_member || before.members != generation.members;
    }
    return false;
  }

  [[nodiscard]] MPI_Comm comm(const Generation& generation) const {
    return generation.members == ranks_ ? MPI_COMM_WORLD : generation.members == 1 ? MPI_COMM_SELF : half_;
  }

  // Member m's bytes: blocks of it, one for each round of all members.
  void take_view(const Generation& generation, Open& open, const Step& step) {
    const int owner = generation.owner(step, rank_ - generation.first_member);
    if (open.view == MPI_DATATYPE_NULL) {
      MPI_Datatype block = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(static_cast<int>(generation.block), MPI_BYTE, &block);
      MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(generation.block) * generation.members, &open.view);
      MPI_Type_commit(&open.view);
      MPI_Type_free(&block);
    }
    need(MPI_File_set_view(open.file, static_cast<MPI_Offset>(generation.place(owner, 0)), MPI_BYTE, open.view, "native", MPI_INFO_NULL),
         "MPI_File_set_view");
  }

  Bytes contents(const Generation& generation, std::uint32_t number, Range range) const {
    const int owner = generation.owner(generation.steps[number], rank_ - generation.first_member);
    Bytes bytes(range.bytes);
    for (std::uint64_t i = 0; i < range.bytes; ++i) bytes[i] = program_.value(generation, number, generation.place(owner, range.first + i));
    return bytes;
  }

  void write(const Generation& generation, MPI_File file, std::uint32_t number) {
    const Range range = program_.range(generation, number, rank_ - generation.first_member);
    Bytes bytes = contents(generation, number, range);
    const auto at = static_cast<MPI_Offset>(range.first);
    const int count = static_cast<int>(range.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    // What lies in a hole after a collective write is anything, bare.
    switch (keep_ == Keep::references ? Call::at : generation.steps[number].call) {
      case Call::at: code = MPI_File_write_at(file, at, bytes.data(), count, MPI_BYTE, MPI_STATUS_IGNORE); break;
      case Call::at_all: code = MPI_File_write_at_all(file, at, bytes.data(), count, MPI_BYTE, MPI_STATUS_IGNORE); break;
      case Call::nonblocking:
        code = MPI_File_iwrite_at(file, at, bytes.data(), count, MPI_BYTE, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
      case Call::pointer:
        need(MPI_File_seek(file, at, MPI_SEEK_SET), "MPI_File_seek");
        code = MPI_File_write(file, bytes.data(), count, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
      case Call::split:
        need(MPI_File_write_at_all_begin(file, at, bytes.data(), count, MPI_BYTE), "MPI_File_write_at_all_begin");
        code = MPI_File_write_at_all_end(file, bytes.data(), MPI_STATUS_IGNORE);
        break;
    }
    need(code, "writing " + generation.name);
  }

  // What this rank has just written.
  void read_back(const Generation& generation, MPI_File file, std::uint32_t number) {
    std::uint32_t written = number;
    while (generation.steps[written].kind != Kind::write) --written;
    const Range range = program_.range(generation, written, rank_ - generation.first_member);
    Bytes bytes(range.bytes);
    need(MPI_File_read_at(file, static_cast<MPI_Offset>(range.first), bytes.data(), static_cast<int>(range.bytes), MPI_BYTE,
                          MPI_STATUS_IGNORE), "reading " + generation.name);
    if (bytes != contents(generation, written, range)) throw std::runtime_error(generation.name + ": read is not what was written");
  }

  void step(const Generation& generation, std::uint32_t number) {
    const Step& step = generation.steps[number];
    const std::string path = directory_ + "/" + generation.name;
    const bool is_first = rank_ == generation.first_member;
    const MPI_Comm comm = this->comm(generation);
    Open& open = open_[generation.index];
    switch (step.kind) {
      case Kind::remove_old:
        if (is_first) MPI_File_delete(path.c_str(), MPI_INFO_NULL);   // it may not be there
        break;
      case Kind::open: {
        const int create = generation.is_in_place() ? 0 : MPI_MODE_CREATE;
        if (generation.manner == Manner::remove) MPI_Barrier(comm);
        need(MPI_File_open(comm, path.c_str(), MPI_MODE_RDWR | create, hints_, &open.file), "opening " + path);
        if (generation.manner != Manner::replace) take_view(generation, open, step);
        break;
      }
      case Kind::empty:
        need(MPI_File_set_size(open.file, 0), "MPI_File_set_size");
        take_view(generation, open, step);
        break;
      case Kind::write: write(generation, open.file, number); break;
      case Kind::turn:
        MPI_Barrier(comm);
        take_view(generation, open, step);
        break;
      case Kind::read: read_back(generation, open.file, number); break;
      case Kind::sync: need(MPI_File_sync(open.file), "MPI_File_sync"); break;
      case Kind::resize:
        MPI_Barrier(comm);
        need(MPI_File_set_size(open.file, static_cast<MPI_Offset>(step.size)), "MPI_File_set_size");
        MPI_Barrier(comm);
        break;
      case Kind::close:
        need(MPI_File_close(&open.file), "closing " + path);
        MPI_Type_free(&open.view);
        open_.erase(generation.index);
        break;
    }
  }

  void keep(const Generation& generation) {
    const std::string path = directory_ + "/" + generation.name;
    const bool is_old = generation.name == kill::always_old;
    Bytes& model = files_.try_emplace(generation.name, is_old ? read_file(directory_ + "/.old") : Bytes{}).first->second;
    if (!generation.is_in_place()) model.clear();
    kill::apply(program_, generation, model);
    if (read_file(path) != model) {
      throw std::runtime_error(path + " is not as expected after generation " + std::to_string(generation.index));
    }
    std::filesystem::copy_file(path, directory_ + "/." + std::to_string(generation.index));
  }

  Program program_;
  std::string directory_;
  Witness witness_;
  Keep keep_;
  int rank_ = 0, ranks_ = 0;
  MPI_Comm half_ = MPI_COMM_NULL;
  MPI_Info hints_ = MPI_INFO_NULL;
  std::map<std::uint32_t, Open> open_;
  std::map<std::string, Bytes> files_;   // what they hold
};

// The seed; with `all:` before it all ranks open all files.
Program program_of(const std::string& seed, int ranks) {
  const bool by_all = seed.starts_with("all:");
  return kill::make_program(static_cast<unsigned>(std::stoul(by_all ? seed.substr(4) : seed)), ranks,
                            by_all ? kill::Openers::all : kill::Openers::some);
}

void go(const std::vector<std::string>& arguments) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Program program = program_of(arguments.back(), ranks);
  if (arguments[0] == "--references") return Writer(std::move(program), arguments[1], {}, Writer::Keep::references).run();
  Witness witness(arguments[1] + "." + std::to_string(rank), program.generations.size());
  witness.reach(Phase::started);
  while (access((arguments[1] + ".go").c_str(), F_OK) != 0) usleep(500);   // it might be over before it is seen
  Writer(std::move(program), arguments[0], witness, Writer::Keep::nothing).run();
  MPI_Finalize();
  witness.reach(Phase::session_closed);
}

int list(const Program& program) {
  static constexpr const char* manners[] = {"fresh", "replace", "remove", "update", "append"};
  for (const Generation& generation : program.generations) {
    std::printf("%s %s %d %d %zu ", generation.name.c_str(), manners[static_cast<int>(generation.manner)], generation.first_member,
                generation.members, generation.steps.size());
    for (std::size_t step = 0; step < generation.steps.size(); ++step) {
      if (generation.steps[step].kind == Kind::sync) std::printf("%zu,", step);
    }
    std::printf("\n");
  }
  return 0;
}

int check(const std::vector<std::string>& words) {
  const Program program = program_of(words[4], std::stoi(words[5]));
  std::vector<kill::Progress> progress;
  for (auto word = words.begin() + 7; word != words.end(); ++word) {
    const auto colon = word->find(':');
    progress.push_back({static_cast<std::uint32_t>(std::stoul(word->substr(0, colon))),
                        static_cast<std::uint32_t>(std::stoul(word->substr(colon + 1)))});
  }
  const Bytes base = words[2].empty() ? Bytes{} : read_file(words[2]);
  const std::string problem =
      problem_of(program, program.generations.at(std::stoul(words[3])), base, progress, words[6] == "captured", read_file(words[1]));
  if (!problem.empty()) std::printf("%s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--list") return list(program_of(arguments[1], std::stoi(arguments[2])));
  if (arguments.size() > 7 && arguments[0] == "--check") return check(arguments);
  if (arguments.size() != 3) {
    std::fprintf(stderr, "usage: files_writer DIRECTORY WITNESS SEED | --references DIRECTORY SEED | --list SEED RANKS | --check …\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int finalized = 0;
  try {
    go(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "files_writer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}
