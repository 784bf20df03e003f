// SPDX-License-Identifier: BSD-3-Clause
//
// Physical files of a container as raw outputs. Every rank opens all of them, because a raw output of several nodes is one of all, and
// closes at once those that it does not write. Rank 0 closes none before it has written the index, so none is published without.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/byte_output.hpp"
#include "session/container_files.hpp"
#include "session/core.hpp"
#include "session/publication.hpp"
#include "session/writer_lock.hpp"
#include "store/container/container_header.hpp"
#include "store/posix/replaceable.hpp"

namespace glean::session {
namespace {

class CapturedContainerFiles : public ContainerFiles {
 public:
  CapturedContainerFiles(std::shared_ptr<Core> core, const NewContainer& container)
      : ContainerFiles(container.file), core_(std::move(core)), container_(container) {
    for (std::uint32_t file = 0; file < container_.files; ++file) open(file);
  }
  ~CapturedContainerFiles() override { CapturedContainerFiles::abandon(); }

  void write(std::uint32_t file, std::span<const std::byte> bytes, base::Bytes offset) override {
    ByteOutput& output = *outputs_[file];
    const std::uint32_t collective_count = output.keep_pace(bytes.size(), 1);
    const std::lock_guard lock(core_->one_at_a_time());
    output.write(collective_count, {.offset = offset, .block_bytes = bytes.size(), .levels = {}}, 0,
                 [&](base::Bytes first, std::span<std::byte> target) { std::memcpy(target.data(), bytes.data() + first, target.size()); });
  }

  void wait(Level level) override {
    if (level >= Level::staged) write_collected();
    const std::lock_guard lock(core_->one_at_a_time());
    if (level < Level::written) return check_files();
    for_each_open([&](ByteOutput& output) {
      output.flush(0);
      if (level == Level::durable) output.synchronize();
    });
  }

  void check() override {
    const std::lock_guard lock(core_->one_at_a_time());
    check_files();
  }

  void close() override {
    const std::lock_guard lock(core_->one_at_a_time());
    for (auto& output : outputs_) {
      if (output) output->close();
    }
    outputs_.clear();
    state_ = State::closed;
  }

  void wait_until_published() override {
    if (are_published_ || !core_->has_pool()) return throw_earlier();
    throw_earlier();
    const auto failed = caught([&] {
      // A slot that is another output's by now: one that fails when all have closed it is kept until that is told.
      for (Publication& publication : publications_) {
        wait_until(*core_, [&] { return publication.is_over(); }, "'" + container_.path + "'");
      }
    });
    end(failed);
    throw_earlier();
  }

  bool are_published() override {
    if (failure_ || are_published_ || are_open() || !core_->has_pool()) return are_published_;
    bool all = true;
    const auto failed = caught([&] {
      for (Publication& publication : publications_) all = publication.is_over() && all;
    });
    if (failed || all) end(failed);
    return are_published_;
  }

  void abandon() noexcept override {
    if (!are_open()) return;
    outputs_.clear();   // each that is open says so
    locks_.clear();
    state_ = State::given_up;
  }

 private:
  void open(std::uint32_t file) {
    const std::string path = store::physical_path(container_.path, file);
    struct Decision {
      bool in_place = false;
    };
    const auto decision = on_root<Decision>(core_->comm(), [&](Decision& value) {
      refuse_what_is_kept(path);
      if (const auto why = store::why_written_in_place(path)) {
        core_->warn_in_place(path, *why);
        value.in_place = true;
      }
    });
    const auto existing = decision.in_place ? ByteOutput::Existing::keep : ByteOutput::Existing::replace;
    auto output = ByteOutput::open(core_, core_->comm(), path, existing);
    output->set_when_full(container_.settings.full);
    publications_.emplace_back(*core_, output->slot(), path);
    const auto failed = caught([&] {
      if (!core_->is_root()) return;
      if (output->is_in_place()) output->resize(0);
      else locks_.emplace_back(output->working_path(), path);
    });
    agree(core_->comm(), failed);
    if (file != container_.file && !core_->is_root()) {
      const std::lock_guard lock(core_->one_at_a_time());
      output->close();
      output.reset();
    }
    outputs_.push_back(std::move(output));
  }

  // The older one would take the place of the new one when `glean recover` completes it.
  void refuse_what_is_kept(const std::string& path) {
    const std::lock_guard lock(core_->one_at_a_time());
    const auto refused = ByteOutput::finish_or_refuse(*core_, path);
    if (!refused) return;
    throw base::Error(refused->code,
                      fmt::format("cannot create '{}': what was closed under this name before is kept in memory, because the storage "
                                  "refuses it", path),
                      "make room, or choose another name; `glean recover` completes what is kept when the job has ended");
  }

  template <class Action>
  void for_each_open(Action action) {
    for (auto& output : outputs_) {
      if (output) action(*output);
    }
  }
  void check_files() {
    for_each_open([](const ByteOutput& output) {
      if (const auto failed = output.failure()) throw base::Error(*failed);
    });
  }
  void end(const std::optional<base::Error>& failed) {
    failure_ = failed;
    are_published_ = !failed;
    locks_.clear();
  }
  void throw_earlier() const {
    if (failure_) throw base::Error(*failure_);
  }

  std::shared_ptr<Core> core_;
  NewContainer container_;
  std::vector<std::unique_ptr<ByteOutput>> outputs_;   // null: another rank's
  std::vector<Publication> publications_;
  std::vector<WriterLock> locks_;                      // on rank 0
  bool are_published_ = false;
  std::optional<base::Error> failure_;
};

}  // namespace

std::shared_ptr<ContainerFiles> capture_container_files(const std::shared_ptr<Core>& core, const NewContainer& container) {
  return std::make_shared<CapturedContainerFiles>(core, container);
}

}  // namespace glean::session
