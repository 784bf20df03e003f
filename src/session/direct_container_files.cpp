// SPDX-License-Identifier: BSD-3-Clause
//
// Physical files of a container that each rank writes itself, in the modes passthrough and collective. Rank 0 makes and publishes them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/clock.hpp"
#include "session/agreement.hpp"
#include "session/container_files.hpp"
#include "session/core.hpp"
#include "session/writer_lock.hpp"
#include "store/container/container_header.hpp"
#include "store/posix/file.hpp"
#include "store/posix/replaceable.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::session {
namespace {

class DirectContainerFiles : public ContainerFiles {
 public:
  DirectContainerFiles(std::shared_ptr<Core> core, const NewContainer& container)
      : ContainerFiles(container.file), core_(std::move(core)), container_(container) {}
  // Collective. If it throws, what rank 0 has made goes with this.
  void open() {
    for (std::uint32_t file = 0; file < container_.files; ++file) open(file);
  }
  ~DirectContainerFiles() override { DirectContainerFiles::abandon(); }

  void write(std::uint32_t file, std::span<const std::byte> bytes, base::Bytes offset) override { files_[file]->write(bytes, offset); }

  void wait(Level level) override {
    if (level >= Level::staged) write_collected();
    if (level != Level::durable) return;
    for (auto& file : files_) {
      if (file) file->synchronize();
    }
  }
  void check() override {}

  void close() override {
    agree(core_->comm(), caught([&] { wait(Level::durable); }));
    const auto failed = caught([&] {
      if (!core_->is_root()) return;
      for (auto file = files_.rbegin(); file != files_.rend(); ++file) {   // the one by whose name a container is opened last
        store::remove_sidecar(calls_, (*file)->names().final_path);
        (*file)->publish();
      }
    });
    agree(core_->comm(), failed);
    state_ = State::closed;
    files_.clear();
    locks_.clear();
  }

  void wait_until_published() override {}
  bool are_published() override { return state_ == State::closed; }
  void abandon() noexcept override {
    if (!are_open()) return;
    state_ = State::given_up;
    if (core_->is_root()) {
      for (auto& file : files_) {
        if (file) file->discard();
      }
    }
    files_.clear();
    locks_.clear();
  }

 private:
  struct Names {
    std::array<char, 4096> working{}, final{};
  };

  void open(std::uint32_t number) {
    const std::string path = store::physical_path(container_.path, number);
    const auto names = on_root<Names>(core_->comm(), [&](Names& value) { make(path, value); });
    std::unique_ptr<store::File> file;
    const auto failed = caught([&] {
      if (!core_->is_root() && number != container_.file) return;
      file = std::make_unique<store::File>(calls_, store::FileNames{names.working.data(), names.final.data()}, base::DirectIo::off);
      file->share();
      if (core_->is_root() && names.working != names.final) locks_.emplace_back(names.working.data(), path);
    });
    if (core_->is_root() && !file) remove({names.working.data(), names.final.data()});
    files_.push_back(std::move(file));
    agree(core_->comm(), failed);
  }

  // On rank 0.
  void make(const std::string& path, Names& made) {
    base::Publish publish = container_.settings.publish;
    if (const auto why = publish == base::Publish::rename ? store::why_written_in_place(path) : std::nullopt) {
      core_->warn_in_place(path, *why);
      publish = base::Publish::in_place;
    }
    const store::FileNames names = store::choose_names(path, publish, false, fmt::format("{}-{}", getpid(), base::now_ns()));
    if (names.working_path.size() >= made.working.size()) {
      throw base::Error(base::Errc::invalid_argument, "the name of '" + path + "' is too long");
    }
    const bool in_place = names.working_path == names.final_path;
    const int descriptor = calls_.open(names.working_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (in_place ? O_TRUNC : O_EXCL), 0666);
    if (descriptor < 0) throw base::system_error(-descriptor, "cannot create '" + path + "'");
    calls_.close(descriptor);
    const auto failed = caught([&] {
      if (!in_place) store::hand_on_permissions(names);
    });
    if (failed) {
      remove(names);
      throw base::Error(*failed);
    }
    names.working_path.copy(made.working.data(), made.working.size() - 1);
    names.final_path.copy(made.final.data(), made.final.size() - 1);
  }

  // A working file that no File is there to discard.
  void remove(const store::FileNames& names) {
    if (names.working_path != names.final_path) calls_.unlink(names.working_path.c_str());
  }

  std::shared_ptr<Core> core_;
  NewContainer container_;
  store::SystemCalls calls_;
  std::vector<std::unique_ptr<store::File>> files_;   // null: another rank's
  std::vector<WriterLock> locks_;                     // on rank 0
};

}  // namespace

std::shared_ptr<ContainerFiles> make_container_files(const std::shared_ptr<Core>& core, const NewContainer& container) {
  auto files = std::make_shared<DirectContainerFiles>(core, container);
  files->open();
  return files;
}

}  // namespace glean::session
