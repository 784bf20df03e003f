// SPDX-License-Identifier: BSD-3-Clause
#include "files_program.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace kill {
namespace {

constexpr std::uint32_t generations = 14, open_at_a_time = 3;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool once_in(std::uint64_t times) { return below(times) == 0; }

 private:
  std::mt19937_64 random_;
};

void draw_name(Draw& draw, Generation& generation, const std::set<std::string>& written) {
  static const std::vector<std::pair<Manner, std::vector<std::string>>> names = {
      {Manner::fresh, {"field"}},
      {Manner::replace, {"checkpoint_0", "checkpoint_1"}},
      {Manner::replace, {"checkpoint_0", "checkpoint_1"}},
      {Manner::remove, {"plot"}},
      {Manner::update, {always_old, "state_1"}},
      {Manner::append, {"log"}},
  };
  const auto& [manner, of_manner] = names[draw.below(names.size())];
  generation.manner = manner;
  generation.name = of_manner[draw.below(of_manner.size())];
  if (manner == Manner::fresh) generation.name += "_" + std::to_string(generation.index);
  const bool is_there = generation.name == always_old || written.contains(generation.name);
  if (generation.is_in_place() && !is_there) generation.manner = Manner::fresh;
}

void draw_members(Draw& draw, Generation& generation, int ranks, Openers openers) {
  const int half = ranks / 2;
  generation.members = ranks;
  if (openers == Openers::all) return;
  switch (draw.below(8)) {
    case 0: generation.members = half; break;
    case 1: generation.first_member = half; generation.members = ranks - half; break;
    case 2: generation.first_member = static_cast<int>(draw.below(static_cast<std::uint64_t>(ranks))); generation.members = 1; break;
    default: break;
  }
}

void draw_steps(Draw& draw, Generation& generation) {
  auto& steps = generation.steps;
  if (generation.manner == Manner::remove) steps.push_back({.kind = Kind::remove_old});
  steps.push_back({.kind = Kind::open});
  if (generation.manner == Manner::replace) steps.push_back({.kind = Kind::empty});
  unsigned shift = 0;
  for (std::uint64_t writes = draw.between(1, 12); writes > 0; --writes) {
    steps.push_back({.kind = Kind::write, .call = static_cast<Call>(draw.below(5)), .shift = shift});
    if (draw.once_in(10)) steps.push_back({.kind = Kind::sync});
    if (draw.once_in(12)) steps.push_back({.kind = Kind::read, .shift = shift});   // what was just written
    if (draw.once_in(8)) steps.push_back({.kind = Kind::turn, .shift = ++shift});
    if (draw.once_in(14)) {
      const std::uint64_t whole = generation.stream * static_cast<std::uint64_t>(generation.members);
      steps.push_back({.kind = Kind::resize, .size = draw.below(whole + 1)});   // from where the generation begins
    }
  }
  steps.push_back({.kind = Kind::close});
}

void write(const Program& program, const Generation& generation, std::uint32_t step, int member, Bytes& file,
           const std::function<void(std::uint64_t)>& touch) {
  const Range range = program.range(generation, step, member);
  const int owner = generation.owner(generation.steps[step], member);
  if (range.bytes == 0) return;
  const std::uint64_t end = generation.place(owner, range.first + range.bytes - 1) + 1;
  if (file.size() < end) file.resize(end);
  for (std::uint64_t byte = range.first; byte < range.first + range.bytes; ++byte) {
    const std::uint64_t at = generation.place(owner, byte);
    file[at] = program.value(generation, step, at);
    touch(at);
  }
}

}  // namespace

Range Program::range(const Generation& generation, std::uint32_t step, int member) const {
  Draw draw(mix(seed + 1000 * generation.index + step) + static_cast<std::uint64_t>(member));
  if (draw.once_in(6)) return {};
  const std::uint64_t most = std::min(generation.stream, draw.once_in(3) ? 600 : draw.once_in(3) ? 16 * 1024 : generation.stream);
  const std::uint64_t bytes = draw.between(1, most);
  return {draw.below(generation.stream - bytes + 1), bytes};
}

unsigned char Program::value(const Generation& generation, std::uint32_t step, std::uint64_t byte) const {
  const std::uint64_t key = mix(seed ^ (std::uint64_t{generation.index} << 40) ^ (std::uint64_t{step} << 20));
  return static_cast<unsigned char>(((byte + key) * 0x9e3779b97f4a7c15) >> 56);
}

Program make_program(unsigned seed, int ranks, Openers openers) {
  Draw draw(seed);
  Program program{seed, {}, {}};
  std::map<std::string, std::uint64_t> sizes{{always_old, old_bytes}};
  std::set<std::string> written;
  for (std::uint32_t index = 0; index < generations; ++index) {
    Generation generation;
    generation.index = index;
    draw_name(draw, generation, written);
    draw_members(draw, generation, ranks, openers);
    const bool is_large = draw.once_in(2);
    generation.stream = draw.between(1, is_large ? 600'000 : 40'000);
    generation.block = draw.once_in(3) ? generation.stream : is_large ? draw.between(500, 20'000) : draw.between(1, 64);
    if (generation.manner == Manner::append) generation.base = sizes[generation.name];
    draw_steps(draw, generation);
    for (Step& step : generation.steps) step.size += generation.base;
    Bytes file(generation.is_in_place() ? sizes[generation.name] : 0);
    apply(program, generation, file);
    sizes[generation.name] = file.size();
    written.insert(generation.name);
    program.generations.push_back(std::move(generation));
  }
  // Several at a time, each name only once.
  std::vector<std::uint32_t> open;
  std::map<std::uint32_t, std::size_t> done;
  for (std::uint32_t next = 0; next < generations || !open.empty();) {
    const auto has_name = [&](std::uint32_t index) { return program.generations[index].name == program.generations[next].name; };
    if (next < generations && open.size() < open_at_a_time && std::none_of(open.begin(), open.end(), has_name) &&
        (open.empty() || draw.once_in(3))) {
      open.push_back(next++);
    }
    const std::uint32_t index = open[draw.below(open.size())];
    program.order.push_back(index);
    if (++done[index] == program.generations[index].steps.size()) std::erase(open, index);
  }
  return program;
}

void apply(const Program& program, const Generation& generation, Bytes& file) {
  for (std::uint32_t step = 0; step < generation.steps.size(); ++step) {
    if (generation.steps[step].kind == Kind::resize) file.resize(generation.steps[step].size);
    if (generation.steps[step].kind != Kind::write) continue;
    for (int member = 0; member < generation.members; ++member) write(program, generation, step, member, file, [](std::uint64_t) {});
  }
}

std::string problem_of(const Program& program, const Generation& generation, Bytes file, const std::vector<Progress>& progress,
                       bool captured, const Bytes& found) {
  const auto of = [&](int member) { return progress[static_cast<std::size_t>(generation.first_member + member)]; };
  std::vector<bool> holds(found.size());
  std::uint64_t least = file.size(), most = least;
  const auto look = [&](std::uint64_t at) {
    if (at < found.size() && found[at] == (at < file.size() ? file[at] : 0)) holds[at] = true;
  };
  const auto look_at_all = [&] {
    for (std::uint64_t at = 0; at < found.size(); ++at) look(at);
  };
  const auto look_at_size = [&] {
    least = std::min<std::uint64_t>(least, file.size());
    most = std::max<std::uint64_t>(most, file.size());
  };
  // First what has been done for certain, then what some were doing when they were killed.
  for (const bool ended : {true, false}) {
    if (captured == !ended || !captured) look_at_all();
    if (captured && !ended) least = most = file.size();
    for (std::uint32_t step = 0; step < generation.steps.size(); ++step) {
      const Kind kind = generation.steps[step].kind;
      if (kind == Kind::resize) {   // by the first member, between two barriers
        bool is_over = of(0).ended > step;
        for (int member = 0; member < generation.members; ++member) is_over |= of(member).begun > step + 1;
        if (ended ? !is_over : is_over || of(0).begun <= step) continue;
        file.resize(generation.steps[step].size);
        look_at_all();
        look_at_size();
      }
      if (kind != Kind::write) continue;
      for (int member = 0; member < generation.members; ++member) {
        if (ended ? of(member).ended <= step : of(member).ended > step || of(member).begun <= step) continue;
        write(program, generation, step, member, file, look);
        look_at_size();
      }
    }
    if (captured && ended) std::fill(holds.begin(), holds.end(), false);
  }
  if (found.size() < least || found.size() > most) {
    return std::to_string(found.size()) + " bytes, not " + std::to_string(least) + " to " + std::to_string(most);
  }
  const auto wrong = std::find(holds.begin(), holds.end(), false);
  if (wrong == holds.end()) return {};
  return "byte " + std::to_string(wrong - holds.begin()) + " of " + std::to_string(found.size()) + ", and " +
         std::to_string(std::count(holds.begin(), holds.end(), false)) + " in all";
}

}  // namespace kill
