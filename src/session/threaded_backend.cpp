// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go into the node's pool; the drain does the rest.
#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"
#include "drain/description.hpp"
#include "pool/description.hpp"
#include "pool/dropping.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "store/pnetcdf/create.hpp"

namespace glean::session {
namespace {

std::uint64_t as_word(pool::OutputKey key) { return std::uint64_t{key.generation} << 32 | key.slot; }
pool::OutputKey as_key(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
}

class ThreadedBackend final : public Backend {
 public:
  ThreadedBackend(std::shared_ptr<Core> core, Opening opening) : core_(std::move(core)), opening_(std::move(opening)) {}

  // Rank 0 makes the file while the others come along: one reduction for everything.
  void create(const store::Definitions& definitions, const std::optional<base::Error>& earlier) override {
    const auto in_call = core_->in_call(Call::end_definitions);
    Proposal mine{fingerprint_of(opening_.path, definitions), Proposal::no_word, earlier};
    if (core_->is_root() && !earlier) mine.error = caught([&] { mine.root_word = as_word(make_file(definitions)); });
    const Outcome outcome = settle(core_->comm(), mine);
    if (outcome.root_word != Proposal::no_word) {
      output_ = core_->outputs().add(as_key(outcome.root_word), opening_.name);
    }
    if (!outcome.error) return prepare_to_drop(definitions);
    abandon();   // by all ranks: the drain removes the file
    throw base::Error(outcome.error->code(), "cannot create '" + opening_.path + "': " + outcome.error->what(),
                      outcome.error->hint());
  }

  void begin_step(std::uint64_t step) override {
    if (!may_drop()) return;
    // A file without records is kept or dropped as a whole. What fixed variables say of all records must be in it.
    if (step == 0 || has_records_) {
      keeps_step_ = pool::keep_step(core_->pool(),
                                    {output_->key, step, step_bytes_, step != 0 || !has_fixed_ || !has_records_},
                                    core_->deadline_seconds(), [this] { return core_->outputs().diagnose(); });
    }
    if (keeps_step_) return;
    ++output_->steps_dropped;
    ++core_->figures().steps_dropped;
  }

  void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
           const pool::Source& source) override {
    if (may_drop() && step != 0 && has_records_ && !is_record_[variable]) {
      throw base::Error(base::Errc::invalid_state, "'" + opening_.path + "' may drop steps, and a variable without steps is put "
                        "in step " + std::to_string(step), "put it in the first step, which is always kept, or choose another \"full\"");
    }
    if (!keeps_step_) return;
    core_->ladder().put({output_->key, opening_.settings.full, steps_kept_, variable, memory, &box}, source);
    core_->figures().captured_bytes += box.elements() * source.element_bytes;
  }

  void end_step(std::uint64_t) override {
    if (!keeps_step_) return;
    core_->outputs().end_step(*output_, steps_kept_++);
    core_->keep_draining();
    core_->recorder().ring_the_drain();
  }

  void wait(Level level, double seconds, const std::optional<base::Error>& misuse) override {
    if (output_->failure) throw base::Error(*output_->failure);
    const auto verdict = core_->outputs().wait(output_.get(), level, seconds, misuse);
    if (verdict.error) throw base::Error(*verdict.error);
  }

  // No rank waits for another: what goes wrong, here or later, the next call that is for that brings to all.
  void close() override {
    tell_of_drops();
    output_->dropped = steps_kept_ == 0 && output_->steps_dropped != 0;
    core_->outputs().close(*output_);
    core_->ladder().leave(output_->key);
    core_->recorder().ring_the_drain();
  }

  void abandon() noexcept override {
    if (output_ == nullptr || output_->closed) return;
    core_->outputs().abandon(*output_);
    core_->ladder().leave(output_->key);
    core_->recorder().ring_the_drain();
  }

  void poison(const base::Error& error) noexcept override {
    if (output_ == nullptr) return;
    static_cast<void>(caught([&] {
      if (core_->outputs().root_is_gone()) return core_->outputs().abandon(*output_);
      pool::fail(core_->pool().slot(output_->key.slot), static_cast<std::uint32_t>(error.code()),
                 "rank " + std::to_string(core_->rank()) + ": " + error.what(), error.hint());
    }));
  }

  [[nodiscard]] std::optional<base::Error> failure() const override { return output_->failure; }
  [[nodiscard]] OutputStatus status() const override { return core_->outputs().status(*output_); }
  [[nodiscard]] const OutputName& name() const override { return opening_.name; }

 private:
  [[nodiscard]] bool may_drop() const { return opening_.settings.full == base::WhenFull::drop; }

  void prepare_to_drop(const store::Definitions& definitions) {
    base::Bytes fixed_bytes = 0;
    for (const auto& variable : definitions.variables) {
      base::Bytes bytes = mesh::size_of(variable.external);
      bool is_record = false;
      for (const int id : variable.dimensions) {
        const auto& dimension = definitions.dimensions[static_cast<std::size_t>(id)];
        is_record = is_record || dimension.unlimited;
        bytes *= dimension.unlimited ? 1 : dimension.length;
      }
      is_record_.push_back(is_record);
      (is_record ? has_records_ : has_fixed_) = true;
      (is_record ? step_bytes_ : fixed_bytes) += bytes;
    }
    if (!has_records_) step_bytes_ = fixed_bytes;
  }

  void tell_of_drops() const {
    if (!core_->is_root() || output_->steps_dropped == 0) return;
    const std::uint64_t begun = steps_kept_ + output_->steps_dropped;
    base::log(steps_kept_ == 0 ? base::LogLevel::warning : base::LogLevel::info,
              "'{}': {} of {} steps were dropped, the drain did not keep up{}", opening_.path, output_->steps_dropped, begun,
              steps_kept_ == 0 ? ": there is no file" : "");
  }

  pool::OutputKey make_file(const store::Definitions& definitions) {
    const auto& names = opening_.names;
    const pool::OutputKey key = core_->outputs().claim_slot(names.final_path);
    try {
      drain::OutputDescription description{opening_.path, names, core_->settings().drain.direct_io, {},
                                           opening_.settings.checksums,
                                           opening_.settings.full == base::WhenFull::synchronous};
      // Before there is a file: whoever comes after a killed process knows what to remove.
      core_->recorder().describe(key, description.encode_names(), pool::Recorder::More::follow);
      description.layout = store::create_netcdf(names.working_path, definitions, opening_.settings.range);
      core_->recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
      return key;
    } catch (...) {
      if (opening_.settings.publish == base::Publish::rename) unlink(names.working_path.c_str());
      pool::forget_description(core_->pool(), key);
      core_->outputs().release_slot(key);
      throw;
    }
  }

  std::shared_ptr<Core> core_;
  Opening opening_;
  std::shared_ptr<PoolOutput> output_;
  // Of an output that may drop.
  base::Bytes step_bytes_ = 0;      // all ranks, about
  std::vector<bool> is_record_;     // of each variable
  bool has_fixed_ = false, has_records_ = false;
  bool keeps_step_ = true;          // that is open
  std::uint64_t steps_kept_ = 0;    // ended: the numbers of steps in the file have no gaps
};

}  // namespace

std::unique_ptr<Backend> make_threaded_backend(std::shared_ptr<Core> core, Opening opening) {
  return std::make_unique<ThreadedBackend>(std::move(core), std::move(opening));
}

}  // namespace glean::session
