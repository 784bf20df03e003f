// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go to the format library's own collective calls, blocking: as they are, which is the baseline and serves where nothing can be
// captured, or tuned (mode `collective`).
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "drain/checksums.hpp"
#include "plan/collective.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "session/formats.hpp"
#include "session/messages.hpp"
#include "session/striping.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/file.hpp"
#include "topology/discover/discover.hpp"

namespace glean::session {
namespace {

class PassthroughBackend final : public Backend {
 public:
  PassthroughBackend(std::shared_ptr<Core> core, Opening opening)
      : core_(std::move(core)), opening_(std::move(opening)) {}
  ~PassthroughBackend() override {
    core_->delist(this);
    if (!closed_) forsake();
  }

  void agree_on(const mesh::Definitions& definitions, const std::optional<base::Error>& earlier) override {
    InCall in_call(core_->collective(), Call::end_definitions, opening_.path);
    const Outcome outcome =
        settle(core_->comm(), {fingerprint_of(opening_, definitions), Proposal::no_word, earlier, core_->rank()},
               [&](const FourWords& words) { return core_->least_of_all(words); });
    if (!outcome.error) return;
    throw base::Error(outcome.error->code(), "cannot create '" + opening_.path + "': " + outcome.error->what(), outcome.error->hint());
  }

  void create(const mesh::Definitions& definitions, const Blocks& blocks, const std::optional<base::Error>& earlier) override {
    agree_on(definitions, earlier);
    InCall in_call(core_->collective(), Call::end_definitions, opening_.path);
    struct File {
      char path[4096];
      plan::CollectivePlan plan;
    };
    in_call.set_busy(core_->is_root());
    const auto file = on_root<File>(core_->comm(), [&](File& value) {
      const std::string& working = opening_.names.working_path;
      if (working.size() >= sizeof value.path) {
        throw base::Error(base::Errc::invalid_argument, "the path '" + opening_.path + "' is too long");
      }
      working.copy(value.path, working.size());
      if (is_tuned()) value.plan = core_->plan_collective(working);
    });
    in_call.set_busy(true);
    core_->enlist(this);
    store::Tuning tuning;
    if (is_tuned()) tuning = {plan::hints_of(file.plan), file.plan.batch_bytes()};
    const StripingHints striping = striping_hints(opening_.settings.striping);
    tuning.hints.insert(tuning.hints.end(), striping.begin(), striping.end());
    if (core_->is_root() && !striping.empty()) tell_where_none_are(*core_, file.path, opening_.settings.striping);
    const auto failed = caught([&] {
      file_ = create_directly(core_->comm(), file.path, *opening_.format, definitions, tuning);
    });
    in_call.set_busy(false);
    agree_or_give_up(failed);
    if (is_part()) make_index(blocks);
  }

  void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
           const capture::Source& source) override {
    std::vector<std::byte> packed(box.elements() * source.element_bytes);
    capture::copy_elements(source, 0, box.elements(), packed.data());
    bytes_ += packed.size();
    if (file_) file_->put(static_cast<int>(variable), step, box, memory, std::move(packed));
  }

  // PnetCDF waits for all ranks. None begins before all have come: what it does then cannot be ended.
  void end_step(std::uint64_t step) override {
    if (!file_) return;
    InCall in_call(core_->collective(), Call::end_step, opening_.path);
    core_->come_together();
    in_call.set_busy(true);
    auto error = caught([&] { file_->end_step(step); });
    if (error && error->code() == base::Errc::out_of_range && opening_.settings.range == base::RangeRule::fill) {
      error.reset();
    }
    if (error) note(*error);
    ++steps_;
  }

  void wait(Level level, double seconds, const std::optional<base::Error>& misuse) override {
    if (failure_) throw base::Error(*failure_);
    if (closed_) return;   // and published
    InCall in_call(core_->collective(), Call::wait, opening_.path);
    core_->come_together(seconds);
    in_call.set_busy(true);
    const auto unsynchronized =
        level == Level::durable ? caught([&] { file_->synchronize(); }) : std::nullopt;
    in_call.set_busy(false);
    if (unsynchronized) note(*unsynchronized);
    else if (level == Level::durable) steps_durable_ = steps_;
    const bool only_misuse = misuse && !mine_;
    try {
      agree(core_->comm(), only_misuse ? misuse : mine_);
    } catch (const base::Error& error) {
      // Misuse harms nothing. Whether it was that is known only to the rank that did it, so all ask.
      const int mine = only_misuse || !mine_ ? 1 : 0;
      int harmless = 0;
      reduce_all(core_->comm(), &mine, &harmless, 1, MPI_INT, MPI_LAND);
      if (harmless == 0) failure_ = error;
      throw;
    }
  }

  // What is written at all is written when a step ends.
  [[nodiscard]] bool reached(Level level) override { return !mine_ && (level != Level::durable || closed_ || steps_durable_ == steps_); }

  // When ranks do not come, the file is as open as before, and closing the session gives it up.
  void close(std::span<const mesh::Attribute> attributes) override {
    InCall in_call(core_->collective(), Call::close_output, opening_.path);
    core_->come_together();
    closed_ = true;
    core_->delist(this);
    if (failure_) return give_up();   // all ranks know
    in_call.set_busy(true);
    const auto unset = caught([&] { set(attributes); });
    if (unset) note(*unset);
    const auto unclosed = caught([&] { file_->close(); });
    in_call.set_busy(false);
    if (unclosed) note(*unclosed);
    agree_or_give_up(mine_);
    const std::uint64_t mine = bytes_;
    std::uint64_t all = 0;
    reduce_all(core_->comm(), &mine, &all, 1, MPI_UINT64_T, MPI_SUM);
    struct Nothing {};
    in_call.set_busy(core_->is_root());
    try {
      static_cast<void>(on_root<Nothing>(core_->comm(), [&](Nothing&) {
        store::hand_on_permissions(opening_.names);
        store::File file(calls_, opening_.names, base::DirectIo::off);
        drain::Checksums none;
        if (is_part()) store::publish_index(calls_, opening_.names, steps_);
        drain::publish(calls_, file, {}, 0, none);
        core_->passthrough().push_back({opening_.path, is_tuned() ? "collective" : "passthrough", all,
                                        base::seconds(base::now_ns() - begin_ns_)});
      }));
    } catch (const base::Error& error) {
      failure_ = error;
      give_up();
      throw;
    }
    steps_durable_ = steps_;
    core_->past().add(opening_.name, status(), std::nullopt);
  }

  // The library closes a file collectively, whatever became of it. While an exception passes, the other ranks may be
  // somewhere else.
  void abandon() noexcept override {
    std::optional<InCall> in_call;
    if (std::uncaught_exceptions() != 0) forsake();
    try {
      if (file_) in_call.emplace(core_->collective(), Call::give_up, opening_.path);
      if (file_) core_->come_together();
    } catch (const base::Error& late) {
      base::log(base::LogLevel::error, "'{}' is not closed: {}", opening_.path, late.what());
      forsake();
    } catch (const Broken&) {
      forsake();
    }
    give_up();
  }

  // All ranks are in the same call, or the file was forsaken.
  void give_up() noexcept {
    closed_ = true;
    core_->delist(this);
    file_.reset();
    if (core_->is_root() && opening_.settings.publish == base::Publish::rename) {
      unlink(opening_.names.working_path.c_str());
      if (is_part()) store::discard_index(calls_, opening_.names);
    }
    abandoned_ = true;
    static_cast<void>(caught([&] { core_->past().add(opening_.name, status(), failure_); }));
  }

  void poison(const base::Error& error) noexcept override { note(error); }

  [[nodiscard]] std::optional<base::Error> failure() const override { return failure_; }
  [[nodiscard]] OutputStatus status() const override {
    const auto& error = failure_ ? failure_ : mine_;
    const OutputState state = failure_ || (mine_ && !abandoned_) ? OutputState::failed
                              : abandoned_                       ? OutputState::abandoned
                              : closed_                          ? OutputState::published
                                                                 : OutputState::open;
    return {opening_.path, state, steps_, steps_, steps_, steps_durable_,
            state == OutputState::failed ? error->what() : std::string()};
  }
  [[nodiscard]] const OutputName& name() const override { return opening_.name; }

 private:
  [[nodiscard]] bool is_part() const { return core_->parts().count > 1; }

  // Makes the index of one of several files.
  void make_index(const Blocks& blocks) {
    store::PartIndex index;
    index.output = core_->new_output_id(store::parse_part_path(opening_.path)->path);
    index.boxes = gather_blocks(core_->comm(), blocks);
    index.part = core_->parts().self;
    index.parts = core_->parts().count;
    agree_or_give_up(caught([&] {
      index.layout = file_->layout();
      if (core_->is_root()) store::prepare_index(calls_, opening_.names, index);
    }));
  }

  [[nodiscard]] bool is_tuned() const { return opening_.settings.mode == base::Mode::collective; }

  void note(const base::Error& error) {
    if (mine_) return;
    mine_ = base::Error(error.code(), "'" + opening_.path + "' cannot be completed and is not published: rank " +
                                          std::to_string(core_->rank()) + ": " + error.what(), error.hint());
  }

  void set(std::span<const mesh::Attribute> attributes) {
    std::vector<mesh::Attribute> all(attributes.begin(), attributes.end());
    for (mesh::Attribute& attribute : all) attribute.values = message_of_root(core_->comm(), attribute.values);
    for (const mesh::Attribute& attribute : all) file_->set_attribute(attribute);
  }

  // The file stays open until the process ends.
  void forsake() noexcept { static_cast<void>(file_.release()); }

  void agree_or_give_up(const std::optional<base::Error>& error) {
    try {
      agree(core_->comm(), error);
    } catch (const base::Error& agreed) {
      failure_ = agreed;
      give_up();
      throw;
    }
  }

  std::shared_ptr<Core> core_;
  Opening opening_;
  store::SystemCalls calls_;
  std::unique_ptr<DirectFile> file_;
  std::optional<base::Error> mine_;      // of this rank
  std::optional<base::Error> failure_;   // what all ranks have been told
  bool closed_ = false;
  bool abandoned_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_durable_ = 0;
  std::uint64_t begin_ns_ = base::now_ns();
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_passthrough_backend(std::shared_ptr<Core> core, Opening opening) {
  return std::make_unique<PassthroughBackend>(std::move(core), std::move(opening));
}

}  // namespace glean::session
