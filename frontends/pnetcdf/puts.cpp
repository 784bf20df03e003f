// SPDX-License-Identifier: BSD-3-Clause
#include "puts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "counting.hpp"
#include "frontends/mpiio/call.hpp"
#include "library.hpp"
#include "session/agreement.hpp"
#include "session/place_writer.hpp"
#include "store/meaning.hpp"

namespace glean::pnetcdf {
namespace {

// A put that can be captured.
struct Prepared {
  const Variable* variable;
  std::vector<Slab> slabs;
  Memory memory;
  std::vector<std::byte> values;                 // of PendingPut
  std::uint64_t records_before, records_after;   // that the library knows, and that it has to

  [[nodiscard]] Bytes bytes() const { return elements_of(slabs) * variable->element_bytes(); }
};

int error_of(const base::Error& error) { return error.code() == base::Errc::no_space ? NC_ENO_SPACE : NC_EWRITE; }

bool fits_into_file(const Variable& variable, const std::vector<Slab>& slabs) {
  return std::all_of(slabs.begin(), slabs.end(), [&](const Slab& slab) { return pattern_of(variable, slab).is_valid(); });
}

bool is_in_mode(const OpenFile& file, Way way) {
  switch (way) {
    case Way::independent: return file.mode() == Mode::independent;
    case Way::collective: return file.mode() == Mode::collective;
    case Way::nonblocking: return file.is_in_data_mode();
    case Way::buffered: return false;   // the library has a buffer for it, and says how full it is
  }
  return false;
}

// 1.12.3 writes several records of one part of a list one behind the other, over what lies between, and strided records of one element as
// if nothing lay between; there it looks for these, too. 1.14 and 1.15 write strided records of which one element each is put without the
// stride. So the file must be as the library makes it.
bool is_misplaced(const Variable& variable, const Selection& selection, const std::vector<Slab>& slabs) {
  if (!variable.has_records) return false;
  const auto has_several = [](const Slab& slab) { return slab.count[0] > 1; };
  if (selection.kind == Selection::Kind::list) return std::any_of(slabs.begin(), slabs.end(), has_several);
  const auto is_strided = [&](const Slab& slab) { return has_several(slab) && slab.stride[0] > 1; };
  const bool are_apart = variable.strides[0] != variable.element_bytes();   // other variables lie between the records
  const bool may_be_wrong = is_at_least(1, 13) || (variable.shape.size() == 1 && are_apart);
  return may_be_wrong && std::any_of(slabs.begin(), slabs.end(), is_strided);
}

// A collective call that waits for other ranks in the library: then all have to leave it to the library, or none. From 1.14 on one rank
// may write for others.
bool is_agreed_on(const Put& put, const Variable& variable) {
  return put.way == Way::collective &&
         (variable.has_records || put.selection.kind == Selection::Kind::list || is_at_least(1, 14));
}

// The library sorts requests by their first record, and in its list a request is at one place.
bool is_in_one_record(const Variable& variable, const std::vector<Slab>& slabs) {
  return !variable.has_records || std::all_of(slabs.begin(), slabs.end(), [&](const Slab& slab) {
    return slab.count[0] == 1 && slab.start[0] == slabs.front().start[0];
  });
}

// Whether 1.12.3 takes the values of a nonblocking put when it is posted; others it reads, and swaps in place, in the program's memory at
// the wait. By then a program may have changed what it has no need of, in Fortran without knowing: a section of an array is in memory of
// the compiler's that is gone.
bool takes_when_posted(const Memory& memory, Bytes bytes) { return !memory.is_plain() || bytes <= 4096; }

// None: the call is the library's.
std::optional<Prepared> prepare(OpenFile& file, const Put& put) {
  if (!is_in_mode(file, put.way) || !file.target()) return std::nullopt;
  const Variable* variable = file.variable(put.ncid, put.varid);
  if (variable == nullptr) return std::nullopt;
  const MPI_Offset records = inquire_records(put.ncid, *variable);
  auto slabs = slabs_of(*variable, put.selection, records, file.has_small_records());
  if (!slabs || is_misplaced(*variable, put.selection, *slabs) || !fits_into_file(*variable, *slabs)) return std::nullopt;
  const bool is_late = put.way == Way::nonblocking;
  if (is_late && !is_in_one_record(*variable, *slabs)) return std::nullopt;
  const auto range = is_agreed_on(put, *variable) ? Memory::Range::of_types : Memory::Range::of_values;
  auto memory = Memory::of(put.buffer, put.selection, *variable, *slabs, file.format(), range);
  if (!memory) return std::nullopt;
  const auto after = records_after(*variable, *slabs);
  std::vector<std::byte> values;
  if (const Bytes bytes = elements_of(*slabs) * variable->element_bytes(); is_late && takes_when_posted(*memory, bytes)) {
    values.resize(bytes);
    memory->copy_out(0, values);
    if (!memory->all_copied_fit()) return std::nullopt;
  }
  return Prepared{variable, std::move(*slabs), std::move(*memory), std::move(values), static_cast<std::uint64_t>(records), after};
}

// What fails is the library's.
std::optional<Prepared> try_prepare(OpenFile& file, const Put& put) {
  try {
    return prepare(file, put);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// In how many writes they are captured at most.
std::uint64_t writes_for(const session::ByteOutput& output, const Variable& variable, const std::vector<Slab>& slabs) {
  if (slabs.size() == 1) return 1;
  base::Extent extent{std::numeric_limits<Bytes>::max(), 0};
  Bytes end = 0;
  std::uint64_t descents = 0;
  for (const Slab& slab : slabs) {
    const mesh::Pattern place = pattern_of(variable, slab);
    if (place.bytes() == 0) continue;
    if (place.offset < end) ++descents;
    end = place.end();
    extent = {std::min(extent.begin, place.offset), std::max(extent.end, end)};
  }
  if (extent.empty()) return 0;
  return session::PlaceWriter::writes_for(output, elements_of(slabs) * variable.element_bytes(), slabs.size(), extent, descents);
}

// Into the pool: `copy_out` as Memory's. Returns an error code.
template <class CopyOut>
int capture(OpenFile& file, int varid, const Variable& variable, const std::vector<Slab>& slabs, CopyOut copy_out) {
  auto* session = mpiio::Session::current();
  const auto target = file.target();
  if (session == nullptr || !target) return NC_EWRITE;
  const mpiio::Blocked blocked(*session);
  const std::uint32_t name = store::Meaning::Name{file.definitions_ended(), static_cast<std::uint32_t>(varid)}.word();
  std::unique_lock lock(session->one_at_a_time(), std::defer_lock);
  const auto error = session::caught([&] {
    const std::uint64_t writes = writes_for(*target->output, variable, slabs);
    const auto collective_count = target->output->keep_pace(elements_of(slabs) * variable.element_bytes(), writes);
    lock.lock();
    target->written = true;
    const session::ByteOutput::CopyOut copy = copy_out;
    session::PlaceWriter writer(*target->output, collective_count, copy, slabs.size(), name);
    auto write = [&](const mesh::Pattern& place) { writer.add(place); };
    mpiio::JoinedRuns joined(write);
    for (const Slab& slab : slabs) joined.add(pattern_of(variable, slab));
    joined.finish();
    writer.finish();
    if (!target->output->has_others()) return;   // or else they find it in the file when this call returns
    lock.unlock();
    const auto up_to = target->output->wait_for_ranks();
    lock.lock();
    target->output->flush(up_to, session::ByteOutput::Then::read);
  });
  if (!error) return NC_NOERR;
  if (!target->output->failure()) base::log(base::LogLevel::error, "'{}': {}", file.path(), error->what());
  return error_of(*error);
}

// The last element of the last record, or of all, as the library is told of it.
struct LastElement {
  explicit LastElement(const Variable& variable, const std::vector<Slab>& slabs, const Memory& memory) : type(memory.element_type()) {
    std::size_t which = 0;
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      if (!variable.has_records || slabs[i].last(0) >= slabs[which].last(0)) which = i;
    }
    std::uint64_t elements = 0;
    for (std::size_t i = 0; i <= which; ++i) elements += slabs[i].elements();
    value = memory.element(elements - 1);
    for (std::size_t d = 0; d < slabs[which].count.size(); ++d) start.push_back(static_cast<MPI_Offset>(slabs[which].last(d)));
    start.push_back(0);   // never empty
    count.assign(start.size(), 1);
  }
  std::array<std::byte, 8> value;
  MPI_Datatype type;
  std::vector<MPI_Offset> start, count;
};

// The number of records is the library's, and a list is a request of its, for which all ranks wait, as they do from 1.15 on in each
// collective put. It gets an element of what is captured already, or none; 1.15.0 hangs when a rank has none. Adds what it has written
// to `bytes`.
int call_library(const Put& put, const Prepared& prepared, MPI_Offset& bytes) {
  const bool makes_records = prepared.records_after > prepared.records_before;
  const bool is_list = put.selection.kind == Selection::Kind::list;
  if (makes_records || is_list || (put.way == Way::collective && is_at_least(1, 15))) {
    LastElement last(*prepared.variable, prepared.slabs, prepared.memory);
    bytes += static_cast<MPI_Offset>(prepared.variable->element_bytes());
    if (is_list) {   // never an empty one: 1.12.3 takes that for all requests that are pending, if there is one
      MPI_Offset* starts[] = {last.start.data()};
      MPI_Offset* counts[] = {last.count.data()};
      const auto call = put.way == Way::collective ? GLEAN_PNETCDF_ORIGINAL(ncmpi_put_varn_all) : GLEAN_PNETCDF_ORIGINAL(ncmpi_put_varn);
      return call(put.ncid, put.varid, 1, starts, counts, last.value.data(), 1, last.type);
    }
    const auto call = put.way == Way::collective ? GLEAN_PNETCDF_ORIGINAL(ncmpi_put_vara_all) : GLEAN_PNETCDF_ORIGINAL(ncmpi_put_vara);
    return call(put.ncid, put.varid, last.start.data(), last.count.data(), last.value.data(), 1, last.type);
  }
  if (put.way != Way::collective || !prepared.variable->has_records) return NC_NOERR;
  const std::vector<MPI_Offset> none(prepared.variable->shape.size(), 0);
  return GLEAN_PNETCDF_ORIGINAL(ncmpi_put_vara_all)(put.ncid, put.varid, none.data(), none.data(), nullptr, 0, MPI_DATATYPE_NULL);
}

int capture_pending(OpenFile& file, int ncid, PendingPut& pending) {
  const Variable* variable = file.variable(ncid, pending.varid);
  if (pending.is_captured || variable == nullptr) return NC_NOERR;
  pending.is_captured = true;
  return capture(file, pending.varid, *variable, pending.slabs, [&](Bytes from, std::span<std::byte> into) {
    if (pending.values.empty()) pending.memory.copy_out(from, into);
    else std::copy_n(pending.values.begin() + static_cast<std::ptrdiff_t>(from), into.size(), into.begin());
  });
}

// Its request has ended.
void forget_pending(OpenFile& file, int ncid, int request) {
  const PendingPut& pending = *file.pending.at(request);
  const Variable* variable = file.variable(ncid, pending.varid);
  if (pending.is_captured && variable != nullptr) {
    file.unseen_bytes += static_cast<MPI_Offset>((elements_of(pending.slabs) - 1) * variable->element_bytes());
  }
  file.pending.erase(request);
}

// 1.12.3 ends requests that are pending in calls that write a list, too; the next one has the number of one of them then.
int capture_ended(OpenFile& file, int ncid) {
  int left = 0, code = NC_NOERR;
  if (file.pending.empty() || GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_nreqs)(ncid, &left) != NC_NOERR || left != 0) return NC_NOERR;
  while (!file.pending.empty()) {
    const int request = file.pending.begin()->first;
    const int mine = capture_pending(file, ncid, *file.pending.at(request));
    if (code == NC_NOERR) code = mine;
    forget_pending(file, ncid, request);
  }
  return code;
}

// For the report.
void note(OpenFile& file, const Variable& variable, std::uint64_t records, Bytes bytes) {
  mesh::Shape shape = variable.shape;
  if (variable.has_records) shape[0] = records;
  mpiio::Session::datasets().add(file.path(), variable.name, std::string(mesh::name_of(variable.external)), shape, bytes);
}

void note(OpenFile& file, const Prepared& put) {
  note(file, *put.variable, std::max(put.records_before, put.records_after), put.bytes());
}

// Nothing where a value does not fit: then the call is the library's, and what it writes comes after what was captured.
std::optional<int> put_now(OpenFile& file, const Put& put, const Prepared& prepared) {
  const int mine = capture(file, put.varid, *prepared.variable, prepared.slabs,
                           [&](Bytes from, std::span<std::byte> into) { prepared.memory.copy_out(from, into); });
  if (!prepared.memory.all_copied_fit()) return std::nullopt;
  captured().count(put.call);
  note(file, prepared);
  MPI_Offset seen = 0;
  const int code = call_library(put, prepared, seen);
  file.unseen_bytes += static_cast<MPI_Offset>(prepared.bytes()) - seen;
  const int ended = capture_ended(file, put.ncid);
  return mine != NC_NOERR ? mine : code != NC_NOERR ? code : ended;
}

int put_later(OpenFile& file, const Put& put, Prepared prepared) {
  captured().count(put.call);
  note(file, prepared);
  LastElement last(*prepared.variable, prepared.slabs, prepared.memory);
  auto pending = std::make_unique<PendingPut>(PendingPut{put.varid, std::move(prepared.slabs), std::move(prepared.memory), last.value,
                                                      std::move(prepared.values)});
  int request = NC_REQ_NULL;
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_iput_vara)(put.ncid, put.varid, last.start.data(), last.count.data(),
                                                           pending->last_element.data(), 1, last.type, &request);
  if (put.request != nullptr) *put.request = request;
  if (code == NC_NOERR) file.pending[request] = std::move(pending);
  return code;
}

// Notes the selection of a call that was the library's.
void note_selection(OpenFile& file, int ncid, int varid, const Selection& selection) {
  const Variable* variable = file.variable(ncid, varid);
  if (variable == nullptr) return;
  const MPI_Offset records = inquire_records(ncid, *variable);
  const auto slabs = slabs_of(*variable, selection, records, file.has_small_records());
  if (!slabs) return;
  note(file, *variable, std::max(static_cast<std::uint64_t>(records), records_after(*variable, *slabs)),
       elements_of(*slabs) * variable->element_bytes());
}

// What was put, with values that did not fit perhaps.
bool has_put(int code) { return code == NC_NOERR || code == NC_ERANGE; }

template <class Note>
int pass_through(Call call, int ncid, const Original& original, Note note_it) {
  passed_through().count(call);
  const int code = original();
  const auto file = mpiio::Session::current() != nullptr ? find_file(ncid) : nullptr;
  if (!file) return code;
  if (has_put(code)) note_it(*file);
  const int ended = capture_ended(*file, ncid);
  return code != NC_NOERR ? code : ended;
}

// The requests that a call names, of those that are captured when they end.
std::vector<int> named(const OpenFile& file, int number, const int* requests) {
  std::vector<int> names;
  if (number == NC_REQ_ALL || number == NC_PUT_REQ_ALL) {
    for (const auto& [request, pending] : file.pending) names.push_back(request);
  }
  for (int i = 0; requests != nullptr && i < number; ++i) {
    if (file.pending.contains(requests[i])) names.push_back(requests[i]);
  }
  return names;
}

// A call that names requests which it does not have the library may refuse as a whole. That others are puts which are captured, or its own,
// shows by their number.
bool has_all_that_are_named(const OpenFile& file, int ncid, int number, const int* requests) {
  int all = 0;
  if (requests == nullptr || number <= 0 || GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_nreqs)(ncid, &all) != NC_NOERR) return true;
  std::set<int> others;
  for (int i = 0; i < number; ++i) {
    if (requests[i] != NC_REQ_NULL && !file.pending.contains(requests[i])) others.insert(requests[i]);
  }
  return others.size() + file.pending.size() <= static_cast<std::size_t>(all);
}

// Those that the library no longer has after a call that has returned `code`.
std::vector<int> ended(const OpenFile& file, int ncid, int code, int number, const int* requests, const std::vector<int>& before) {
  int left = 0;   // of reads, too
  const bool asked_for_all = code == NC_NOERR && (number == NC_REQ_ALL || number == NC_PUT_REQ_ALL);
  const bool none_left = GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_nreqs)(ncid, &left) == NC_NOERR && left == 0;
  if (asked_for_all || none_left) return named(file, NC_PUT_REQ_ALL, nullptr);
  std::vector<int> names;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const int request = before[i];
    if (requests[i] == NC_REQ_NULL && file.pending.contains(request)) names.push_back(request);
  }
  return names;
}

int end_pending(OpenFile& file, Ending ending, int ncid, int number, int* requests, int* statuses, const Original& original) {
  const Mode needed = ending == Ending::wait_all ? Mode::collective : Mode::independent;
  const bool waits = ending != Ending::cancel;
  int mine = NC_NOERR;
  std::map<int, int> failed;   // what could not be captured, and why
  const auto capture_these = [&](const std::vector<int>& names) {
    for (const int request : names) {
      const int code = capture_pending(file, ncid, *file.pending.at(request));
      if (code != NC_NOERR) failed[request] = code;
      if (mine == NC_NOERR) mine = code;
    }
  };
  // Before the library's call, which waits for other ranks: a rank that returns from it reads what all have put.
  if (waits && file.mode() == needed && has_all_that_are_named(file, ncid, number, requests)) capture_these(named(file, number, requests));
  const std::vector<int> before(requests, requests == nullptr || number < 0 ? requests : requests + number);
  const int code = original();
  const auto over = ended(file, ncid, code, number, requests, before);
  if (waits && code == NC_NOERR) capture_these(over);
  for (const int request : over) forget_pending(file, ncid, request);
  for (std::size_t i = 0; statuses != nullptr && i < before.size(); ++i) {
    if (const auto found = failed.find(before[i]); found != failed.end()) statuses[i] = found->second;
  }
  return mine != NC_NOERR ? mine : code;
}

// In these modes the library refuses such a call, on this rank only perhaps.
bool can_be_collective(const OpenFile& file) { return file.mode() != Mode::independent && file.mode() != Mode::define; }

// A call that writes. A collective put may be the library's on one rank only, which then must not wait for the others in it.
class WritingCall {
 public:
  WritingCall(const OpenFile& file, bool is_collective) : target_(file.target()) {
    if (!target_) return;
    int ranks = 0;
    PMPI_Comm_size(file.comm(), &ranks);
    if (is_collective) call_.emplace(*target_, file.comm(), mpiio::CollectiveCall::Kind::write, ranks == target_->ranks);
    target_->is_put_to = true;
  }
  ~WritingCall() {
    if (target_) target_->is_put_to = false;
  }
  WritingCall(const WritingCall&) = delete;
  WritingCall& operator=(const WritingCall&) = delete;

 private:
  std::shared_ptr<mpiio::Target> target_;
  std::optional<mpiio::CollectiveCall> call_;
};

}  // namespace

int put(const Put& put, Original original) noexcept {
  const auto file = mpiio::Session::current() == nullptr ? nullptr : find_file(put.ncid);
  std::optional<WritingCall> writing;
  const bool is_collective = put.way == Way::collective && file && can_be_collective(*file);
  if (file && (is_collective || put.way == Way::independent)) writing.emplace(*file, is_collective);
  auto prepared = file ? try_prepare(*file, put) : std::nullopt;
  if (prepared && put.way == Way::nonblocking) return put_later(*file, put, std::move(*prepared));
  if (prepared) {
    if (const auto code = put_now(*file, put, *prepared)) return *code;
  }
  return pass_through(put.call, put.ncid, original, [&](OpenFile& of) { note_selection(of, put.ncid, put.varid, put.selection); });
}

int put_filetype(Call call, int ncid, int varid, MPI_Datatype filetype, Original original) noexcept {
  return pass_through(call, ncid, original, [&](OpenFile& file) {
    const Variable* variable = file.variable(ncid, varid);
    MPI_Count bytes = 0;
    if (variable == nullptr || filetype == MPI_DATATYPE_NULL) return;
    PMPI_Type_size_x(filetype, &bytes);
    note(file, *variable, static_cast<std::uint64_t>(inquire_records(ncid, *variable)), static_cast<Bytes>(bytes));
  });
}

int put_several(Call call, int ncid, const std::vector<int>& varids, const std::vector<Selection>& selections,
                Original original) noexcept {
  return pass_through(call, ncid, original, [&](OpenFile& file) {
    for (std::size_t i = 0; i < varids.size(); ++i) note_selection(file, ncid, varids[i], selections[i]);
  });
}

int end_requests(Ending ending, int ncid, int number, int* requests, int* statuses, Original original) noexcept {
  const auto file = mpiio::Session::current() == nullptr ? nullptr : find_file(ncid);
  if (!file) return original();
  std::optional<WritingCall> writing;
  if (ending != Ending::cancel) writing.emplace(*file, ending == Ending::wait_all && can_be_collective(*file));
  if (file->pending.empty()) return original();
  return end_pending(*file, ending, ncid, number, requests, statuses, original);
}

}  // namespace glean::pnetcdf
