// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go to PnetCDF's own collective calls, blocking: the baseline, and what serves where nothing can be captured.
#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "base/clock.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "store/pnetcdf/passthrough.hpp"
#include "store/posix/file.hpp"

namespace glean::session {
namespace {

class PassthroughBackend final : public Backend {
 public:
  PassthroughBackend(std::shared_ptr<Core> core, std::string path, const Opening& opening)
      : core_(std::move(core)), path_(std::move(path)), opening_(opening) {}

  void create(const store::Definitions& definitions) override {
    struct Fingerprint { std::uint64_t value; };
    const auto root = on_root<Fingerprint>(core_->comm(), [&](Fingerprint& mine) { mine.value = definitions.fingerprint(); });
    agree(core_->comm(), caught([&] {
      if (root.value != definitions.fingerprint()) {
        throw base::Error(base::Errc::invalid_argument, "rank " + std::to_string(core_->rank()) + " has defined '" +
                                                            path_ + "' otherwise than rank 0");
      }
    }));
    const auto error = caught([&] { file_.emplace(core_->comm(), opening_.working_path, definitions); });
    agree_or_give_up(error);
  }

  void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
           const pool::Source& source) override {
    std::vector<std::byte> packed(box.elements() * source.element_bytes);
    pool::copy_elements(source, 0, box.elements(), packed.data());
    bytes_ += packed.size();
    file_->put(static_cast<int>(variable), step, box, memory, packed.data());
  }

  void end_step(std::uint64_t step) override {
    auto error = caught([&] { file_->end_step(step); });
    if (error && error->code() == base::Errc::out_of_range && opening_.settings.range == base::RangeRule::fill) {
      error.reset();
    }
    if (error && !failure_) failure_ = error;
  }

  void wait(Level level, double) override {
    auto error = failure_;
    if (level == Level::durable) {
      const auto failed = caught([&] { file_->synchronize(); });
      if (!error) error = failed;
    }
    agree(core_->comm(), error);
  }

  void close() override {
    auto error = failure_;
    const auto failed = caught([&] { file_->close(); });
    if (!error) error = failed;
    agree_or_give_up(error);
    const std::uint64_t mine = bytes_;
    std::uint64_t all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, core_->comm());
    struct Nothing {};
    static_cast<void>(on_root<Nothing>(core_->comm(), [&](Nothing&) {
      store::File(calls_, {opening_.working_path, opening_.final_path}, base::DirectIo::off).publish();
      core_->passthrough().push_back({path_, all, base::seconds(base::now_ns() - begin_ns_)});
    }));
  }

  void abandon() noexcept override {
    file_.reset();
    remove_working_file();
  }

  void poison(const base::Error& error) noexcept override {
    if (!failure_) failure_ = base::Error(error.code(), "rank " + std::to_string(core_->rank()) + ": " + error.what(), error.hint());
  }

 private:
  void agree_or_give_up(const std::optional<base::Error>& error) {
    try {
      agree(core_->comm(), error);
    } catch (...) {
      abandon();
      throw;
    }
  }

  void remove_working_file() noexcept {
    if (core_->is_root() && opening_.settings.publish == base::Publish::rename) unlink(opening_.working_path);
  }

  std::shared_ptr<Core> core_;
  std::string path_;
  Opening opening_;
  store::SystemCalls calls_;
  std::optional<store::PassthroughFile> file_;
  std::optional<base::Error> failure_;
  std::uint64_t begin_ns_ = base::now_ns();
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_passthrough_backend(std::shared_ptr<Core> core, std::string path,
                                                  const Opening& opening) {
  return std::make_unique<PassthroughBackend>(std::move(core), std::move(path), opening);
}

}  // namespace glean::session
