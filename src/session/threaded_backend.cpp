// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go into the node's pool; the drain does the rest.
#include <unistd.h>

#include <algorithm>

#include "drain/description.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "store/pnetcdf/create.hpp"

namespace glean::session {
namespace {

class ThreadedBackend final : public Backend {
 public:
  ThreadedBackend(std::shared_ptr<Core> core, std::string path, const Opening& opening)
      : core_(std::move(core)), path_(std::move(path)), opening_(opening) {}

  void create(const store::Definitions& definitions) override {
    struct Created {
      pool::OutputKey key;
      std::uint64_t fingerprint;
    };
    const auto created = on_root<Created>(core_->comm(), [&](Created& value) {
      value.fingerprint = definitions.fingerprint();
      try {
        drain::OutputDescription description{
            path_, {opening_.working_path, opening_.final_path}, core_->settings().drain.direct_io, {}};
        description.layout = store::create_netcdf(opening_.working_path, definitions, opening_.settings.range);
        value.key = core_->claim_slot();
        core_->recorder().describe(value.key, description.encode());
      } catch (...) {
        if (opening_.settings.publish == base::Publish::rename) unlink(opening_.working_path);
        throw;
      }
    });
    live_ = core_->add(created.key, path_);
    agree(core_->comm(), caught([&] {
      if (created.fingerprint == definitions.fingerprint()) return;
      const base::Error error(base::Errc::invalid_argument,
                              "rank " + std::to_string(core_->rank()) + " has defined '" + path_ + "' otherwise than rank 0",
                              "dimensions, variables and attributes must be the same on all ranks");
      poison(error);
      throw base::Error(error);
    }));
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
      core_->recorder().commit_put(room, now * size, {live_->key, step, variable, memory, &box, done, now});
      done += now;
    }
    core_->figures().captured_bytes += elements * size;
  }

  void end_step(std::uint64_t step) override {
    live_->steps_ended = static_cast<std::uint32_t>(step + 1);
    core_->report_progress(*live_);
  }

  void wait(Level level, double seconds) override {
    agree_on([&] { core_->wait_for(*live_, level, seconds); });
  }

  void close() override {
    leave(pool::rank_closed);
    agree_on([&] { core_->wait_for(*live_, Level::captured, 0); });
  }

  void abandon() noexcept override {
    if (live_ == nullptr || live_->closed) return;
    leave(pool::rank_closed | pool::rank_abandoned);
    live_->delivered = true;
  }

  void poison(const base::Error& error) noexcept override {
    if (live_ == nullptr) return;
    static_cast<void>(caught([&] {
      pool::fail(core_->pool().slot(live_->key.slot), static_cast<std::uint32_t>(error.code()),
                 "rank " + std::to_string(core_->rank()) + ": " + error.what(), error.hint());
    }));
  }

 private:
  void leave(std::uint32_t flags) {
    live_->closed = true;
    core_->report_progress(*live_, flags);
  }

  template <class Action>
  void agree_on(Action action) {
    const auto mine = caught(action);
    try {
      agree(core_->comm(), mine);
    } catch (const base::Error& error) {
      if (error.code() != base::Errc::timeout) {
        live_->delivered = true;
        live_->failure = error;
      }
      throw;
    }
  }

  std::shared_ptr<Core> core_;
  std::string path_;
  Opening opening_;
  std::shared_ptr<LiveOutput> live_;
};

}  // namespace

std::unique_ptr<Backend> make_threaded_backend(std::shared_ptr<Core> core, std::string path, const Opening& opening) {
  return std::make_unique<ThreadedBackend>(std::move(core), std::move(path), opening);
}

}  // namespace glean::session
