// SPDX-License-Identifier: BSD-3-Clause
//
// Making a container: what ranks wish, what rank 0 makes of it, and the containers of a session.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "base/encoding.hpp"
#include "base/log.hpp"
#include "session/agreement.hpp"
#include "session/messages.hpp"
#include "session/task_file.hpp"
#include "store/container/defects.hpp"
#include "store/container/pack.hpp"
#include "store/posix/file.hpp"

namespace glean::session {
namespace {

// What one rank asks for.
struct Wish {
  store::TaskWish task;
  std::uint64_t files = 1, block_bytes = 0, tasks_per_group = 1;   // the same on all ranks
  std::string path;                                                // the same
  std::string name;
  friend bool operator==(const Wish&, const Wish&) = default;
};

std::vector<std::byte> encode(const Wish& wish) {
  base::Encoder out;
  out.number(wish.task.chunk_bytes);
  out.number(wish.task.node);
  out.number(wish.files);
  out.number(wish.block_bytes);
  out.number(wish.tasks_per_group);
  out.text(wish.path);
  out.text(wish.name);
  return out.take();
}

Wish decode(const std::vector<std::byte>& bytes) {
  base::Decoder in(bytes, "what a rank asks for of a container");
  Wish wish;
  wish.task.chunk_bytes = in.number();
  wish.task.node = static_cast<std::uint32_t>(in.number());
  wish.files = in.number();
  wish.block_bytes = in.number();
  wish.tasks_per_group = in.number();
  wish.path = in.text();
  wish.name = in.text();
  return wish;
}

store::ContainerWishes common_of(const Wish& wish, store::Bytes block_bytes) {
  constexpr std::uint64_t most = ~std::uint32_t{0};
  return {static_cast<std::uint32_t>(std::min(wish.files, most)), block_bytes,
          static_cast<std::uint32_t>(std::min(wish.tasks_per_group, most))};
}

// As SIONlib takes it. Where the directory is not there, opening says so.
store::Bytes block_of_file_system(const std::string& path) {
  constexpr store::Bytes least = 512, otherwise = 4096;
  struct stat status {};
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  if (stat(directory.c_str(), &status) != 0 || status.st_blksize < static_cast<blksize_t>(least)) return otherwise;
  return std::min<store::Bytes>(static_cast<store::Bytes>(status.st_blksize), store::largest_block_bytes);
}

void add_wrong_names(const std::vector<Wish>& wishes, std::vector<std::string>& wrong) {
  std::map<std::string_view, std::size_t> known;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    const std::string& name = wishes[rank].name;
    if (name.empty()) continue;
    if (!store::is_safe_name(name)) {
      wrong.push_back(fmt::format("{} of rank {} cannot be the name of a logical file", store::shown_name(name), rank));
      continue;
    }
    const auto [other, is_new] = known.emplace(name, rank);
    if (!is_new) wrong.push_back(fmt::format("ranks {} and {} both call their file {}", other->second, rank, store::shown_name(name)));
  }
}

// Throws all that is wrong, of all ranks.
void check(const std::vector<Wish>& wishes, const std::vector<store::TaskWish>& tasks, store::Bytes block_bytes) {
  const Wish& first = wishes.front();
  std::vector<std::string> wrong = wrong_with(common_of(first, block_bytes), tasks);
  if (first.path.find('\0') != first.path.npos) wrong.emplace_back("its path has a zero byte");
  const auto differs = [&](const Wish& wish) {
    return wish.path != first.path || wish.files != first.files || wish.block_bytes != first.block_bytes ||
           wish.tasks_per_group != first.tasks_per_group;
  };
  const auto other = std::find_if(wishes.begin(), wishes.end(), differs);
  if (other != wishes.end()) {
    wrong.push_back(fmt::format("rank {} has another path, or other files, blocks or tasks of a writer, than rank 0",
                                other - wishes.begin()));
  }
  add_wrong_names(wishes, wrong);
  if (wrong.empty()) return;
  constexpr std::size_t shown = 20;
  std::string all;
  for (std::size_t i = 0; i < std::min(wrong.size(), shown); ++i) all += (i == 0 ? "" : "; ") + wrong[i];
  if (wrong.size() > shown) all += fmt::format("; and {} more", wrong.size() - shown);
  throw base::Error(base::Errc::invalid_argument, fmt::format("cannot create the container '{}': {}", first.path, all));
}

// What rank 0 says, and all compute the same from.
struct Decision {
  std::uint64_t id = 0;
  store::Bytes block_bytes = 0;
  base::OutputSettings settings;
};

struct Wishes {
  Decision decision;
  std::vector<store::TaskWish> tasks;
};

// Collective. Throws on all ranks.
Wishes agree_on(Core& core, const Wish& mine) {
  const auto of_ranks = gather_messages(core.comm(), encode(mine));
  std::vector<std::byte> of_tasks;
  const auto decide = [&](Decision& decision) {
    std::vector<Wish> wishes;
    for (const auto& each : of_ranks) wishes.push_back(decode(each));
    std::vector<store::TaskWish> tasks;
    base::Encoder out;
    for (const Wish& wish : wishes) {
      tasks.push_back(wish.task);
      out.number(wish.task.chunk_bytes);
      out.number(wish.task.node);
    }
    decision.block_bytes = mine.block_bytes != 0 ? mine.block_bytes : block_of_file_system(mine.path);
    check(wishes, tasks, decision.block_bytes);
    decision.settings = core.settings().for_output(mine.path);
    std::random_device random;
    decision.id = std::uint64_t{random()} << 32 | random();
    of_tasks = out.take();
  };
  Wishes all{on_root<Decision>(core.comm(), decide), {}};
  const std::vector<std::byte> told = message_of_root(core.comm(), of_tasks);
  base::Decoder in(told, "what ranks ask for of a container");
  while (!in.rest().empty()) {
    const store::Bytes chunk_bytes = in.number();
    all.tasks.push_back({chunk_bytes, static_cast<std::uint32_t>(in.number())});
  }
  return all;
}

store::TaskPlace place_of_rank(const std::vector<store::ContainerHeader>& headers, std::uint64_t rank) {
  for (const store::ContainerHeader& header : headers) {
    const auto found = std::find(header.global_ranks.begin(), header.global_ranks.end(), rank);
    if (found != header.global_ranks.end()) {
      return {header.file, static_cast<std::uint32_t>(found - header.global_ranks.begin())};
    }
  }
  throw base::Error(base::Errc::io, fmt::format("rank {} is in no file of the container", rank));
}

// A negative number is more than there can be.
std::uint64_t whole(int number) { return number < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(number); }

}  // namespace

void Containers::forget_published() {
  std::erase_if(made_, [](const Made& each) {
    return each.files->state() == ContainerFiles::State::given_up || (!each.files->are_open() && each.files->are_published());
  });
}

std::unique_ptr<TaskFile::Impl> Containers::create(const std::shared_ptr<Core>& core, const std::string& path,
                                                   const ContainerOptions& options) {
  core->require_usable("create_container");
  core->require_question("create_container");
  if (core->parts().count > 1) {
    throw base::Error(base::Errc::unsupported, fmt::format("cannot create the container '{}' with the setting plan.files", path),
                      "plan.files = 1, and say in how many files it is when it is created");
  }
  InCall in_call(core->collective(), Call::open, path);
  int rank = 0;
  MPI_Comm_rank(core->comm(), &rank);
  forget_published();
  const Wish mine{{options.chunk_bytes, static_cast<std::uint32_t>(core->nodes().self())},
                  whole(options.files), options.block_bytes, whole(options.tasks_per_writer), path, options.name};
  const Wishes all = agree_on(*core, mine);
  TaskFile::Impl::Layout layout{path, {}, {}, all.decision.settings.close == base::Close::durable};
  agree(core->comm(), caught([&] {
    layout.headers = lay_out_container(common_of(mine, all.decision.block_bytes), all.tasks, path, all.decision.id);
    layout.place = place_of_rank(layout.headers, static_cast<std::uint64_t>(rank));
  }));
  const NewContainer container{path, static_cast<std::uint32_t>(layout.headers.size()), layout.place.file, all.decision.settings};
  const bool captures = base::captures(container.settings.mode) && core->has_pool();
  const auto files = captures ? capture_container_files(core, container) : make_container_files(core, container);
  std::unique_ptr<TaskFile::Impl> made;
  agree(core->comm(), caught([&] { made = std::make_unique<TaskFile::Impl>(core, files, std::move(layout), options.name); }));
  made_.push_back({path, store::resolved_path(path), files});
  ++unwaited_;
  return made;
}

std::optional<base::Error> Containers::wait(Core& core, Level level) {
  if (unwaited_ == 0) return std::nullopt;   // the same on all ranks; what this rank has forgotten others may wait for
  const InCall in_call(core.collective(), Call::wait, "");
  std::optional<base::Error> failed;
  for (const Made& each : made_) {
    if (each.files->state() == ContainerFiles::State::given_up) continue;
    const auto why = caught([&] {
      if (each.files->are_open()) each.files->wait(level);
      else if (level == Level::durable) each.files->wait_until_published();
    });
    if (!failed) failed = why;
  }
  return caught([&] {
    if (level == Level::durable) {
      std::erase_if(made_, [](const Made& each) { return !each.files->are_open(); });
      const std::uint64_t mine = made_.size();   // others may have open what this rank has given up
      reduce_all(core.comm(), &mine, &unwaited_, 1, MPI_UINT64_T, MPI_MAX);
    }
    agree(core.comm(), failed);
  });
}

void Containers::abandon_open(Core& core) noexcept {
  for (const Made& each : made_) {
    if (!each.files->are_open()) continue;
    if (core.is_root()) base::log(base::LogLevel::warning, "the container '{}' was not closed and is not published", each.path);
    each.files->abandon();
  }
}

void Containers::wait_to_read(const std::string& final_path, const std::string& path) {
  for (const Made& each : made_) {
    if (each.final_path != final_path) continue;
    if (each.files->are_open()) {
      throw base::Error(base::Errc::invalid_state, "cannot read the container '" + path + "': it is being written", "close it first");
    }
    if (each.files->state() == ContainerFiles::State::closed) each.files->wait_until_published();
  }
}

}  // namespace glean::session
