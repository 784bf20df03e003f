// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs of PnetCDF: random NUMBER... What each rank is told goes to log.RANK, and the files stay. A program is the
// same for the same number, so two runs can be compared. Ranks put to the same elements only with a barrier between.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include <unistd.h>

#include "random_names.hpp"
#include "values.hpp"

namespace {

int rank, ranks;
std::FILE* out;

void say(const char* what, long long value) { std::fprintf(out, "%s %lld\n", what, value); }

class Program {
 public:
  explicit Program(unsigned number)
      : common_(number), own_(number * 1000003U + static_cast<unsigned>(rank) + 1), names_(number + 77),
        path_("case." + std::to_string(number) + ".nc") {}

  void run() {
    std::fprintf(out, "case %s\n", path_.c_str()), std::fflush(out);
    create();
    const int steps = 4 + one_of(common_, 14);
    for (int s = 0; s < steps; ++s) step(), MPI_Barrier(MPI_COMM_WORLD);
    if (independent_) leave_independent();
    wait_for(NC_REQ_ALL);
    say("detach", ncmpi_buffer_detach(file_));
    ask();
    say("close", ncmpi_close(file_));
    MPI_Barrier(MPI_COMM_WORLD);
    const std::string final_path = path_;
    path_ = rename_or_remove(names_, path_, rank, ranks, say);
    reopen();
    if (path_ != final_path && rank == 0) say("rename back", std::rename(path_.c_str(), final_path.c_str()));
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  void create() {
    const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
    const int format = one_of(common_, 3);
    is_cdf5_ = format == 2;
    MPI_Info info = make_hints();
    if (chance(common_, 20)) MPI_Info_set(info, "nc_in_place_swap", chance(common_, 50) ? "enable" : "disable");
    if (chance(common_, 20)) MPI_Info_set(info, "nc_var_align_size", "512");
    say("create", ncmpi_create(MPI_COMM_WORLD, path_.c_str(), NC_CLOBBER | formats[format], info, &file_));
    MPI_Info_free(&info);
    if (chance(common_, 40)) {
      int old = 0;
      say("set_fill", ncmpi_set_fill(file_, NC_FILL, &old));
      is_filled_ = true;
    }
    define(1 + one_of(common_, 6), true);
    say("attach", ncmpi_buffer_attach(file_, 1 << 20));
    say("enddef", chance(common_, 70) ? ncmpi_enddef(file_) : ncmpi__enddef(file_, 100, 4, 0, 4));
  }

  void define(int variables, bool with_dimensions) {
    if (with_dimensions) {
      int id = 0;
      if (chance(common_, 70)) {
        ncmpi_def_dim(file_, "records", NC_UNLIMITED, &id);
        dimensions_.push_back({id, 0});
      }
      for (int d = 0; d < 4; ++d) {
        const MPI_Offset length = 1 + one_of(common_, d == 0 ? 40 : 9);
        ncmpi_def_dim(file_, ("d" + std::to_string(d)).c_str(), length, &id);
        dimensions_.push_back({id, length});
      }
    }
    const bool has_unlimited = dimensions_[0].second == 0;
    for (int v = 0; v < variables; ++v) {
      const nc_type all[] = {NC_BYTE, NC_CHAR, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE, NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64};
      Variable variable{0, all[one_of(common_, is_cdf5_ ? 11 : 6)], {}, has_unlimited && chance(common_, 50)};
      std::vector<int> ids;
      const int rest = one_of(common_, 4) - (variable.has_records && chance(common_, 30) ? 1 : 0);
      if (variable.has_records) ids.push_back(dimensions_[0].first), variable.shape.push_back(0);
      for (int d = 0; d < rest; ++d) {
        const auto& [id, length] = dimensions_[dimensions_.size() - 4 + static_cast<std::size_t>(one_of(common_, 4))];
        ids.push_back(id), variable.shape.push_back(length);
      }
      const std::string name = "v" + std::to_string(variables_.size());
      say("def_var", ncmpi_def_var(file_, name.c_str(), variable.type, static_cast<int>(ids.size()), ids.data(), &variable.id));
      variables_.push_back(variable);
    }
  }

  Variable& any_variable() { return variables_[static_cast<std::size_t>(one_of(common_, static_cast<int>(variables_.size())))]; }

  void step() {
    switch (one_of(common_, 12)) {
      case 0: case 1: case 2: case 3: return independent_ ? put_some(put) : put_some(put_all);
      case 4: case 5: case 6: return put_some(chance(common_, 75) ? iput : bput);
      case 7: return end_some();
      case 8: return independent_ ? leave_independent() : enter_independent();
      case 9: return get();
      case 10: return redefine();
      default: return change();
    }
  }

  void enter_independent() {
    say("begin_indep", ncmpi_begin_indep_data(file_));
    independent_ = true;
  }
  void leave_independent() {
    say("end_indep", ncmpi_end_indep_data(file_));
    independent_ = false;
  }

  // Elements of one dimension that no other rank has, if it is the one that is shared out.
  void choose(MPI_Offset first, MPI_Offset length, Elements& elements, bool with_stride) {
    MPI_Offset start = 0, count = 0, stride = 1;
    if (length > 0) {
      if (with_stride && chance(own_, 50)) stride = 1 + one_of(own_, 3);
      start = one_of(own_, static_cast<int>(length));
      count = (chance(own_, 5) ? 0 : 1) * (1 + one_of(own_, static_cast<int>((length - start + stride - 1) / stride)));
    }
    elements.start.push_back(first + start), elements.count.push_back(count), elements.stride.push_back(stride);
  }

  Elements choose_elements(const Variable& variable, Kind kind) {
    Elements elements;
    const std::size_t dimensions = variable.shape.size();
    if (dimensions == 0) {
      elements.start = elements.count = elements.stride = elements.map = {1};
      elements.start = {0};
      return elements;
    }
    const auto shared = static_cast<std::size_t>(one_of(common_, static_cast<int>(dimensions)));
    const MPI_Offset base = one_of(common_, 8), each = 1 + one_of(common_, 3);
    for (std::size_t d = 0; d < dimensions; ++d) {
      MPI_Offset first = 0, length = variable.shape[d];
      if (d == 0 && variable.has_records) {
        first = base, length = each;
        if (d == shared) first += rank * each;
      } else if (d == shared) {
        first = length * rank / ranks;
        length = length * (rank + 1) / ranks - first;
      }
      choose(first, length, elements, kind == vars || kind == varm);
      if (length == 0) elements.start.back() = 0;
    }
    // The library makes records of a put without elements, too, and no bytes for them.
    const bool is_empty = std::find(elements.count.begin(), elements.count.end(), 0) != elements.count.end();
    if (variable.has_records && is_empty) elements.start[0] = elements.count[0] = 0;
    return elements;
  }

  // Buffers live until their requests have ended.
  std::vector<char>& buffer(std::size_t bytes) {
    buffers_.push_back(std::make_unique<std::vector<char>>(bytes + 8));
    return *buffers_.back();
  }

  void put_some(Verb verb) {
    const int number = verb == iput || verb == bput ? 1 + one_of(common_, 4) : 1;
    for (int i = 0; i < number; ++i) put_one(verb, any_variable());
  }

  void put_one(Verb verb, Variable& variable) {
    const bool later = verb == iput || verb == bput;
    if (variable.is_pending) return;
    // 1.12.3 sorts requests of several records wrongly, and ROMIO then writes to wrong places.
    const auto waits = [](const Variable& other) { return other.is_pending && other.has_records; };
    if (later && variable.has_records && std::any_of(variables_.begin(), variables_.end(), waits)) return;
    Kind kind = static_cast<Kind>(one_of(common_, kinds));
    // What all ranks put, they put the same.
    const bool same = kind == var || variable.shape.empty();
    Elements elements = choose_elements(variable, kind);
    MPI_Offset number = 1;
    if (kind == var) {
      elements.count = variable.shape;
      if (variable.has_records) {
        int id = 0;
        ncmpi_inq_unlimdim(file_, &id);
        ncmpi_inq_dimlen(file_, id, &elements.count[0]);
      }
      if (later || independent_) kind = vara;   // of all ranks at once and not together it would not be one thing
      if (kind == vara && !variable.shape.empty()) elements = choose_elements(variable, kind);
    }
    if (kind == var1) {
      // Nothing of it is this rank's.
      if (std::find(elements.count.begin(), elements.count.end(), 0) != elements.count.end()) kind = vara;
      else std::fill(elements.count.begin(), elements.count.end(), 1);
    }
    if (kind == varn) return put_list(verb, variable, elements, same);
    for (const MPI_Offset n : elements.count) number *= n;
    if (variable.shape.empty()) number = 1;
    Type type = choose_type(verb, variable);
    std::size_t spread = 1;
    elements.map.assign(elements.count.size(), 1);
    if (kind == varm) {   // transposed, or with gaps
      spread = 1 + static_cast<std::size_t>(one_of(own_, 2));
      MPI_Offset distance = static_cast<MPI_Offset>(spread);
      const bool transposed = chance(own_, 50);
      for (std::size_t d = 0; d < elements.count.size(); ++d) {
        const std::size_t at = transposed ? d : elements.count.size() - 1 - d;
        elements.map[at] = distance;
        distance *= std::max<MPI_Offset>(elements.count[at], 1);
      }
    }
    // A collective call that one rank alone makes wrongly hangs in the library.
    if (verb == put_all ? chance(common_, 4) : chance(own_, 4)) spoil(verb == put_all ? common_ : own_, variable, elements);
    call(verb, kind, type, variable, elements, number, spread, same);
  }

  Type choose_type(Verb verb, const Variable& variable) {
    const auto type = static_cast<Type>(one_of(own_, flexible));
    const bool is_refused = (type == text) != (variable.type == NC_CHAR);
    return chance(own_, 60) || (is_refused && verb == put_all) ? own_type(variable.type) : type;
  }

  void put_list(Verb verb, Variable& variable, const Elements& whole, bool same) {
    if (verb == put || verb == put_all) wait_for(NC_REQ_ALL);   // 1.12.3 ends what is pending there, and loses some of it
    Elements elements;
    MPI_Offset number = 0;
    if (!variable.shape.empty()) {   // the chosen box in pieces of its first dimension
      MPI_Offset rest = 1;
      for (std::size_t d = 1; d < whole.count.size(); ++d) rest *= whole.count[d];
      for (MPI_Offset done = 0; done < whole.count[0];) {
        const MPI_Offset most = variable.has_records ? 1 : 1 + one_of(own_, 3);   // of several 1.12.3 puts what lies behind them, too
        const MPI_Offset here = std::min(whole.count[0] - done, most);
        elements.starts.push_back(whole.start), elements.counts.push_back(whole.count);
        elements.starts.back()[0] += done, elements.counts.back()[0] = here;
        number += here * rest;
        done += here;
      }
      if (elements.starts.empty()) elements.starts.push_back(whole.start), elements.counts.push_back(whole.count);
      if (!variable.has_records) {   // of several records 1.12.3 and ROMIO write those to wrong places, too
        std::shuffle(elements.starts.begin(), elements.starts.end(), Random(1));
        std::shuffle(elements.counts.begin(), elements.counts.end(), Random(1));
      }
    } else {
      elements.starts = {{0}}, elements.counts = {{1}}, number = 1;
    }
    call(verb, varn, choose_type(verb, variable), variable, elements, number, 1, same);
  }

  void call(Verb verb, Kind kind, Type type, Variable& variable, const Elements& elements, MPI_Offset number, std::size_t spread,
            bool same) {
    const bool later = verb == iput || verb == bput;
    if (same) type = own_type(variable.type);
    const auto size = static_cast<std::size_t>(sizes[type]);
    const auto count = static_cast<std::size_t>(std::max<MPI_Offset>(number, 0));
    // The library asserts that text and numbers do not meet there.
    const bool is_flexible = chance(own_, 40) && (type == text) == (variable.type == NC_CHAR);
    const std::size_t gap = is_flexible && !same && kind != varm && chance(own_, 60) ? 1 + static_cast<std::size_t>(one_of(own_, 3)) : 0;
    auto& memory = buffer((count * spread + 1) * (gap + 1) * size);
    Random& values = same ? common_ : own_;
    const Random before = common_;
    const bool is_large = chance(own_, 5) && !same;
    for (std::size_t i = 0; i * size + size <= memory.size() - 8; ++i) {
      store(type, memory.data() + i * size, is_large ? 1e5 + one_of(values, 1000) : one_of(values, 120));
    }
    common_ = before;
    common_.discard(1);
    Memory given{memory.data(), static_cast<MPI_Offset>(count), datatype_of(type)};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    Type of_call = type;
    if (is_flexible) {
      of_call = flexible;
      if (gap != 0 && count != 0) {
        MPI_Type_vector(static_cast<int>(count), 1, static_cast<int>(gap + 1), datatype_of(type), &made);
        MPI_Type_commit(&made);
        given.count = 1, given.datatype = made;
      } else if (type == own_type(variable.type) && chance(own_, 30)) {
        given.datatype = MPI_DATATYPE_NULL;
      }
    }
    int request = -17;
    const int code = make_put(verb, kind, of_call, file_, variable.id, elements, given, &request);
    if (made != MPI_DATATYPE_NULL) MPI_Type_free(&made);
    std::fprintf(out, "put verb %d kind %d type %d var %d: %d, request %d\n", verb, kind, of_call, variable.id, code, later ? request : 0);
    if (!later) return;
    // 1.12.3 takes a list with a null one in it, as long as the list of what is pending, for that.
    if ((code == NC_NOERR || code == NC_ERANGE) && request != NC_REQ_NULL) requests_.push_back(request);
    variable.is_pending = true;
  }

  void wait_for(int number) {
    say("nreqs", pending_requests());
    say("wait", independent_ ? ncmpi_wait(file_, number, nullptr, nullptr) : ncmpi_wait_all(file_, number, nullptr, nullptr));
    forget();
  }

  int pending_requests() {
    int number = -1;
    ncmpi_inq_nreqs(file_, &number);
    return number;
  }

  void forget() {
    requests_.clear();
    buffers_.clear();
    for (Variable& variable : variables_) variable.is_pending = false;
    say("nreqs", pending_requests());
  }

  void end_some() {
    switch (one_of(common_, 5)) {
      case 0: return wait_for(NC_REQ_ALL);
      case 1: return wait_for(NC_PUT_REQ_ALL);
      case 2:
        say("cancel", ncmpi_cancel(file_, chance(own_, 50) ? NC_REQ_ALL : NC_PUT_REQ_ALL, nullptr, nullptr));
        return forget();
      case 3: {   // one of them, or the rest in another order
        std::shuffle(requests_.begin(), requests_.end(), own_);
        std::vector<int> some;
        if (!requests_.empty()) some.push_back(requests_.back()), requests_.pop_back();
        end_these(some, chance(common_, 30));
        return;
      }
      default:
        std::shuffle(requests_.begin(), requests_.end(), own_);
        end_these(requests_, false);
        wait_for(NC_REQ_ALL);
    }
  }

  void end_these(std::vector<int>& requests, bool cancels) {
    std::vector<int> statuses(requests.size() + 1, -99);
    const int number = static_cast<int>(requests.size());
    int code = 0;
    if (cancels) code = ncmpi_cancel(file_, number, requests.data(), statuses.data());
    else if (independent_) code = ncmpi_wait(file_, number, requests.data(), statuses.data());
    else code = ncmpi_wait_all(file_, number, requests.data(), statuses.data());
    say(cancels ? "cancel" : "wait", code);
    for (const int request : requests) say(" request", request);
    for (const int status : statuses) say(" status", status);
    say("nreqs", pending_requests());
  }

  void get() {
    const Variable& variable = any_variable();
    Offsets count = variable.shape, start(count.size() + 1, 0);
    int id = 0;
    MPI_Offset records = 0;
    ncmpi_inq_unlimdim(file_, &id);
    if (id >= 0) ncmpi_inq_dimlen(file_, id, &records);
    if (variable.has_records) count[0] = std::max<MPI_Offset>(records - 1, 0);
    // Behind the end of the file the library reads nothing, and returns what was in its memory.
    const bool is_in_file = is_filled_ || records > 0;
    std::size_t number = 1;
    for (const MPI_Offset n : count) number *= static_cast<std::size_t>(n);
    count.push_back(0);
    std::vector<char> data(number * 8 + 8);
    const int code = independent_ ? ncmpi_get_vara(file_, variable.id, start.data(), count.data(), data.data(), 0, MPI_DATATYPE_NULL)
                                  : ncmpi_get_vara_all(file_, variable.id, start.data(), count.data(), data.data(), 0, MPI_DATATYPE_NULL);
    say("get", code);
    std::fprintf(out, " hash %llx\n", is_in_file ? hash_of(data) : 0);
  }

  void redefine() {
    if (independent_) leave_independent();
    if (!chance(common_, 50)) wait_for(NC_REQ_ALL);
    is_filled_ = false;
    say("redef", ncmpi_redef(file_));
    // In define mode: the errors are the library's.
    const double zero = 0;
    const MPI_Offset at[4] = {0, 0, 0, 0};
    if (variables_[0].shape.size() < 4) say("put in define mode", ncmpi_put_var1_double_all(file_, 0, at, &zero));
    define(1 + one_of(common_, 2), false);
    const int value = one_of(common_, 1000);
    say("att", ncmpi_put_att_int(file_, NC_GLOBAL, "value", NC_INT, 1, &value));
    say("enddef", ncmpi_enddef(file_));
  }

  void change() {
    const double zero = 0;
    const MPI_Offset at[4] = {0, 0, 0, 0};
    Variable& variable = any_variable();
    switch (one_of(common_, 6)) {
      case 0: return say("sync", ncmpi_sync(file_));
      case 1: return say("sync_numrecs", ncmpi_sync_numrecs(file_));
      case 2:
        if (variable.has_records && !independent_) say("fill_rec", ncmpi_fill_var_rec(file_, variable.id, one_of(common_, 5)));
        return;
      case 3:
        say("wrong mode", independent_ ? ncmpi_put_var1_double_all(file_, variable.id, at, &zero)
                                       : ncmpi_put_var1_double(file_, variable.id, at, &zero));
        return;
      case 4: return say("no such variable", (independent_ ? ncmpi_put_var_double : ncmpi_put_var_double_all)(file_, 77, &zero));
      default: return ask();
    }
  }

  void ask() {
    MPI_Offset size = 0;
    int number = 0;
    say("inq_put_size", ncmpi_inq_put_size(file_, &size));
    say(" size", size);
    say("inq_num_rec_vars", ncmpi_inq_num_rec_vars(file_, &number));
    for (const auto& [id, length] : dimensions_) {
      ncmpi_inq_dimlen(file_, id, &size);
      say(" length", size);
    }
    const int code = ncmpi_inq_buffer_usage(file_, &size);
    say("buffer_usage", code == NC_NOERR ? size : code);
  }

  void reopen() {
    MPI_Info info = make_hints();
    say("open", ncmpi_open(MPI_COMM_WORLD, path_.c_str(), chance(common_, 50) ? NC_WRITE : NC_NOWRITE, info, &file_));
    MPI_Info_free(&info);
    independent_ = false;
    say("attach", ncmpi_buffer_attach(file_, 1 << 20));
    for (int i = 0; i < 3; ++i) {
      get(), MPI_Barrier(MPI_COMM_WORLD);
      put_some(put_all), MPI_Barrier(MPI_COMM_WORLD);
      put_some(iput), wait_for(NC_REQ_ALL), MPI_Barrier(MPI_COMM_WORLD);
    }
    ask();
    say("close", ncmpi_close(file_));
    MPI_Barrier(MPI_COMM_WORLD);
  }

  Random common_, own_, names_;
  std::string path_;
  int file_ = -1;
  bool is_cdf5_ = false, independent_ = false, is_filled_ = false;
  std::vector<std::pair<int, MPI_Offset>> dimensions_;
  std::vector<Variable> variables_;
  std::vector<int> requests_;
  std::vector<std::unique_ptr<std::vector<char>>> buffers_;
};
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  out = std::fopen(("log." + std::to_string(rank)).c_str(), "w");
  for (int i = 1; i < argc; ++i) Program(static_cast<unsigned>(std::atoi(argv[i]))).run(), std::fflush(out);
  std::fclose(out);
  MPI_Finalize();
}
