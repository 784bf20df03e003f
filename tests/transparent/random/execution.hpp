// SPDX-License-Identifier: BSD-3-Clause
// Goes through a scenario with MPI-IO, and compares everything that is read with the model, and the names that are there.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <mpi.h>

#include "model.hpp"
#include "witness.hpp"

namespace transparent {

// What the implementation below is not trusted with.
struct Care {
  // Barriers after collective writes, and no data sieving. ROMIO and ompio return from a collective write while another
  // rank still writes this rank's bytes, or with the bytes of holes as it has read them before.
  bool barriers = true;
  bool nonblocking_collective = true;   // romio321 of Open MPI 4.1.4 crashes in it
};

// Where a scenario runs, and what is left of it.
struct Place {
  std::string directory;          // that of the scenario is in it
  bool leave = false;             // the files stay when it ends
  Witness* witness = nullptr;     // is told how far this rank is
  std::int64_t room = -1;         // of the disk, once the files are there that were there before
};

class Execution {
 public:
  Execution(const Scenario& scenario, const Simplify& how, const Place& where, Care care);

  // Collective over MPI_COMM_WORLD. Returns what was wrong on this rank.
  std::vector<std::string> run();

  [[nodiscard]] std::int64_t bytes_compared() const { return bytes_compared_; }

 private:
  struct Memory {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> places;   // of the data, byte by byte
    std::int64_t origin = 0;
    void* buffer() { return bytes.data() + origin; }
  };
  struct Pending {
    int step;
    bool collective, split;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;                   // of the memory, where it has to be kept until the call is complete
    Memory memory = {};
    std::vector<std::uint8_t> expected = {}, defined = {};   // of a read
    Action action = {};
    MPI_Status status{};
    std::int64_t first = 0, last = 0;              // the bytes of the file that it may touch lie between
  };
  struct Opened {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_File handle = MPI_FILE_NULL;
    std::list<Pending> pending;
    bool write_may_go_on = false;
  };

  void prepare(int file);
  void fill_disk();
  void open(int file);
  void step(int number);
  void access(const Step& step, int number);
  void begin(const Step& step, Pending& pending, MPI_Datatype type);
  void begin_shared(const Step& step, Pending& pending, MPI_Datatype type);
  void end(const Step& step, Pending& pending);   // of a split call
  void complete(Opened& opened, std::list<Pending>::iterator pending);
  void complete_all(int file);
  void settle(int file);   // what was begun collectively
  void complete_overlapping(int file, bool write, const Pending& next);
  void compare(const Pending& pending);
  void query(const Step& step);
  void synchronize(int file);
  void finish(int file);
  void remove_names(int file);

  // What is around the files: name_calls.cpp.
  void close(int file, int number);
  void names(const Step& step, int number);
  int make(const NameCall& call, const std::string& from, const std::string& to);   // 0 or an errno; MPI's errors are EIO
  void look(int file, Look look, int number);
  void look_at(int file, const std::string& name, const Entry& entry, bool read, int number);
  void compare_published(int file, int number);   // as processes see it that do not wait
  void second_handle(const Step& step, int number);
  void use_second_handle(MPI_Comm comm, const Step& step, int number);

  static Memory memory_of(const Shape& shape, std::int64_t leaf_bytes, int count);
  [[nodiscard]] std::string path(int file) const;   // under which it is open, or opened next
  [[nodiscard]] std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] int colour_of(int file) const;
  [[nodiscard]] int place_of(int file) const;
  void tell(int number, int event) const { if (where_.witness != nullptr) where_.witness->tell(number, event); }
  [[nodiscard]] Opened& opened(int file) { return opened_[static_cast<std::size_t>(file)]; }
  void failed(int step, const std::string& what);
  [[nodiscard]] std::string there() const;   // what is in the directory, to be said with a failure
  void ok(int code, int step, const char* call);

  const Scenario& scenario_;
  const Simplify& how_;
  Place where_;
  std::string directory_;   // of the scenario
  Care care_;
  Model model_;
  int rank_ = 0;
  int file_ = 0;   // of the call that is being made
  std::vector<Opened> opened_;
  std::vector<std::string> failures_;
  std::int64_t bytes_compared_ = 0;
};

}  // namespace transparent
