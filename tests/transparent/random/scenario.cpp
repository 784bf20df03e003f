// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.hpp"

#include <algorithm>

namespace transparent {
namespace {

constexpr int etypes[] = {1, 1, 2, 4, 4, 8, 8, 24, 1000};

int largest(Members members, int ranks) { return members == Members::world ? ranks : members == Members::self ? 1 : (ranks + 1) / 2; }

bool usable(const std::vector<Shape>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const Shape& shape) { return !flatten(shape, 1).pieces.empty(); });
}

void draw_view(Random& random, Step& step, int ranks) {
  step.etype_bytes = etypes[random.between(0, static_cast<int>(std::size(etypes)) - 1)];
  const int unit = step.etype_bytes, base = random.one_in(2) ? 0 : random.between(0, 100);
  const int kind = random.between(0, 4);
  step.views_equal = kind == 0 || ranks == 1;
  std::vector<Shape> distribution;
  if (kind == 1) distribution = draw_distribution(random, ranks);
  const Shape same = draw_ascending(random, 2);
  const int slot = static_cast<int>(flatten(same, 1).upper) + random.between(0, 2);
  for (int rank = 0; rank < ranks; ++rank) {
    if (kind == 0) {   // the same for all
      step.views.push_back({base, random.one_in(2) || rank > 0 ? same : contiguous(3)});
      step.views.back().shape = step.views.front().shape;
    } else if (kind == 1 && usable(distribution)) {
      step.views.push_back({base, distribution[static_cast<std::size_t>(rank)]});
    } else if (kind <= 2) {   // interleaved in tiles of one slot for each rank
      step.views.push_back({base + rank * slot * unit, resized(same, 0, slot * ranks)});
    } else if (kind == 3) {   // a region for each rank
      step.views.push_back({base + rank * 150 * unit, random.one_in(2) ? contiguous(random.between(1, 5)) : draw_ascending(random, 1)});
    } else {   // anything, overlapping
      step.views.push_back({random.between(0, 64), draw_ascending(random, 2)});
    }
  }
}

void draw_access(Random& random, Step& step, int ranks) {
  step.write = !random.one_in(3);
  step.collective = random.one_in(2);
  step.pointer = random.one_in(6) ? Pointer::shared : random.one_in(2) ? Pointer::offset : Pointer::individual;
  step.timing = random.one_in(2) ? Timing::blocking : random.one_in(2) ? Timing::nonblocking : Timing::split;
  if (step.timing == Timing::split && !step.collective) step.timing = Timing::nonblocking;
  if (step.collective && step.pointer == Pointer::shared && step.timing == Timing::nonblocking) step.timing = Timing::split;
  const int one = step.pointer == Pointer::shared && !step.collective ? random.between(0, ranks - 1) : -1;
  const bool all_ranks = !random.one_in(4);
  for (int rank = 0; rank < ranks; ++rank) {
    Part part{.offset = random.between(0, 60), .count = 0, .memory = draw_memory(random)};
    const Flat flat = flatten(part.memory, 1);
    if (flat.extent() > 200) part.memory = contiguous(random.between(1, 6));
    const int units = static_cast<int>(flatten(part.memory, 1).size());
    part.count = std::max(1, random.between(1, 60) / units);
    if (one >= 0 ? rank != one : !all_ranks && random.one_in(2)) part.count = 0;
    step.parts.push_back(std::move(part));
  }
}

Step draw_step(Random& random, const std::vector<FilePlan>& files, int ranks) {
  Step step;
  step.file = random.between(0, static_cast<int>(files.size()) - 1);
  const int kind = random.between(0, 19);
  if (kind < 3) {
    step.kind = StepKind::view;
    draw_view(random, step, largest(files[static_cast<std::size_t>(step.file)].members, ranks));
  } else if (kind < 14) {
    draw_access(random, step, ranks);
  } else if (kind < 16) {
    step.kind = random.one_in(4) ? StepKind::reopen : StepKind::synchronize;
  } else if (kind < 18) {
    step.kind = random.one_in(2) ? StepKind::seek : StepKind::query;
    step.value = random.between(0, 40);
  } else {
    step.kind = random.one_in(2) ? StepKind::set_size : StepKind::atomicity;
    step.value = step.kind == StepKind::set_size ? random.between(0, 5000) : random.between(0, 1);
  }
  return step;
}

}  // namespace

int colours(Members members, int ranks) { return members == Members::world ? 1 : members == Members::self ? ranks : std::min(2, ranks); }
int colour(Members members, int rank) { return members == Members::world ? 0 : members == Members::self ? rank : rank % 2; }
int place(Members members, int rank) { return members == Members::world ? rank : members == Members::self ? 0 : rank / 2; }
int size(Members members, int rank, int ranks) {
  return members == Members::world ? ranks : members == Members::self ? 1 : (ranks + 1 - rank % 2) / 2;
}

Scenario draw_scenario(std::uint64_t seed, int ranks, Types types, Names names) {
  Random random(seed, types);
  Scenario scenario{.seed = seed, .ranks = ranks};
  for (int i = random.between(1, 3); i > 0; --i) {
    const Members members = random.one_in(3) ? (random.one_in(2) ? Members::self : Members::halves) : Members::world;
    scenario.files.push_back({members, random.one_in(2) ? random.between(1, 20000) : 0});
  }
  for (int i = random.between(3, 24); i > 0; --i) scenario.steps.push_back(draw_step(random, scenario.files, ranks));
  Random other(seed ^ 0x6e616d6573U, types);   // so that the other steps are the same with and without names
  if (names == Names::no || (names == Names::some && other.one_in(3))) return scenario;
  for (int i = other.between(1, 6); i > 0; --i) {
    Step step;
    step.file = other.between(0, static_cast<int>(scenario.files.size()) - 1);
    step.kind = other.one_in(6) ? StepKind::second_handle : StepKind::names;
    if (step.kind == StepKind::names) {
      step.names = draw_names(other, largest(scenario.files[static_cast<std::size_t>(step.file)].members, ranks));
    }
    if (step.kind == StepKind::second_handle) step.second = draw_second_handle(other);
    const int place = other.between(0, static_cast<int>(scenario.steps.size()));
    scenario.steps.insert(scenario.steps.begin() + place, std::move(step));
  }
  return scenario;
}

Scenario simplified(Scenario scenario, const Simplify& how) {
  for (Step& step : scenario.steps) {
    for (View& view : step.views) {
      if (how.plain_views) view.shape = contiguous(1);
    }
    if (how.blocking) step.timing = Timing::blocking;
    if (how.explicit_offsets && step.pointer == Pointer::individual) step.pointer = Pointer::offset;
    for (int rank = 0; rank < static_cast<int>(step.parts.size()); ++rank) {
      Part& part = step.parts[static_cast<std::size_t>(rank)];
      if (how.plain_memory && part.count > 0) {
        part.count *= static_cast<int>(flatten(part.memory, 1).size());
        part.memory = Shape{};
      }
      part.count = std::min(part.count, how.count_max);
      if (!how.ranks.empty() && !how.ranks.contains(rank)) part.count = 0;
    }
  }
  return scenario;
}

std::string call_of(const Step& step) {
  const bool shared = step.pointer == Pointer::shared;
  std::string name = std::string("MPI_File_") + (step.timing == Timing::nonblocking ? "i" : "") + (step.write ? "write" : "read");
  if (shared) name += step.collective ? "_ordered" : "_shared";
  if (step.pointer == Pointer::offset) name += "_at";
  if (step.collective && !shared) name += "_all";
  return name + (step.timing == Timing::split ? "_begin/end" : "");
}

std::string text_of(const Scenario& scenario, const Simplify& how) {
  static constexpr const char* communicators[] = {"MPI_COMM_WORLD", "MPI_COMM_SELF", "halves: ranks % 2"};
  std::string text = "seed " + std::to_string(scenario.seed) + ", " + std::to_string(scenario.ranks) + " ranks\n";
  for (std::size_t i = 0; i < scenario.files.size(); ++i) {
    text += "file " + std::to_string(i) + ": " + communicators[static_cast<int>(scenario.files[i].members)] + ", " +
            std::to_string(scenario.files[i].prefilled) + " bytes before\n";
  }
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    if (!how.keep.empty() && !how.keep.contains(static_cast<int>(i))) continue;
    const Step& step = scenario.steps[i];
    static constexpr const char* names[] = {"MPI_File_set_view", "", "MPI_File_seek", "sync, barrier, sync", "close, open",
                                            "MPI_File_set_size", "MPI_File_set_atomicity", "queries", "names", "a second handle"};
    text += "step " + std::to_string(i) + ", file " + std::to_string(step.file) + ": ";
    text += step.kind == StepKind::access ? call_of(step) : names[static_cast<int>(step.kind)];
    const bool has_value = step.kind == StepKind::set_size || step.kind == StepKind::atomicity || step.kind == StepKind::query ||
                           step.kind == StepKind::seek;
    if (has_value) text += " " + std::to_string(step.value);
    if (step.kind == StepKind::view) text += ", etype of " + std::to_string(step.etype_bytes) + " bytes (the leaf)";
    if (step.kind == StepKind::names) text += text_of(step.names);
    if (step.kind == StepKind::second_handle) text += text_of(step.second);
    text += "\n";
    for (std::size_t rank = 0; rank < step.views.size(); ++rank) {
      text += "    rank " + std::to_string(rank) + " of the file: displacement " + std::to_string(step.views[rank].displacement) + ", " +
              text_of(step.views[rank].shape) + "\n";
    }
    for (std::size_t rank = 0; rank < step.parts.size(); ++rank) {
      const Part& part = step.parts[rank];
      if (part.count == 0) continue;
      text += "    rank " + std::to_string(rank) + ": ";
      if (step.pointer == Pointer::offset) text += "offset " + std::to_string(part.offset) + ", ";
      text += std::to_string(part.count) + " of " + text_of(part.memory) + "\n";
    }
  }
  return text;
}

}  // namespace transparent
