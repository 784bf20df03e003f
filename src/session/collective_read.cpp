// SPDX-License-Identifier: BSD-3-Clause
#include "session/collective_read.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "session/agreement.hpp"
#include "store/input/read_windows.hpp"

namespace glean::session {
namespace {

// What an aggregator reads at once, and holds with what it sends of it.
constexpr base::Bytes window_bytes = base::MiB;
// Two-phase reading costs a copy through MPI: worth it where the nodes together fetch so much more than is wanted.
constexpr double fetched_for_wanted = 1.5;

// What must be the same on all ranks: the array, and where the file has it. Ranks may have opened a file before and after another one took
// its name. Not how many steps there are: a file may grow meanwhile.
std::uint64_t mark_of_array(const std::string& path, const Reader& file, const BoxToRead& mine) {
  std::string text = path + '\0' + std::to_string(mine.variable) + '\0' + std::to_string(mine.step) + '\0';
  const auto& variables = file.variables();
  if (mine.variable >= 0 && static_cast<std::size_t>(mine.variable) < variables.size()) {
    store::FileContents place;
    place.variables = {variables[static_cast<std::size_t>(mine.variable)]};
    place.variables.front().records = 0;
    const std::vector<std::byte> bytes = place.encode();
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return std::hash<std::string>{}(text);
}

// All ranks read the same array, and none has an error. On one node no message where that is so.
void agree_on_array(Core& core, const std::string& path, const Reader& file, const BoxToRead& mine,
                    const std::optional<base::Error>& wrong) {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  int rank = 0;
  MPI_Comm_rank(core.comm(), &rank);
  const std::uint64_t array = mark_of_array(path, file, mine);
  const FourWords all = core.least_of_all({wrong ? static_cast<std::uint64_t>(rank) : none, array, ~array, none});
  if (all[0] != none) throw base::Error(error_of(core.comm(), static_cast<int>(all[0]), wrong));
  if (all[1] == ~all[2]) return;
  throw base::Error(base::Errc::invalid_argument, "ranks read different variables, steps or files in one read_all of '" + path + "'",
                    "all ranks name the same ones, each with a box of its own, which may be empty, and open a file when no other one takes "
                    "its name any more");
}

struct RankOfNode {
  mesh::Box box;
  int node = 0;
  bool is_aggregator = false;
};

std::vector<RankOfNode> boxes_of_all(const Core& core, const mesh::Box& mine) {
  std::vector<std::uint64_t> words = {static_cast<std::uint64_t>(core.nodes().self()), core.nodes().is_aggregator() ? 1U : 0U};
  words.insert(words.end(), mine.start.begin(), mine.start.end());
  words.insert(words.end(), mine.count.begin(), mine.count.end());
  const std::vector<std::uint64_t> all = gather_on_all(core.comm(), words);
  std::vector<RankOfNode> ranks;
  const auto dimensions = static_cast<std::ptrdiff_t>(mine.start.size());
  for (auto from = all.begin(); from != all.end(); from += 2 + 2 * dimensions) {
    const auto start = from + 2, count = start + dimensions;
    ranks.push_back({{{start, count}, {count, count + dimensions}}, static_cast<int>(from[0]), from[1] != 0});
  }
  return ranks;
}

// Whether the nodes would fetch much more than all ranks want. The same on all ranks. Collective.
bool is_worth_windows(const Core& core, const store::ArrayPlace& place, const std::vector<RankOfNode>& ranks) {
  std::uint64_t words[2] = {0, 0}, all[2] = {0, 0};   // fetched, wanted
  if (core.nodes().is_aggregator()) {
    std::vector<mesh::Box> of_node;
    for (const RankOfNode& each : ranks) {
      if (each.node != core.nodes().self() || each.box.empty()) continue;
      of_node.push_back(each.box);
      words[1] += each.box.elements() * place.element_bytes;
    }
    words[0] = store::fetched_bytes(place, of_node);
  }
  reduce_all(core.comm(), words, all, 2, MPI_UINT64_T, MPI_SUM);
  return static_cast<double>(all[0]) > fetched_for_wanted * static_cast<double>(all[1]);
}

// One read of an array window by window: what this rank reads for others, if it is an aggregator, and what it gets.
class WindowedRead {
 public:
  WindowedRead(MPI_Comm comm, const Reader& file, const BoxToRead& mine, store::ArrayPlace place, const std::vector<RankOfNode>& ranks)
      : comm_(comm),
        file_(file),
        mine_(mine),
        variable_(file.variables()[static_cast<std::size_t>(mine.variable)]),
        arrival_(variable_.external, variable_.stored, mine.memory, "cannot read '" + variable_.name + "'"),
        windows_(make_windows(std::move(place), ranks)) {
    MPI_Comm_rank(comm_, &rank_);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].is_aggregator) aggregators_.push_back(static_cast<int>(rank));
    }
  }

  // An aggregator that cannot read sends zeros, and says why in the end: the others are not left alone with their messages.
  [[nodiscard]] std::optional<base::Error> run() {
    std::optional<base::Error> failed;
    const auto self = std::find(aggregators_.begin(), aggregators_.end(), rank_);
    for (std::uint64_t round = 0; round < windows_.rounds(); ++round) {
      std::vector<BytesOfRank> sent;
      if (self != aggregators_.end()) {
        const int number = static_cast<int>(self - aggregators_.begin());
        const auto error = caught([&] { read_window(windows_.window(number, round)); });
        if (error && !failed) failed = error;
        if (round + 1 < windows_.rounds()) file_.file().will_need(windows_.extent_of(windows_.window(number, round + 1)));
        sent = parts_of(windows_.window(number, round));
      }
      receive(round, std::move(sent));
    }
    if (failed) return failed;
    return caught([&] { file_.require_in_range(mine_.variable, mine_.box, mine_.memory, arrival_.out_of_range()); });
  }

 private:
  static store::ReadWindows make_windows(store::ArrayPlace place, const std::vector<RankOfNode>& ranks) {
    std::vector<mesh::Box> boxes;
    int aggregators = 0;
    for (const RankOfNode& each : ranks) {
      boxes.push_back(each.box);
      if (each.is_aggregator) ++aggregators;
    }
    return {std::move(place), std::move(boxes), window_bytes, aggregators};
  }

  void read_window(const store::ReadWindows::Window& window) {
    const base::Extent extent = windows_.extent_of(window);
    window_.assign(extent.empty() ? 0 : extent.size(), std::byte{0});
    if (!extent.empty()) file_.file().read_with_zeros(window_, extent.begin);
  }

  [[nodiscard]] std::vector<BytesOfRank> parts_of(const store::ReadWindows::Window& window) const {
    std::vector<BytesOfRank> parts;
    if (window.empty()) return parts;
    for (int rank = 0; rank < windows_.ranks(); ++rank) {
      if (windows_.wanted(rank, window) != 0) parts.push_back({rank, windows_.packed(rank, window, window_.data())});
    }
    return parts;
  }

  void receive(std::uint64_t round, std::vector<BytesOfRank> sent) {
    std::vector<BytesOfRank> received;
    std::vector<store::ReadWindows::Window> from;
    for (std::size_t number = 0; number < aggregators_.size(); ++number) {
      const store::ReadWindows::Window window = windows_.window(static_cast<int>(number), round);
      const std::uint64_t wanted = windows_.wanted(rank_, window);
      if (wanted == 0) continue;
      received.push_back({aggregators_[number], std::vector<std::byte>(wanted * arrival_.stored_size())});
      from.push_back(window);
    }
    exchange_bytes(comm_, std::move(sent), received);
    for (std::size_t i = 0; i < received.size(); ++i) {
      std::byte* next = received[i].bytes.data();
      windows_.for_wanted(rank_, from[i], [&](std::uint64_t, std::uint64_t in_box, std::uint64_t count) {
        arrival_.convert(next, mine_.values + in_box * arrival_.memory_size(), count);
        next += count * arrival_.stored_size();
      });
    }
  }

  MPI_Comm comm_;
  const Reader& file_;
  const BoxToRead& mine_;
  const Reader::Variable& variable_;
  store::Arrival arrival_;
  store::ReadWindows windows_;
  int rank_ = 0;
  std::vector<int> aggregators_;    // ranks
  std::vector<std::byte> window_;
};

}  // namespace

void read_together(Core& core, const std::string& path, const Reader& file, const BoxToRead& mine,
                   const std::optional<base::Error>& wrong) {
  const InCall in_call(core.collective(), Call::read_all, path);
  agree_on_array(core, path, file, mine, wrong ? wrong : caught([&] { file.require_readable(mine.variable, mine.step, mine.memory); }));
  const auto on_its_own = [&] { return caught([&] { file.read(mine.variable, mine.step, mine.box, mine.memory, mine.values); }); };
  const Reader::Variable& variable = file.variables()[static_cast<std::size_t>(mine.variable)];
  if (core.nodes().count() == 1 || !variable.by_library.empty()) return agree(core.comm(), on_its_own());

  const store::ArrayPlace place{variable.shape, variable.begin_bytes + (variable.per_step ? mine.step * variable.record_stride_bytes : 0),
                                mesh::size_of(variable.external)};
  const std::vector<RankOfNode> ranks = boxes_of_all(core, mine.box);
  if (!is_worth_windows(core, place, ranks)) return agree(core.comm(), on_its_own());
  agree(core.comm(), WindowedRead(core.comm(), file, mine, place, ranks).run());
}

}  // namespace glean::session
