// SPDX-License-Identifier: BSD-3-Clause
#include "session/output_impl.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "session/agreement.hpp"
#include "session/grid_totals.hpp"
#include "session/precision.hpp"
#include "store/convert.hpp"

namespace glean {

namespace {

mesh::Type internal(Type type) { return static_cast<mesh::Type>(type); }
session::VariableChoice internal(const VariableOptions& options) {
  return {options.fill == Fill::on, options.per_step, static_cast<mesh::Centring>(options.centring),
          options.components < 0 ? 0 : static_cast<std::uint32_t>(options.components)};
}

[[noreturn]] void refuse(base::Errc code, const std::string& what, const std::string& hint = {}) {
  throw base::Error(code, what, hint);
}

void check_name(const store::Format& format, const char* what, std::string_view name) {
  const bool has_zero = name.find('\0') != name.npos;
  const std::string flaw = has_zero ? "it has a zero byte" : format.flaw_of_name(name);
  if (flaw.empty()) return;
  refuse(base::Errc::invalid_argument, std::string("the name of ") + what + " '" + session::shown_name(name) + "' cannot be used: " + flaw,
         has_zero || format.flaw_of_name("a/b").empty() ? "" : "names begin with a letter, a digit or _, and have no slash");
}

// Rows or planes of an array that others have parts of, as boxes are, and not one run of elements.
bool is_in_pieces(const mesh::Box& box, const std::vector<std::uint64_t>& shape) {
  std::size_t first = 0;   // dimension that has more than one
  while (first < box.count.size() && box.count[first] == 1) ++first;
  for (std::size_t d = first + 1; d < box.count.size(); ++d) {
    if (box.count[d] != shape[d]) return true;
  }
  return false;
}

}  // namespace

std::string session::shown_name(std::string_view name) {
  constexpr std::size_t most = 60;
  std::string text;
  for (const char each : name.substr(0, most)) text += each == '\0' ? std::string("\\0") : std::string(1, each);
  return text;
}

Output::Impl::Impl(std::shared_ptr<session::Core> core, std::string path, const store::Format& format,
                   std::unique_ptr<session::Convention> convention, std::unique_ptr<session::Backend> backend,
                   base::PrecisionSettings precision)
    : core_(std::move(core)), path_(std::move(path)), backend_(std::move(backend)), format_(format), convention_(std::move(convention)),
      program_(core_->rank(), path_), precision_(std::move(precision)) {}

Output::Impl::~Impl() {
  const bool open = phase_ == Phase::between_steps || phase_ == Phase::in_step;
  if (open && !core_->closed()) backend_->abandon();
}

void Output::Impl::poison(const base::Error& error) noexcept {
  switch (phase_) {
    case Phase::defining:
      if (!early_error_) {
        const std::string what_then = "an output one of whose definitions has failed becomes no file, also where the program goes on";
        early_error_ = base::Error(error.code(), "rank " + std::to_string(core_->rank()) + ": " + error.what(),
                                   error.hint().empty() ? what_then : error.hint() + "; " + what_then);
      }
      break;
    case Phase::between_steps:
    case Phase::in_step:
      if (!core_->closed()) backend_->poison(error);
      break;
    case Phase::closed:
    case Phase::failed: break;
  }
}

base::Error Output::Impl::with_earlier(const base::Error& error) const {
  if (phase_ != Phase::defining || !early_error_ || core_->closed()) return error;
  return {error.code(), std::string(error.what()) + "; an earlier call has failed, and '" + path_ + "' becomes no file: " +
                            early_error_->what(), error.hint()};
}

void Output::Impl::require_open(const char* call) const {
  const auto refuse_call = [&](const std::string& why) {
    refuse(base::Errc::invalid_state, std::string(call) + " of '" + path_ + "': " + why);
  };
  if (core_->closed()) refuse_call("the session is closed");
  if (phase_ == Phase::closed) refuse_call("it is closed");
  if (phase_ == Phase::failed) refuse_call("there is no file: " + creation_error_);
}

void Output::Impl::require(Phase phase, const char* call) const {
  require_open(call);
  if (phase == phase_) return;
  const char* problem = phase == Phase::defining  ? "the definitions of this output have ended"
                        : phase == Phase::in_step ? "no step is open; call begin_step first"
                        : phase_ == Phase::in_step ? "a step is open; call end_step first"
                                                   : "the definitions have not ended";
  refuse(base::Errc::invalid_state, std::string(call) + " of '" + path_ + "': " + problem);
}

const std::string& Output::Impl::name(Variable variable) const {
  return program_.definitions().variables[static_cast<std::size_t>(variable.id)].name;
}

const Output::Impl::VariableInfo& Output::Impl::info(Variable variable, const char* call) const {
  if (variable.id < 0 || static_cast<std::size_t>(variable.id) >= program_.variables().size()) {
    refuse(base::Errc::not_found, std::string(call) + ": '" + path_ + "' has no such variable (id " +
                                std::to_string(variable.id) + ")", "use the handle that define_variable returned");
  }
  return program_.variables()[static_cast<std::size_t>(variable.id)];
}

Dimension Output::Impl::define_dimension(std::string_view name, std::uint64_t length, bool unlimited) {
  require(Phase::defining, "define_dimension");
  check_name(format_, "dimension", name);
  if (length == 0 && !unlimited) {
    refuse(base::Errc::invalid_argument, "dimension '" + std::string(name) + "' has length 0", "use define_unlimited for records");
  }
  return {program_.define_dimension(name, length, unlimited)};
}

Grid Output::Impl::define_grid(mesh::Mesh grid, std::vector<std::string> dimension_names) {
  require(Phase::defining, "define_grid");
  for (const std::string& name : dimension_names) check_name(format_, "dimension", name);
  const int id = program_.define_grid(std::move(grid), std::move(dimension_names));
  convention_->describe(program_, id);
  return {id};
}

Variable Output::Impl::define_variable(std::string_view name, Type external, Grid grid, VariableOptions options) {
  require(Phase::defining, "define_variable");
  check_variable_name(name);
  return {program_.define_grid_variable(name, session::narrowed(precision_, name, internal(external)), grid.id, internal(options))};
}

Variable Output::Impl::define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                                       std::vector<Box> blocks, VariableOptions options) {
  require(Phase::defining, "define_variable");
  check_variable_name(name);
  std::vector<int> ids;
  for (const Dimension& dimension : dimensions) ids.push_back(dimension.id);
  std::vector<mesh::Box> boxes;
  for (Box& block : blocks) boxes.push_back({std::move(block.start), std::move(block.count)});
  if (options.centring != Centring::cells || options.components != 1) {
    refuse(base::Errc::invalid_argument, "variable '" + std::string(name) + "' has a centring or components, and is on no grid",
           "give it a dimension for its components");
  }
  return {program_.define_variable(name, session::narrowed(precision_, name, internal(external)), ids, std::move(boxes),
                                   internal(options))};
}

void Output::Impl::check_variable_name(std::string_view name) const {
  check_name(format_, "variable", name);
  const std::string flaw = convention_->flaw_of_name(name);
  if (!flaw.empty()) refuse(base::Errc::invalid_argument, "the name of variable '" + std::string(name) + "' cannot be used: " + flaw);
}

void Output::Impl::check_attribute_name(std::string_view name) const { check_name(format_, "attribute", name); }

void Output::Impl::take_definitions(const mesh::Definitions& definitions) {
  adds_to_file_ = true;
  for (const auto& dimension : definitions.dimensions) program_.define_dimension(dimension.name, dimension.length, dimension.unlimited);
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    const auto& variable = definitions.variables[v];
    const mesh::Box whole = mesh::whole(definitions.shape(static_cast<int>(v)));
    program_.define_variable(variable.name, variable.external, variable.dimensions, {whole}, {});
  }
  program_.definitions().attributes = definitions.attributes;
}

void Output::Impl::require_changeable(Variable variable) const {
  if (!adds_to_file_ || program_.definitions().per_step(variable.id)) return;
  refuse(base::Errc::unsupported, "put of '" + name(variable) + "': '" + path_ + "' is appended to, and what is in it does not change",
         "only variables with the unlimited dimension get values in a new step");
}

void Output::Impl::set_time(double time, std::string_view unit) {
  require_open("set_time");
  if (unit.find('\0') != unit.npos) refuse(base::Errc::invalid_argument, "set_time of '" + path_ + "': the unit has a zero byte");
  if (phase_ == Phase::defining) {
    time_unit_ = unit;
  } else if (!time_unit_) {
    refuse(base::Errc::invalid_state, "set_time of '" + path_ + "': it has no time, and its definitions have ended",
           "call set_time before end_definitions and before the first step, too");
  }
  if (phase_ == Phase::in_step) {
    refuse(base::Errc::invalid_state, "set_time of '" + path_ + "': a step is open", "set the time before begin_step");
  }
  if (!std::isfinite(time)) refuse(base::Errc::invalid_argument, "set_time of '" + path_ + "': the time is not a finite number");
  time_ = time;
}

// What ranks must know of each other's grids is asked for only where there is something to know. A rank whose definitions have failed
// may not know that the others ask: the first agreement of both is the same.
void Output::Impl::view_file() {
  session::Contribution mine;
  const auto unfit = session::caught([&] { mine = convention_->contribution(program_); });
  if (unfit) poison(*unfit);
  if (!mine.empty() && core_->parts().count > 1) {
    poison({base::Errc::unsupported, "'" + path_ + "' cannot be several files: points and cells of the mesh have numbers across all ranks",
            "plan.files = 1 for it"});
  }
  session::Totals totals;
  if (unfit || !mine.empty()) {
    backend_->agree_on(program_.definitions(), early_error_);
    totals = session::together(*core_, path_, mine);
  }
  if (early_error_) return;
  const auto failed = session::caught([&] { file_ = convention_->view(program_, totals, time_unit_); });
  if (failed) poison(*failed);
  program_.forget_meshes();
}

void Output::Impl::end_definitions() {
  require(Phase::defining, "end_definitions");
  core_->require_usable("end_definitions");
  try {
    view_file();
    for (const VariableInfo& variable : program_.variables()) {
      box_.start.reserve(variable.shape.size());
      box_.count.reserve(variable.shape.size());
    }
    backend_->create(file_.definitions, file_.blocks, early_error_);
  } catch (const base::Error& error) {
    phase_ = Phase::failed;
    creation_error_ = error.what();
    throw;
  }
  const auto& attributes = file_.definitions.attributes;
  std::copy_if(attributes.begin(), attributes.end(), std::back_inserter(late_attributes_), [](const auto& each) { return each.changes; });
  phase_ = Phase::between_steps;
}

void Output::Impl::begin_step() {
  require_open("begin_step");
  if (phase_ == Phase::defining) end_definitions();
  require(Phase::between_steps, "begin_step");
  backend_->begin_step(steps_);
  phase_ = Phase::in_step;
  try {
    if (!file_.first_puts.empty()) put_first();
    if (file_.time >= 0 && core_->is_root()) put_time();
  } catch (const base::Error& error) {
    poison(error);
    throw;
  }
}

void Output::Impl::put_first() {
  for (const session::FilePut& put : file_.first_puts) {
    backend_->put(static_cast<std::uint32_t>(put.variable), steps_, put.box, put.memory,
                  {put.values.data(), mesh::size_of(put.memory), put.box.count, {}});
    ++core_->figures().puts;
  }
  file_.first_puts = {};
}

// One that has no records is put once.
void Output::Impl::put_time() {
  const bool per_step = file_.definitions.per_step(file_.time);
  if (!per_step && steps_ != 0) return;
  const std::uint64_t record = backend_->record_of(steps_);
  const double time = time_unit_ ? time_ : static_cast<double>(record);
  const auto put = [&](int variable, mesh::Type type, const void* value) {
    const mesh::Box box = mesh::whole(file_.definitions.shape(variable));
    backend_->put(static_cast<std::uint32_t>(variable), steps_, box, type,
                  {static_cast<const std::byte*>(value), mesh::size_of(type), box.count, {}});
    ++core_->figures().puts;
  };
  put(file_.time, mesh::Type::float64, &time);
  for (const int variable : file_.record_numbers) put(variable, mesh::Type::uint64, &record);
}

class Output::Impl::SplitPut final : public session::PutMap::Receiver {
 public:
  SplitPut(Impl& impl, const mesh::Box& box, mesh::Type memory, const capture::Source& source, std::span<const std::ptrdiff_t> strides)
      : impl_(impl), box_(box), memory_(memory), source_(source), strides_(strides) {}

  void take(int variable, const mesh::Box& file, const mesh::Box& part) override {
    std::ptrdiff_t first = 0;
    for (std::size_t d = 0; d < part.start.size(); ++d) first += static_cast<std::ptrdiff_t>(part.start[d] - box_.start[d]) * strides_[d];
    const auto size = static_cast<std::ptrdiff_t>(source_.element_bytes);
    impl_.backend_->put(static_cast<std::uint32_t>(variable), impl_.steps_, file, memory_,
                        {source_.first + first * size, source_.element_bytes, part.count, strides_});
  }

 private:
  Impl& impl_;
  const mesh::Box& box_;
  mesh::Type memory_;
  const capture::Source& source_;
  std::span<const std::ptrdiff_t> strides_;
};

void Output::Impl::put_block(Variable variable, std::size_t block, const mesh::Box& box, mesh::Type memory, const capture::Source& source) {
  const session::FileView::Route& route = file_.routes[static_cast<std::size_t>(variable.id)];
  if (!route.map) return backend_->put(static_cast<std::uint32_t>(route.variable), steps_, box, memory, source);
  std::span<const std::ptrdiff_t> strides = source.strides;
  if (strides.empty()) {
    strides_.assign(box.count.size(), 1);
    for (std::size_t d = box.count.size(); d-- > 1;) strides_[d - 1] = strides_[d] * static_cast<std::ptrdiff_t>(box.count[d]);
    strides = strides_;
  }
  SplitPut split(*this, box, memory, source, strides);
  route.map->split(block, box, split);
}

void Output::Impl::check_conversion(Variable variable, Type memory) const {
  const auto& definition = program_.definitions().variables[static_cast<std::size_t>(variable.id)];
  if (store::converter(internal(memory), definition.external) == nullptr) {
    refuse(base::Errc::invalid_argument, "type mismatch: " + std::string(mesh::name_of(internal(memory))) + " data cannot be put into '" +
                                       definition.name + "' of type " + std::string(mesh::name_of(definition.external)));
  }
}

void Output::Impl::put_all(Variable variable, Type memory, const void* data, std::size_t elements) {
  require(Phase::in_step, "put");
  const VariableInfo& info = this->info(variable, "put");
  require_changeable(variable);
  check_conversion(variable, memory);
  std::uint64_t expected = 0;
  for (const auto& block : info.blocks) expected += block.elements();
  if (elements != expected) {
    refuse(base::Errc::invalid_argument, "shape mismatch: put of '" + name(variable) + "' has " + std::to_string(elements) +
                                       " elements, the blocks of this rank have " + std::to_string(expected));
  }
  const std::size_t size = mesh::size_of(internal(memory));
  const auto* bytes = static_cast<const std::byte*>(data);
  for (std::size_t b = 0; b < info.blocks.size(); ++b) {
    const mesh::Box& block = info.blocks[b];
    put_block(variable, b, block, internal(memory), {bytes, size, block.count, {}});
    bytes += block.elements() * size;
  }
  if (expected == 0) return;
  ++core_->figures().puts;
  if (is_in_pieces(info.blocks.front(), info.shape)) ++core_->figures().puts_of_boxes;
}

void Output::Impl::put_box(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count, Type memory,
                           const void* first, std::span<const std::ptrdiff_t> strides) {
  require(Phase::in_step, "put");
  const VariableInfo& info = this->info(variable, "put");
  require_changeable(variable);
  check_conversion(variable, memory);
  mesh::Box& inner = box_;
  inner.start.assign(start.begin(), start.end());
  inner.count.assign(count.begin(), count.end());
  if (inner.start.size() != info.shape.size() || inner.count.size() != info.shape.size()) {
    refuse(base::Errc::invalid_argument, "shape mismatch: put of '" + name(variable) + "' has " + std::to_string(inner.count.size()) +
                                       " dimensions, the variable has " + std::to_string(info.shape.size()));
  }
  if (!strides.empty() && strides.size() != info.shape.size()) {
    refuse(base::Errc::invalid_argument, "put of '" + name(variable) + "' has " + std::to_string(strides.size()) +
                                       " strides for " + std::to_string(info.shape.size()) + " dimensions");
  }
  if (inner.empty()) return;
  // Of blocks that share points the one that begins there has them.
  auto block = info.blocks.end();
  for (auto each = info.blocks.begin(); each != info.blocks.end(); ++each) {
    if (each->contains(inner) && (block == info.blocks.end() || block->start < each->start)) block = each;
  }
  if (block == info.blocks.end()) {
    refuse(base::Errc::invalid_argument, "put of '" + name(variable) + "' " + mesh::to_string(inner) +
                                       " lies outside the blocks that rank " + std::to_string(core_->rank()) + " has defined",
           "give define_variable all blocks that this rank will put");
  }
  put_block(variable, static_cast<std::size_t>(block - info.blocks.begin()), inner, internal(memory),
            {static_cast<const std::byte*>(first), mesh::size_of(internal(memory)), inner.count, strides});
  ++core_->figures().puts;
  if (is_in_pieces(inner, info.shape)) ++core_->figures().puts_of_boxes;
}

void Output::Impl::end_step() {
  require(Phase::in_step, "end_step");
  phase_ = Phase::between_steps;
  backend_->end_step(steps_++);
}

Variable Output::Impl::find_variable(std::string_view name) const {
  for (std::size_t v = 0; v < program_.definitions().variables.size(); ++v) {
    if (program_.definitions().variables[v].name == name) return {static_cast<int>(v)};
  }
  refuse(base::Errc::not_found, "'" + path_ + "' has no variable '" + session::shown_name(name) + "'");
}

void Output::Impl::wait(Level level, double seconds) {
  if (core_->closed() && phase_ == Phase::closed) {   // closing the session has waited
    if (const auto failure = backend_->failure()) throw base::Error(*failure);
    return;
  }
  if (phase_ != Phase::closed) require_open("wait");
  if (phase_ == Phase::defining) require(Phase::between_steps, "wait");   // of no rank is there anything to wait for
  core_->require_usable("wait");
  // Only this rank may have left a step open; the others wait for it in the call.
  const auto misuse = session::caught([&] {
    if (phase_ != Phase::closed) require(Phase::between_steps, "wait");
  });
  backend_->wait(level, seconds, misuse);
}

bool Output::Impl::reached(Level level) {
  if (phase_ == Phase::defining) return true;   // nothing was put
  if (phase_ == Phase::failed) return false;
  if (backend_->failure()) return false;
  if (core_->closed()) return phase_ == Phase::closed;   // closing the session has waited
  return backend_->reached(level);
}

void Output::Impl::close() {
  require_open("close");
  core_->require_usable("close");
  if (phase_ == Phase::defining) end_definitions();   // a file without steps is a file
  // With a step open this rank has not put what it wanted; it closes all the same, so that no rank waits for it.
  const auto misuse = session::caught([&] { require(Phase::between_steps, "close"); });
  if (misuse) backend_->poison_by_close(*misuse);
  phase_ = Phase::closed;
  backend_->close(late_attributes_);
  if (misuse) throw base::Error(*misuse);
}

}  // namespace glean
