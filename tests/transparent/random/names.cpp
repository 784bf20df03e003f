// SPDX-License-Identifier: BSD-3-Clause
#include "names.hpp"

namespace transparent {
namespace {

enum { first = 0, backup = 1, one = 2, two = 3, fresh = 4, latest = 5 };   // names

int any_name(Random& random) { return random.one_in(3) ? same_name : random.between(first, latest); }

NameCall any_call(Random& random) {
  NameCall call{.kind = static_cast<NameCallKind>(random.between(0, static_cast<int>(NameCallKind::cut_by_open)))};
  call.from = any_name(random);
  call.to = random.between(first, latest);
  call.bytes = random.between(0, 6000);
  return call;
}

// What programs do with the file that they have just closed. Returns the name under which they write the next one.
int draw_habit(Random& random, std::vector<NameCall>& calls) {
  using enum NameCallKind;
  switch (random.between(0, 11)) {
    case 0: calls = {{move, one, two}, {move, backup, one}, {move, same_name, backup}}; return random.one_in(2) ? fresh : first;
    case 1: calls = {{move, same_name, first}}; return fresh;
    case 2: calls = {{move, first, backup}, {move, same_name, first}}; return fresh;
    case 3: calls = {{random.one_in(2) ? remove : remove_by_mpi, same_name}}; return random.between(first, fresh);
    case 4: calls = {{random.one_in(2) ? remove : remove_by_mpi, any_name(random)}}; return random.between(first, fresh);
    case 5: calls = {{remove, latest}, {symbolic_link, same_name, latest}}; return random.between(first, latest);
    case 6: calls = {{link, same_name, random.between(first, fresh)}}; return random.between(first, latest);
    case 7: calls = {{cut, any_name(random), same_name, random.between(0, 6000)}}; return any_name(random);
    case 8: calls = {{cut_by_open, any_name(random)}}; return any_name(random);
    case 9:
    case 10: calls = {{make, same_name, marker_name}}; return random.between(first, fresh);
    default:
      for (int i = random.between(1, 4); i > 0; --i) calls.push_back(any_call(random));
      return any_name(random);
  }
}

std::string name_text(int name) { return name == same_name ? "NAME" : std::string("F") + suffixes[static_cast<std::size_t>(name)]; }

}  // namespace

NamesPlan draw_names(Random& random, int ranks) {
  NamesPlan plan;
  plan.while_open = random.one_in(7);
  if (plan.while_open) {   // what of an open file is as without GLEAN; rename is not (docs/transparent.md, "Limits")
    NameCall call{.kind = random.one_in(2) ? NameCallKind::link : random.one_in(2) ? NameCallKind::remove : NameCallKind::remove_by_mpi};
    if (call.kind == NameCallKind::link) call.to = random.between(first, fresh);
    plan.calls.push_back(call);
  } else {
    plan.open_as = draw_habit(random, plan.calls);
    std::vector<NameCall> more;
    if (random.one_in(3)) draw_habit(random, more);
    plan.calls.insert(plan.calls.end(), more.begin(), more.end());
    plan.cut_first = random.one_in(4);
  }
  const int place = random.between(0, ranks - 1);
  const bool looks = random.one_in(2);
  for (NameCall& call : plan.calls) {
    call.place = random.one_in(4) ? random.between(0, ranks - 1) : place;
    call.looker = random.one_in(2) ? call.place : random.between(0, ranks - 1);
    if (looks || random.one_in(6)) call.look = static_cast<Look>(random.between(1, 3));
  }
  return plan;
}

SecondHandle draw_second_handle(Random& random) {
  SecondHandle second{.comm = static_cast<SecondComm>(random.between(0, 2))};
  second.name = any_name(random);
  second.place = random.between(0, 63);
  second.write = random.one_in(2);
  second.offset = random.between(0, 3000);
  second.bytes = random.between(1, 3000);
  return second;
}

std::string text_of(const NameCall& call) {
  static constexpr const char* names[] = {"unlink", "MPI_File_delete", "rename", "link", "symlink", "truncate", "open O_TRUNC", "make"};
  static constexpr const char* looks[] = {"", "stat", "read", "list"};
  std::string text = std::string(names[static_cast<int>(call.kind)]) + " ";
  if (call.kind != NameCallKind::make) text += name_text(call.from);
  if (call.kind == NameCallKind::cut) text += " to " + std::to_string(call.bytes);
  const bool has_two_names = call.kind >= NameCallKind::move && call.kind <= NameCallKind::symbolic_link;
  if (has_two_names) text += " ";
  if (call.kind == NameCallKind::make || has_two_names) text += name_text(call.to);
  text += " (place " + std::to_string(call.place) + ")";
  if (call.look != Look::none) {
    text += std::string(", ") + looks[static_cast<int>(call.look)] + " (place " + std::to_string(call.looker) + ")";
  }
  return text;
}

std::string text_of(const NamesPlan& plan) {
  std::string text = plan.while_open ? ": synchronize" : ": close";
  for (const NameCall& call : plan.calls) text += "; " + text_of(call);
  if (!plan.while_open) text += "; open as " + name_text(plan.open_as) + (plan.cut_first ? ", set_size 0" : "");
  return text;
}

std::string text_of(const SecondHandle& second) {
  static constexpr const char* comms[] = {"MPI_COMM_SELF", "the same communicator", "every second rank of the communicator"};
  std::string text = std::string(" of ") + comms[static_cast<int>(second.comm)];
  if (second.comm == SecondComm::self) text += " at place " + std::to_string(second.place);
  text += " on " + name_text(second.name) + ": read all";
  if (second.write) text += ", write " + std::to_string(second.bytes) + " bytes at " + std::to_string(second.offset);
  return text;
}

}  // namespace transparent
