// SPDX-License-Identifier: BSD-3-Clause
#include "session/output_impl.hpp"

#include <algorithm>

#include "session/agreement.hpp"
#include "store/convert.hpp"

namespace glean {

namespace {

mesh::Type internal(Type type) { return static_cast<mesh::Type>(type); }
mesh::Box internal(const Box& box) { return {box.start, box.count}; }

[[noreturn]] void refuse(base::Errc code, const std::string& what, const std::string& hint = {}) {
  throw base::Error(code, what, hint);
}

void check_name(const store::Format& format, const char* what, std::string_view name) {
  const std::string flaw = format.flaw_of_name(name);
  if (flaw.empty()) return;
  constexpr std::size_t shown = 60;
  refuse(base::Errc::invalid_argument,
         std::string("the name of ") + what + " '" + std::string(name.substr(0, shown)) + "' cannot be used: " + flaw,
         format.flaw_of_name("a/b").empty() ? "" : "names begin with a letter, a digit or _, and have no slash");
}

std::string text(const mesh::Shape& shape) {
  std::string all;
  for (const auto extent : shape) all += (all.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + all + "]";
}

}  // namespace

Output::Impl::Impl(std::shared_ptr<session::Core> core, std::string path, const store::Format& format,
                   std::unique_ptr<session::Backend> backend)
    : core_(std::move(core)), path_(std::move(path)), backend_(std::move(backend)), format_(format) {}

Output::Impl::~Impl() {
  const bool open = phase_ == Phase::between_steps || phase_ == Phase::in_step;
  if (open && !core_->closed()) backend_->abandon();
}

void Output::Impl::poison(const base::Error& error) noexcept {
  switch (phase_) {
    case Phase::defining:
      if (!early_error_) {
        early_error_ = base::Error(error.code(), "rank " + std::to_string(core_->rank()) + ": " + error.what(),
                                   error.hint());
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
  return definitions_.variables[static_cast<std::size_t>(variable.id)].name;
}

const Output::Impl::VariableInfo& Output::Impl::info(Variable variable, const char* call) const {
  if (variable.id < 0 || static_cast<std::size_t>(variable.id) >= variables_.size()) {
    refuse(base::Errc::not_found, std::string(call) + ": '" + path_ + "' has no such variable (id " +
                                std::to_string(variable.id) + ")", "use the handle that define_variable returned");
  }
  return variables_[static_cast<std::size_t>(variable.id)];
}

Dimension Output::Impl::define_dimension(std::string_view name, std::uint64_t length, bool unlimited) {
  require(Phase::defining, "define_dimension");
  check_name(format_, "dimension", name);
  for (const auto& dimension : definitions_.dimensions) {
    if (dimension.name == name) refuse(base::Errc::invalid_argument, "dimension '" + dimension.name + "' is defined already");
    if (unlimited && dimension.unlimited) {
      refuse(base::Errc::invalid_argument, "'" + dimension.name + "' is unlimited already: a file has one such dimension");
    }
  }
  if (length == 0 && !unlimited) {
    refuse(base::Errc::invalid_argument, "dimension '" + std::string(name) + "' has length 0", "use define_unlimited for records");
  }
  definitions_.dimensions.push_back({std::string(name), length, unlimited});
  return {static_cast<int>(definitions_.dimensions.size()) - 1};
}

Variable Output::Impl::define_variable(std::string_view name, Type external, Grid grid, VariableOptions options) {
  require(Phase::defining, "define_variable");
  if (grid.id < 0 || static_cast<std::size_t>(grid.id) >= definitions_.grids.size()) {
    refuse(base::Errc::not_found, "variable '" + std::string(name) + "' is defined on a grid that '" + path_ + "' does not have");
  }
  std::vector<Dimension> dimensions;
  for (const int id : definitions_.grids[static_cast<std::size_t>(grid.id)].dimensions) dimensions.push_back({id});
  if (options.per_step) {
    auto unlimited = std::find_if(definitions_.dimensions.begin(), definitions_.dimensions.end(),
                                  [](const auto& dimension) { return dimension.unlimited; });
    const auto id = unlimited == definitions_.dimensions.end()
                        ? define_dimension("time", 0, true).id
                        : static_cast<int>(unlimited - definitions_.dimensions.begin());
    dimensions.insert(dimensions.begin(), Dimension{id});
  }
  std::vector<Box> blocks;
  for (const auto& block : grid_blocks_[static_cast<std::size_t>(grid.id)]) blocks.push_back({block.start, block.count});
  const Variable variable = define_variable(name, external, dimensions, std::move(blocks), options);
  definitions_.variables[static_cast<std::size_t>(variable.id)].grid = grid.id;
  return variable;
}

Variable Output::Impl::define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                                       std::vector<Box> blocks, VariableOptions options) {
  require(Phase::defining, "define_variable");
  check_name(format_, "variable", name);
  const std::string text_name(name);
  for (const auto& variable : definitions_.variables) {
    if (variable.name == name) refuse(base::Errc::invalid_argument, "variable '" + text_name + "' is defined already");
  }
  mesh::VariableDefinition variable{text_name, internal(external), {}, options.fill == Fill::on, -1};
  VariableInfo info;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const int id = dimensions[d].id;
    if (id < 0 || static_cast<std::size_t>(id) >= definitions_.dimensions.size()) {
      refuse(base::Errc::not_found, "dimension " + std::to_string(d) + " of variable '" + text_name + "' is not defined");
    }
    const auto& dimension = definitions_.dimensions[static_cast<std::size_t>(id)];
    if (dimension.unlimited && d != 0) {
      refuse(base::Errc::invalid_argument, "variable '" + text_name + "': the unlimited dimension '" + dimension.name +
                                         "' must be the first one");
    }
    variable.dimensions.push_back(id);
    if (!dimension.unlimited) info.shape.push_back(dimension.length);
  }
  if (options.per_step && info.shape.size() == dimensions.size()) {
    refuse(base::Errc::invalid_argument, "variable '" + text_name + "' is per step, but has no unlimited dimension",
           "put what define_unlimited returned in front of its dimensions");
  }
  for (const auto& block : blocks) {
    if (block.start.size() != info.shape.size() || block.count.size() != info.shape.size()) {
      refuse(base::Errc::invalid_argument, "a block of variable '" + text_name + "' has " + std::to_string(block.count.size()) +
                                         " dimensions, the variable has " + std::to_string(info.shape.size()));
    }
    if (!mesh::whole(info.shape).contains(internal(block))) {
      refuse(base::Errc::invalid_argument, "block " + mesh::to_string(internal(block)) + " does not lie in variable '" +
                                         text_name + "' of shape " + text(info.shape));
    }
    if (!internal(block).empty()) info.blocks.push_back(internal(block));
  }
  definitions_.variables.push_back(std::move(variable));
  variables_.push_back(std::move(info));
  return {static_cast<int>(variables_.size()) - 1};
}

void Output::Impl::define_attribute(Variable variable, std::string_view name, Type type, const void* values,
                                    std::size_t count) {
  require(Phase::defining, "define_attribute");
  check_name(format_, "attribute", name);
  if (variable.id != -1) static_cast<void>(info(variable, "define_attribute"));
  const auto* bytes = static_cast<const std::byte*>(values);
  definitions_.attributes.push_back(
      {variable.id, std::string(name), internal(type), {bytes, bytes + count * mesh::size_of(internal(type))}});
}

void Output::Impl::end_definitions() {
  require(Phase::defining, "end_definitions");
  core_->require_usable("end_definitions");
  session::Blocks blocks;
  for (const VariableInfo& variable : variables_) {
    blocks.push_back(variable.blocks);
    box_.start.reserve(variable.shape.size());
    box_.count.reserve(variable.shape.size());
  }
  try {
    backend_->create(definitions_, blocks, early_error_);
  } catch (const base::Error& error) {
    phase_ = Phase::failed;
    creation_error_ = error.what();
    throw;
  }
  phase_ = Phase::between_steps;
}

void Output::Impl::begin_step() {
  require_open("begin_step");
  if (phase_ == Phase::defining) end_definitions();
  require(Phase::between_steps, "begin_step");
  backend_->begin_step(steps_);
  phase_ = Phase::in_step;
  if (!coordinates_.empty()) put_coordinates();
}

void Output::Impl::put_coordinates() {
  try {
    for (const auto& coordinates : coordinates_) {
      const auto& definition = definitions_.variables[static_cast<std::size_t>(coordinates.variable.id)];
      put_all(coordinates.variable, static_cast<Type>(definition.external), coordinates.values.data(),
              coordinates.values.size() / mesh::size_of(definition.external));
    }
  } catch (const base::Error& error) {
    poison(error);
    throw;
  }
  coordinates_.clear();
}

void Output::Impl::check_conversion(Variable variable, Type memory) const {
  const auto& definition = definitions_.variables[static_cast<std::size_t>(variable.id)];
  if (store::converter(internal(memory), definition.external) == nullptr) {
    refuse(base::Errc::invalid_argument, "type mismatch: " + std::string(mesh::name_of(internal(memory))) + " data cannot be put into '" +
                                       definition.name + "' of type " + std::string(mesh::name_of(definition.external)));
  }
}

void Output::Impl::put_all(Variable variable, Type memory, const void* data, std::size_t elements) {
  require(Phase::in_step, "put");
  const VariableInfo& info = this->info(variable, "put");
  check_conversion(variable, memory);
  std::uint64_t expected = 0;
  for (const auto& block : info.blocks) expected += block.elements();
  if (elements != expected) {
    refuse(base::Errc::invalid_argument, "shape mismatch: put of '" + name(variable) + "' has " + std::to_string(elements) +
                                       " elements, the blocks of this rank have " + std::to_string(expected));
  }
  const std::size_t size = mesh::size_of(internal(memory));
  const auto* bytes = static_cast<const std::byte*>(data);
  for (const auto& block : info.blocks) {
    backend_->put(static_cast<std::uint32_t>(variable.id), steps_, block, internal(memory), {bytes, size, block.count, {}});
    bytes += block.elements() * size;
  }
  if (expected != 0) ++core_->figures().puts;
}

void Output::Impl::put_box(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count, Type memory,
                           const void* first, std::span<const std::ptrdiff_t> strides) {
  require(Phase::in_step, "put");
  const VariableInfo& info = this->info(variable, "put");
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
  if (std::none_of(info.blocks.begin(), info.blocks.end(), [&](const auto& block) { return block.contains(inner); })) {
    refuse(base::Errc::invalid_argument, "put of '" + name(variable) + "' " + mesh::to_string(inner) +
                                       " lies outside the blocks that rank " + std::to_string(core_->rank()) + " has defined",
           "give define_variable all blocks that this rank will put");
  }
  backend_->put(static_cast<std::uint32_t>(variable.id), steps_, inner, internal(memory),
                {static_cast<const std::byte*>(first), mesh::size_of(internal(memory)), inner.count, strides});
  ++core_->figures().puts;
}

void Output::Impl::end_step() {
  require(Phase::in_step, "end_step");
  phase_ = Phase::between_steps;
  backend_->end_step(steps_++);
}

Variable Output::Impl::find_variable(std::string_view name) const {
  for (std::size_t v = 0; v < definitions_.variables.size(); ++v) {
    if (definitions_.variables[v].name == name) return {static_cast<int>(v)};
  }
  refuse(base::Errc::not_found, "'" + path_ + "' has no variable '" + std::string(name) + "'");
}

void Output::Impl::wait(Level level, double seconds) {
  if (core_->closed() && phase_ == Phase::closed) {   // closing the session has waited
    if (const auto failure = backend_->failure()) throw base::Error(*failure);
    return;
  }
  if (phase_ != Phase::closed) require_open("wait");
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
  if (misuse) backend_->poison(*misuse);
  phase_ = Phase::closed;
  backend_->close();
  if (misuse) throw base::Error(*misuse);
}

}  // namespace glean
