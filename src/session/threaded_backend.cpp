// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go into the node's pool; the drain does the rest.
#include <unistd.h>

#include <algorithm>

#include "drain/description.hpp"
#include "pool/description.hpp"
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
    if (!outcome.error) return;
    abandon();   // by all ranks: the drain removes the file
    throw base::Error(outcome.error->code(), "cannot create '" + opening_.path + "': " + outcome.error->what(),
                      outcome.error->hint());
  }

  void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
           const pool::Source& source) override {
    const base::Bytes chunk_bytes = core_->pool().header().chunk_bytes;
    const std::uint64_t elements = box.elements();
    const std::size_t size = source.element_bytes;
    for (std::uint64_t done = 0; done < elements;) {
      const base::Bytes wanted = (elements - done) * size;
      // The rest of a chunk is not worth a piece of its own when it is small.
      const auto room = core_->recorder().reserve(wanted, std::min(wanted, chunk_bytes / 32));
      const std::uint64_t now = room.bytes / size;
      pool::copy_elements(source, done, now, room.data);
      core_->recorder().commit_put(room, now * size, {output_->key, step, variable, memory, &box, done, now});
      done += now;
    }
    core_->figures().captured_bytes += elements * size;
  }

  void end_step(std::uint64_t step) override {
    core_->outputs().end_step(*output_, step);
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
    core_->outputs().close(*output_);
    core_->recorder().ring_the_drain();
  }

  void abandon() noexcept override {
    if (output_ == nullptr || output_->closed) return;
    core_->outputs().abandon(*output_);
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
  pool::OutputKey make_file(const store::Definitions& definitions) {
    const auto& names = opening_.names;
    const pool::OutputKey key = core_->outputs().claim_slot(names.final_path);
    try {
      drain::OutputDescription description{opening_.path, names, core_->settings().drain.direct_io, {},
                                           opening_.settings.checksums};
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
};

}  // namespace

std::unique_ptr<Backend> make_threaded_backend(std::shared_ptr<Core> core, Opening opening) {
  return std::make_unique<ThreadedBackend>(std::move(core), std::move(opening));
}

}  // namespace glean::session
