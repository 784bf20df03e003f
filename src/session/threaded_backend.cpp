// SPDX-License-Identifier: BSD-3-Clause
//
// Puts go into the node's pool; the drain does the rest.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "capture/dropping.hpp"
#include "pool/description.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "session/striping.hpp"
#include "store/description.hpp"
#include "store/parts/part_index.hpp"

namespace glean::session {
namespace {

std::uint64_t as_word(pool::OutputKey key) { return std::uint64_t{key.generation} << 32 | key.slot; }
pool::OutputKey as_key(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
}

// Where puts begin in a file whose long variables begin at pages and are as in memory, modulo a page.
class PlacesInPages {
 public:
  PlacesInPages() = default;   // no such file
  explicit PlacesInPages(const mesh::Definitions& definitions) {
    for (std::size_t i = 0; i < definitions.variables.size(); ++i) {
      variables_.push_back({definitions.variables[i].external, definitions.shape(static_cast<int>(i))});
    }
  }
  [[nodiscard]] std::optional<base::Bytes> of(std::uint32_t variable, mesh::Type memory, const mesh::Box& box) const {
    if (variables_.empty() || variables_[variable].external != memory) return std::nullopt;
    const mesh::Shape& shape = variables_[variable].shape;
    std::uint64_t element = 0, row = 1;   // elements side by side
    for (std::size_t d = 0; d < shape.size(); ++d) {
      element = element * shape[d] + box.start[d];
      row = box.count[d] == shape[d] ? row * shape[d] : box.count[d];
    }
    const bool is_long = row * mesh::size_of(memory) >= 64 * base::KiB;
    return is_long ? std::optional(element * mesh::size_of(memory)) : std::nullopt;
  }

 private:
  struct Variable {
    mesh::Type external;
    mesh::Shape shape;
  };
  std::vector<Variable> variables_;
};

class ThreadedBackend final : public Backend {
 public:
  ThreadedBackend(std::shared_ptr<Core> core, Opening opening) : core_(std::move(core)), opening_(std::move(opening)) {
    if (is_part()) index_.output = core_->new_output_id(store::parse_part_path(opening_.path)->path);
  }

  // The messages of create() up to where ranks agree, with nothing described: a rank that has failed may be there.
  void agree_on(const mesh::Definitions& definitions, const std::optional<base::Error>& earlier) override {
    InCall in_call(core_->collective(), Call::end_definitions, opening_.path);
    Proposal mine{fingerprint_of(opening_, definitions), Proposal::no_word, earlier, core_->rank()};
    if (is_part()) static_cast<void>(gather_blocks(core_->comm(), {}));
    const bool several = core_->is_shared();
    std::uint64_t word = Proposal::no_word;
    if (several && core_->nodes().is_aggregator()) {
      const auto error = caught([&] { take_from_root(word); });
      if (!mine.error) mine.error = error;
    }
    const Outcome outcome = settle(core_->comm(), mine, [&](const FourWords& words) { return core_->least_of_all(words); });
    if (!outcome.error) return;
    // A rank that has nothing to ask may be in create(), and have described the output.
    take_up(word, outcome);
    fail_with(*outcome.error);
  }

  // Rank 0 describes the file, and the drain makes it, while the others come along: one reduction for everything.
  void create(const mesh::Definitions& definitions, const Blocks& blocks, const std::optional<base::Error>& earlier) override {
    InCall in_call(core_->collective(), Call::end_definitions, opening_.path);
    Proposal mine{fingerprint_of(opening_, definitions), Proposal::no_word, earlier, core_->rank()};
    std::uint64_t word = Proposal::no_word;   // of this node's pool
    variables_ = static_cast<std::uint32_t>(definitions.variables.size());
    if (opening_.format->is_as_in_memory()) places_ = PlacesInPages(definitions);
    in_call.set_busy(core_->is_root());
    if (core_->is_root() && !earlier) {
      mine.error = caught([&] {
        const pool::OutputKey key = describe(definitions);
        word = as_word(key);   // from now on the drain has it
        core_->open_on_this_node(key);
        if (core_->pool().is_staged()) {
          core_->open_at_stagers(key, opening_.refuses_existing ? pool::AtStagers::asked_for_new_file : pool::AtStagers::asked);
        }
      });
      if (mine.error) described_.clear();   // nothing for other nodes to open
    }
    in_call.set_busy(false);
    mine.root_word = word;
    if (is_part()) index_.boxes = gather_blocks(core_->comm(), blocks);
    if (is_part() && core_->is_root() && !mine.error) {
      mine.error = caught([&] { store::prepare_index(calls_, opening_.names, index_); });
    }
    const bool several = core_->is_shared();
    if (may_drop()) prepare_to_drop(definitions);
    if (several && core_->nodes().is_aggregator()) {
      const auto error = caught([&] { take_from_root(word); });
      if (!mine.error) mine.error = error;
    }
    const Outcome outcome = settle(core_->comm(), mine, [&](const FourWords& words) { return core_->least_of_all(words); });
    const bool is_shared_already = core_->pool().is_staged() && core_->is_root();
    if (several && core_->nodes().is_aggregator() && !outcome.error && !is_shared_already) {
      core_->share(outcome.root_word, as_key(word));
    }
    take_up(word, outcome);
    if (outcome.error) fail_with(*outcome.error);
  }

  void begin_step(std::uint64_t step) override {
    if (!may_drop()) return;
    // A file without records is kept or dropped as a whole. What fixed variables say of all records must be in it.
    if (step == 0 || has_records_) {
      keeps_step_ = capture::keep_step(core_->pool(), core_->nodes().rank(),
                                    {output_->key, step, step_bytes_, step != 0 || !keeps_first_step()}, core_->deadline_seconds(),
                                    [this] { return core_->outputs().diagnose(); }, [this] { core_->keep_draining(); });
    }
    if (keeps_step_) return;
    ++output_->steps_dropped;
    ++core_->figures().steps_dropped;
  }

  [[nodiscard]] std::uint64_t record_of(std::uint64_t /*step*/) const override { return steps_kept_; }

  void put(std::uint32_t variable, std::uint64_t step, const mesh::Box& box, mesh::Type memory,
           const capture::Source& source) override {
    if (may_drop() && step != 0 && has_records_ && !is_record_[variable]) {
      throw base::Error(base::Errc::invalid_state, "'" + opening_.path + "' may drop steps, and a variable without steps is put "
                        "in step " + std::to_string(step), "put it in the first step, which is always kept, or choose another \"full\"");
    }
    if (!keeps_step_) return;
    core_->full_pool_policy().put({output_->key, opening_.settings.full, steps_kept_, variable, memory, &box,
                                   places_.of(variable, memory, box)}, source);
    core_->figures().captured_bytes += box.elements() * source.element_bytes;
  }

  void end_step(std::uint64_t /*step*/) override {
    if (!keeps_step_) return;
    core_->outputs().end_step(*output_, steps_kept_++);
    core_->keep_draining();
    core_->recorder().ring_the_drain();
    core_->move_data();
  }

  void wait(Level level, double seconds, const std::optional<base::Error>& misuse) override {
    if (output_->failure) throw base::Error(*output_->failure);
    const auto verdict = core_->outputs().wait(output_.get(), level, seconds, misuse);
    if (verdict.error) throw base::Error(*verdict.error);
  }

  [[nodiscard]] bool reached(Level level) override {
    const bool has_reached = core_->outputs().has_reached(*output_, level);
    if (!has_reached) core_->recorder().ring_the_drain();
    core_->keep_draining();
    return has_reached;
  }

  // Unless it is to be durable, no rank waits for another: what goes wrong, here or later, the next call that is for that brings to all.
  void close(std::span<const mesh::Attribute> attributes) override {
    tell_of_drops();
    output_->all_dropped = steps_kept_ == 0 && output_->steps_dropped != 0;
    const bool has_attributes = !attributes.empty() && !output_->all_dropped;
    if (has_attributes && core_->is_root()) put_attributes(attributes);
    core_->outputs().close(*output_, has_attributes);
    core_->full_pool_policy().leave(output_->key);
    core_->recorder().ring_the_drain();
    if (opening_.settings.close == base::Close::durable) wait(Level::durable, -1, std::nullopt);
  }

  void abandon() noexcept override {
    if (output_ == nullptr || output_->closed) return;
    core_->outputs().abandon(*output_);
    core_->full_pool_policy().leave(output_->key);
    core_->recorder().ring_the_drain();
  }

  void poison(const base::Error& error) noexcept override {
    if (output_ == nullptr) return;
    static_cast<void>(caught([&] {
      if (core_->outputs().has_lost_a_rank(*output_)) return core_->outputs().abandon(*output_);
      pool::fail(core_->pool().slot(output_->key.slot), static_cast<std::uint32_t>(error.code()),
                 "rank " + std::to_string(core_->rank()) + ": " + error.what(), error.hint());
    }));
  }

  void poison_by_close(const base::Error& error) noexcept override {
    poison(error);
    static_cast<void>(caught([&] { output_->told = error.what(); }));
  }

  [[nodiscard]] std::optional<base::Error> failure() const override { return output_->failure; }
  [[nodiscard]] OutputStatus status() const override { return core_->outputs().status(*output_); }
  [[nodiscard]] const OutputName& name() const override { return opening_.name; }

 private:
  [[noreturn]] void refuse(const base::Error& error) const {
    throw base::Error(error.code(), "cannot create '" + opening_.path + "': " + error.what(), error.hint());
  }
  // The output that rank 0 has described, if it has. Collective.
  void take_up(std::uint64_t word, const Outcome& outcome) {
    const bool several = core_->is_shared();
    if (several) broadcast(core_->nodes().comm(), 0, &word, sizeof word);
    else word = outcome.root_word;
    if (word != Proposal::no_word) output_ = core_->outputs().add(as_key(word), as_key(outcome.root_word).slot, opening_.name);
    if (output_ && opening_.addition) output_->lock = std::exchange(opening_.addition->lock, nullptr);
    if (several) core_->outputs().forget_finished();
  }
  [[noreturn]] void fail_with(const base::Error& error) {
    core_->outputs().hear_of_loss(error);
    abandon();   // by all ranks: the drain removes the file
    refuse(error);
  }

  // As one more step, which all ranks end when they close.
  void put_attributes(std::span<const mesh::Attribute> attributes) {
    const auto failed = caught([&] {
      std::uint32_t target = variables_;
      for (const mesh::Attribute& attribute : attributes) {
        const mesh::Box box = mesh::whole({attribute.count()});
        core_->full_pool_policy().put({output_->key, opening_.settings.full, steps_kept_, target++, attribute.type, &box},
                                      {attribute.values.data(), mesh::size_of(attribute.type), box.count, {}});
      }
    });
    if (failed) poison(*failed);
  }

  [[nodiscard]] bool is_part() const { return core_->parts().count > 1; }
  [[nodiscard]] bool may_drop() const { return opening_.settings.full == base::WhenFull::drop; }
  [[nodiscard]] bool keeps_first_step() const { return has_fixed_ && has_records_; }

  void prepare_to_drop(const mesh::Definitions& definitions) {
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

  // What the root has described goes into the pool of this node, and `word` says where. All open the file: a node that fails
  // later removes it.
  void take_from_root(std::uint64_t& word) {
    const auto bytes = core_->description_from_root(described_);
    if (bytes.empty() || core_->is_root()) return;
    const auto description = store::OutputDescription::decode(bytes);
    const pool::OutputKey key = core_->outputs().claim_slot(description.names.final_path);
    try {
      core_->recorder().describe(key, description.encode_names(), pool::Recorder::More::follow);
      core_->recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
    } catch (...) {
      forget(key);
      throw;
    }
    word = as_word(key);
    core_->open_on_this_node(key);
  }

  pool::OutputKey describe(const mesh::Definitions& definitions) {
    const auto& names = opening_.names;
    const pool::OutputKey key = core_->outputs().claim_slot(names.final_path);
    try {
      store::OutputDescription description{opening_.path, names, core_->settings().drain.direct_io, {}, {},
                                           opening_.settings.checksums,
                                           opening_.settings.full == base::WhenFull::synchronous, is_part(), false, {},
                                           copies(), analysis()};
      // Before there can be a file: recovery knows what to remove.
      core_->recorder().describe(key, description.encode_names(), pool::Recorder::More::follow);
      if (opening_.addition) {
        description.layout = opening_.addition->layout;
        description.layout.range = opening_.settings.range;
        description.earlier = opening_.addition->earlier;
      } else {
        make_striped();
        store::FileImage image = opening_.format->image(definitions, opening_.settings.range);
        description.layout = std::move(image.layout);
        description.metadata = std::move(image.metadata);
      }
      description.definitions = definitions;
      description.share = core_->share_of(opening_.path, description.layout);
      index_.part = core_->parts().self;
      index_.parts = core_->parts().count;
      index_.layout = description.layout;
      core_->recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
      if (core_->is_shared()) {
        described_ = description.encode_names();
        const auto layout = description.encode_layout();
        described_.insert(described_.end(), layout.begin(), layout.end());
      }
      return key;
    } catch (...) {
      if (is_striped_) unlink(names.working_path.c_str());
      forget(key);
      throw;
    }
  }

  // Drains call no MPI: where stripes are asked for, the file is there, and empty, before the drain opens it.
  void make_striped() {
    const base::Striping& striping = opening_.settings.striping;
    if (!core_->pool().is_staged()) {
      is_striped_ = make_striped_file(*core_, opening_.names.working_path, striping);
    } else if (striping != base::Striping{}) {
      core_->warn_once("stagers make files without the stripes that striping_factor, striping_unit and start_iodevice ask for");
    }
  }

  // Of one of several files none is made: what they mean together is in none of them.
  [[nodiscard]] store::Copies copies() const {
    const base::CopySettings asked = core_->settings().copies_of_output(opening_.path);
    const auto results = core_->settings().results_of_output(opening_.path);
    if ((!asked.any() && results.empty()) || !is_part()) return store::Copies::of(asked, results);
    base::log(base::LogLevel::warning,
              "'{}': no copies in other formats and no results of analyses are made of an output of several files; `glean convert` makes "
              "them of what `glean join` makes",
              opening_.path);
    return {};
  }

  [[nodiscard]] analysis::Request analysis() const {
    const auto asked = analysis::Request::of(core_->settings().analysis_of_output(opening_.path));
    if (!asked.any() || (!is_part() && !opening_.addition)) return asked;
    base::log(base::LogLevel::warning, "'{}': {} is not analysed", opening_.path,
              is_part() ? "an output of several files" : "a file that is appended to");
    return {};
  }

  void forget(pool::OutputKey key) {
    pool::forget_description(core_->pool(), key);
    core_->outputs().release_slot(key);
  }

  std::shared_ptr<Core> core_;
  Opening opening_;
  std::shared_ptr<PoolOutput> output_;
  std::vector<std::byte> described_;   // by the root, for other nodes
  store::PartIndex index_;             // by the root, where the file is one of several
  store::SystemCalls calls_;
  bool is_striped_ = false;            // this rank has made the file
  std::uint32_t variables_ = 0;        // of the file
  PlacesInPages places_;
  // For an output that may drop.
  base::Bytes step_bytes_ = 0;      // about
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
