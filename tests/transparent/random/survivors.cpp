// SPDX-License-Identifier: BSD-3-Clause
#include "survivors.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

namespace transparent {

Survivors::Survivors(const Scenario& scenario, const Simplify& how, const std::string& directory, const std::string& witness)
    : scenario_(scenario), how_(how), directory_(directory + "/seed-" + std::to_string(scenario.seed)),
      witnesses_(read_witnesses(witness, scenario.ranks)), model_(scenario_) {
  for (int file = 0; file < static_cast<int>(scenario.files.size()); ++file) {
    const FilePlan& plan = scenario.files[static_cast<std::size_t>(file)];
    for (int colour = 0; colour < colours(plan.members, scenario.ranks); ++colour) {
      groups_.push_back({.file = file, .colour = colour, .base = base_name(file, colour), .gone = {}});
      if (plan.prefilled > 0) closed_once_.insert(model_.file(file).nodes[static_cast<std::size_t>(colour)]);
    }
  }
}

std::vector<std::string> Survivors::check() {
  const int steps = static_cast<int>(scenario_.steps.size());
  const bool was_there = std::all_of(witnesses_.begin(), witnesses_.end(), [](const Testimony& each) { return each.moment >= 0; });
  if (!was_there) return {};   // some rank had not opened its files yet
  for (int number = 0; number < steps; ++number) {
    if (how_.keep.empty() || how_.keep.contains(number)) step(number);
  }
  for (int file = 0; file < static_cast<int>(scenario_.files.size()); ++file) close(file, steps + file);
  for (Group& group : groups_) {
    if (!group.has_ended) end(group, nullptr);
    compare(group);
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".glean-") != std::string::npos) problems_.push_back("left behind: " + name);
  }
  return problems_;
}

std::vector<int> Survivors::ranks_of(const Group& group) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < scenario_.ranks; ++rank) {
    if (colour(scenario_.files[static_cast<std::size_t>(group.file)].members, rank) == group.colour) ranks.push_back(rank);
  }
  return ranks;
}

bool Survivors::all_have(const Group& group, int moment) const {
  const std::vector<int> ranks = ranks_of(group);
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return witnesses_[static_cast<std::size_t>(rank)].moment >= moment; });
}

bool Survivors::any_has(const Group& group, int moment) const {
  const std::vector<int> ranks = ranks_of(group);
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return witnesses_[static_cast<std::size_t>(rank)].moment >= moment; });
}

void Survivors::step(int number) {
  const Step& step = scenario_.steps[static_cast<std::size_t>(number)];
  switch (step.kind) {
    case StepKind::view: model_.set_view(step); break;
    case StepKind::access: static_cast<void>(model_.access(step, number)); break;
    case StepKind::seek:
      for (int rank = 0; rank < scenario_.ranks; ++rank) model_.sight(step.file, rank).pointer = step.value + 3 * rank;
      break;
    case StepKind::synchronize: model_.synchronize(step.file); break;
    case StepKind::set_size:
      model_.synchronize(step.file);
      model_.set_size(step.file, step.value);
      break;
    case StepKind::atomicity:
    case StepKind::query: break;
    case StepKind::reopen:
      close(step.file, number);
      open(step.file, number, same_name);
      break;
    case StepKind::names:
      if (!step.names.while_open) close(step.file, number);
      else model_.synchronize(step.file);
      call_names(step, number);
      if (step.names.while_open) break;
      open(step.file, number, step.names.open_as);
      if (step.names.cut_first) model_.set_size(step.file, 0);
      break;
    case StepKind::second_handle:
      if (model_.may_open_twice(step.second, step.file)) model_.write_twice(step, number);
      break;
  }
}

void Survivors::close(int file, int number) {
  for (Group& group : groups_) {
    if (group.file != file || group.has_ended) continue;
    if (!all_have(group, moment_of(number, closed))) {
      end(group, nullptr);
      continue;
    }
    const int node = model_.file(file).nodes[static_cast<std::size_t>(group.colour)];
    closed_once_.insert(node);
    group.is_open = false;
    for (const int rank : ranks_of(group)) {
      const auto [first, last] = witnesses_[static_cast<std::size_t>(rank)].failures.equal_range(file);
      const auto is_of_this_open = [&](const auto& failure) {
        return failure.second >= group.opened_at && failure.second < moment_of(number, closed);
      };
      if (std::any_of(first, last, is_of_this_open)) spoiled_.insert(node);
    }
  }
  model_.close(file);
}

void Survivors::open(int file, int number, int name) {
  for (Group& group : groups_) {
    if (group.file != file || group.has_ended) continue;
    if (!any_has(group, moment_of(number, opening_again))) end(group, nullptr);
    group.is_open = true;
    group.opened_at = moment_of(number, opening_again);
  }
  model_.open(file, name);
}

void Survivors::call_names(const Step& step, int number) {
  int event = first_call;
  for (const NameCall& call : step.names.calls) {
    for (Group& group : groups_) {
      if (group.file != step.file || group.has_ended) continue;
      const std::vector<int> ranks = ranks_of(group);
      // Communicators are in the order of the ranks.
      const Testimony& caller = witnesses_[static_cast<std::size_t>(ranks[static_cast<std::size_t>(call.place) % ranks.size()])];
      if (const auto done = caller.results.find(moment_of(number, event + 1)); done != caller.results.end()) {
        apply(group, call, done->second);
      } else if (caller.results.contains(moment_of(number, event))) {
        end(group, &call);
      }
    }
    event += 2;
  }
}

void Survivors::apply(Group& group, const NameCall& call, int result) {
  Directory& directory = model_.directory();
  const std::string from = model_.name_of(group.file, group.colour, call.from), to = model_.name_of(group.file, group.colour, call.to);
  if (result != 0 && call.kind != NameCallKind::make) return;
  if (directory.expect(call, from, to) != 0) return problems_.push_back(text_of(call) + " of " + from + " should not have been possible");
  const Names before = names_of(group);
  directory.apply(call, from, to);
  if (call.kind == NameCallKind::make) {
    closed_once_.insert(directory.find(to));
    if (result != 0) spoiled_.insert(directory.find(to));
  }
  for (const auto& [name, expected] : before) {
    const auto now = directory.entries().find(name);
    const bool lost_it = now == directory.entries().end() || now->second.node != expected.entry.node;
    if (lost_it && expected.entry.node >= 0 && directory.links(expected.entry.node) == 0) group.gone[name].push_back(expected);
  }
}

Survivors::Names Survivors::names_of(const Group& group) {
  Names names;
  const ModelFile& file = model_.file(group.file);
  const int open_node = group.is_open ? file.nodes[static_cast<std::size_t>(group.colour)] : -1;
  for (int i = 0; i < static_cast<int>(suffixes.size()); ++i) {
    const auto entry = model_.directory().entries().find(name_of(group.file, group.colour, i));
    if (entry == model_.directory().entries().end()) continue;
    Expected expected{.entry = entry->second, .contents = {}};
    if (const int node = entry->second.node; node >= 0) {
      expected.contents = model_.directory().contents(node);
      const bool is_new = !closed_once_.contains(node) || expected.contents.bytes.empty();   // docs/transparent.md, "When a file is there"
      expected.optional = spoiled_.contains(node) || (node == open_node && is_new);
      expected.whole = !spoiled_.contains(node) && node != open_node;
    }
    names.emplace(entry->first, std::move(expected));
  }
  return names;
}

void Survivors::end(Group& group, const NameCall* in_doubt) {
  group.has_ended = true;
  group.before = group.after = names_of(group);
  if (in_doubt == nullptr) return;
  const Directory directory = model_.directory();
  const std::string from = model_.name_of(group.file, group.colour, in_doubt->from);
  const std::string to = model_.name_of(group.file, group.colour, in_doubt->to);
  if (directory.expect(*in_doubt, from, to) != 0) return;
  apply(group, *in_doubt, 0);
  group.after = names_of(group);
  model_.directory() = directory;
  if (in_doubt->kind < NameCallKind::cut) return;
  for (Names* names : {&group.before, &group.after}) {   // a file that was just being cut, or a marker
    for (auto& [name, expected] : *names) expected.whole = expected.whole && expected.contents.bytes == group.before[name].contents.bytes;
  }
}

bool Survivors::is_there(const std::string& name, const Expected& expected, std::string& why) const {
  const std::string path = directory_ + "/" + name;
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  why = "is not there";
  if (!std::filesystem::exists(status)) return expected.optional;
  if (expected.entry.node < 0) {
    why = "does not lead to " + expected.entry.target;
    return std::filesystem::is_symlink(status) && std::filesystem::read_symlink(path, error) == expected.entry.target;
  }
  if (!expected.whole) return true;
  std::ifstream stream(path, std::ios::binary);
  const auto difference = expected.contents.difference({std::istreambuf_iterator<char>(stream), {}});
  if (difference) why = *difference;
  return std::filesystem::is_regular_file(status) && !difference;
}

bool Survivors::may_be_back(const Group& group, const std::string& name) const {
  std::string why;
  if (name.ends_with(".unclosed")) return group.is_open;
  const auto gone = group.gone.find(name);
  return gone != group.gone.end() &&
         std::any_of(gone->second.begin(), gone->second.end(), [&](const Expected& each) { return is_there(name, each, why); });
}

void Survivors::compare(const Group& group) {
  std::set<std::string> names;
  for (const Names* each : {&group.before, &group.after}) {
    for (const auto& [name, expected] : *each) names.insert(name);
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(group.base)) names.insert(name);
  }
  for (const std::string& name : names) {
    std::string why;
    bool is_as_it_should_be = false, was_whole = false;
    for (const Names* each : {&group.before, &group.after}) {
      const auto found = each->find(name);
      const bool is_gone = !std::filesystem::exists(std::filesystem::symlink_status(directory_ + "/" + name)) || may_be_back(group, name);
      is_as_it_should_be = is_as_it_should_be || (found == each->end() ? is_gone : is_there(name, found->second, why));
      was_whole = was_whole || (found != each->end() && !found->second.optional);
    }
    if (!is_as_it_should_be) problems_.push_back((was_whole ? "lost " + name + ": " : name + " should not be there ") + why);
  }
  for (const auto& [name, expected] : group.before) {   // moved: under one name at least
    const auto is_same = [&](const auto& other) { return other.second.entry == expected.entry; };
    const auto moved = std::find_if(group.after.begin(), group.after.end(), is_same);
    std::string why;
    if (!expected.whole || moved == group.after.end() || group.after.contains(name)) continue;
    if (!is_there(name, expected, why) && !is_there(moved->first, moved->second, why)) {
      problems_.push_back("lost " + name + " or " + moved->first);
    }
  }
}

}  // namespace transparent
