// SPDX-License-Identifier: BSD-3-Clause
#include "session/input.hpp"

#include <filesystem>
#include <string_view>

#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "session/collective_read.hpp"
#include "session/remote_input.hpp"
#include "session/translated.hpp"
#include "store/parts/part_index.hpp"

namespace glean {

namespace {

VariableDescription described(const session::Reader::Variable& variable) {
  return {variable.name, static_cast<Type>(variable.external), variable.per_step, variable.shape,
          variable.dimensions};
}

template <class Call>
auto input_call(Input::Impl* impl, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this input was moved from");
  return session::translated([&] {
    const session::Blocked blocked(impl->core());
    return call(*impl);
  });
}

}  // namespace

// --- one file

const session::Reader::Variable& Input::Impl::info(Variable variable) const {
  const auto& variables = file_->variables();
  if (variable.id >= 0 && static_cast<std::size_t>(variable.id) < variables.size()) {
    return variables[static_cast<std::size_t>(variable.id)];
  }
  throw base::Error(base::Errc::not_found, "'" + path_ + "' has no such variable (id " + std::to_string(variable.id) + ")",
                    "use the handle that find_variable returned");
}

std::vector<VariableDescription> Input::Impl::variables() const {
  std::vector<VariableDescription> all;
  for (const auto& variable : file_->variables()) all.push_back(described(variable));
  return all;
}

VariableDescription Input::Impl::describe(Variable variable) const { return described(info(variable)); }

Variable Input::Impl::find_variable(std::string_view name) const {
  return {file_->find(name)};
}

void Input::Impl::refuse(const session::Reader::Variable& variable, const std::string& why) const {
  throw base::Error(base::Errc::invalid_argument, "cannot read '" + variable.name + "' of '" + path_ + "': " + why);
}

mesh::Box Input::Impl::box_of(const session::Reader::Variable& variable, const Box& box) const {
  mesh::Box inner{box.start, box.count};
  const std::size_t dimensions = variable.shape.size();
  if (box.start.size() != dimensions || box.count.size() != dimensions) {
    refuse(variable, "the box has " + std::to_string(box.count.size()) + " dimensions, the variable has " + std::to_string(dimensions));
  }
  if (!mesh::whole(variable.shape).contains(inner)) {
    refuse(variable, mesh::to_string(inner) + " does not lie in " + mesh::to_string(mesh::whole(variable.shape)));
  }
  return inner;
}

mesh::Box Input::Impl::box_with_room(const session::Reader::Variable& variable, const Box& box, const void* out,
                                     std::size_t elements) const {
  mesh::Box inner = box_of(variable, box);
  const std::uint64_t expected = inner.empty() ? 0 : inner.elements();
  if (elements != expected) {
    refuse(variable, "there is room for " + std::to_string(elements) + " elements, the box has " + std::to_string(expected));
  }
  if (out == nullptr && expected != 0) refuse(variable, "there is no memory for " + std::to_string(expected) + " elements");
  return inner;
}

void Input::Impl::read_box(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out,
                           std::size_t elements) const {
  const mesh::Box inner = box_with_room(info(variable), box, out, elements);
  file_->read(variable.id, step, inner, static_cast<mesh::Type>(memory), static_cast<std::byte*>(out));
}

void Input::Impl::read_box_all(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out, std::size_t elements) const {
  core_->require_usable("read_all");
  core_->require_question("read_all");
  if (core_->parts().count > 1) {
    throw base::Error(base::Errc::unsupported,
                      "read_all: outputs of this session are several files (plan.files), which groups of ranks share",
                      "read() takes a box of each rank");
  }
  session::BoxToRead mine{variable.id, step, {}, static_cast<mesh::Type>(memory), static_cast<std::byte*>(out)};
  const auto wrong = session::caught([&] { mine.box = box_with_room(info(variable), box, out, elements); });
  session::read_together(*core_, path_, *file_, mine, wrong);
}

void Input::Impl::prefetch(Variable variable, std::uint64_t step, const Box& box) const {
  file_->prefetch(variable.id, step, box_of(info(variable), box));
}

std::vector<AttributeDescription> Input::Impl::attributes(Variable variable) const {
  if (variable.id != -1) static_cast<void>(info(variable));
  std::vector<AttributeDescription> all;
  for (const auto& attribute : file_->attributes(variable.id)) {
    all.push_back({attribute.name, static_cast<Type>(attribute.external), attribute.elements});
  }
  return all;
}

std::size_t Input::Impl::read_attribute(Variable variable, std::string_view name, Type memory, void* out,
                                        std::size_t elements) const {
  if (variable.id != -1) static_cast<void>(info(variable));
  const std::string text(name);
  const std::size_t there = file_->attribute_elements(variable.id, text);
  if (elements >= there && there != 0) file_->read_attribute(variable.id, text, static_cast<mesh::Type>(memory), out);
  return there;
}

// --- opening

namespace session {

namespace {

void require_file(const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw base::Error(base::Errc::invalid_argument, "cannot read '" + path + "': " + what);
  };
  if (path.find('\0') != path.npos) refuse("the path has a zero byte");
  if (std::error_code none; std::filesystem::is_directory(path, none)) refuse("it is a directory");
}

std::unique_ptr<Reader> open_output(PoolOutputs& outputs, PoolOutput& output, const InputOptions& options) {
  const std::string path = outputs.wait_to_read(output, options);
  try {
    return open_file(path);
  } catch (const base::Error& error) {
    if (error.code() != base::Errc::not_found || !output.closed) throw;
  }
  // The drain has published or removed it in this moment: soon it says which.
  return open_file(outputs.wait_to_read(output, {Reading::published, options.seconds}));
}

}  // namespace

std::unique_ptr<Reader> open_file(const std::string& path) {
  require_file(path);
  return open_reader(path);
}

std::unique_ptr<Input::Impl> open_input(const std::shared_ptr<Core>& core, const std::string& path,
                                        const InputOptions& options) {
  core->require_usable("open_input");
  if (path.find('\0') != path.npos) throw base::Error(base::Errc::invalid_argument, "the path of a file to read has a zero byte");
  const Blocked blocked(*core);
  const auto made = [&](std::unique_ptr<Reader> file) {
    return std::make_unique<Input::Impl>(core, path, std::move(file));
  };
  const bool are_stagers_there = core->files_of_stagers() != nullptr;
  std::string final_path;
  if (caught([&] { final_path = store::resolved_path(path); })) {
    return made(are_stagers_there ? open_where_stagers_write(*core, path, options) : open_file(path));   // which says why
  }

  for (const Backend* backend : core->direct()) {
    if (!backend->name().leads_to(final_path)) continue;
    throw base::Error(base::Errc::invalid_state, "cannot read '" + path + "': it is open in mode passthrough or collective",
                      "close it before it is read");
  }
  if (are_stagers_there) return made(open_where_stagers_write(*core, path, options));
  if (core->has_pool()) {
    if (const auto output = core->outputs().find(final_path)) return made(open_output(core->outputs(), *output, options));
  }
  if (const auto failure = core->past().failure(final_path)) throw base::Error(*failure);
  const Parts& parts = core->parts();
  if (parts.count > 1 && !std::filesystem::exists(final_path)) {
    throw base::Error(base::Errc::not_found,
                      "there is no '" + path + "': outputs of this session are " + std::to_string(parts.count) + " files",
                      "read '" + store::part_path(path, parts.self, parts.count) + "', or let `glean join` make one file of them");
  }
  return made(open_file(path));
}

std::vector<OutputStatus> list_outputs(Core& core) {
  std::vector<OutputStatus> all = core.past().statuses();
  if (core.has_pool()) {
    const auto in_pool = core.outputs().statuses();
    all.insert(all.end(), in_pool.begin(), in_pool.end());
  }
  for (const Backend* backend : core.direct()) all.push_back(backend->status());
  return all;
}

}  // namespace session

// --- the public class

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

std::string Input::path() const {
  return input_call(impl_.get(), [](Impl& impl) { return impl.path(); });
}

std::uint64_t Input::steps() const {
  return input_call(impl_.get(), [](Impl& impl) { return impl.steps(); });
}

std::vector<VariableDescription> Input::variables() const {
  return input_call(impl_.get(), [](Impl& impl) { return impl.variables(); });
}

VariableDescription Input::describe(Variable variable) const {
  return input_call(impl_.get(), [&](Impl& impl) { return impl.describe(variable); });
}

Variable Input::find_variable(std::string_view name) const {
  return input_call(impl_.get(), [&](Impl& impl) { return impl.find_variable(name); });
}

std::vector<AttributeDescription> Input::attributes(Variable variable) const {
  return input_call(impl_.get(), [&](Impl& impl) { return impl.attributes(variable); });
}

void Input::read_box(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out,
                     std::size_t elements) const {
  input_call(impl_.get(), [&](Impl& impl) { impl.read_box(variable, step, box, memory, out, elements); });
}

void Input::read_box_all(Variable variable, std::uint64_t step, const Box& box, Type memory, void* out, std::size_t elements) const {
  input_call(impl_.get(), [&](Impl& impl) { impl.read_box_all(variable, step, box, memory, out, elements); });
}

void Input::prefetch(Variable variable, std::uint64_t step, const Box& box) const {
  input_call(impl_.get(), [&](Impl& impl) { impl.prefetch(variable, step, box); });
}

void Input::prefetch(Variable variable, std::uint64_t step) const {
  const std::vector<std::uint64_t> shape = describe(variable).shape;
  prefetch(variable, step, {std::vector<std::uint64_t>(shape.size(), 0), shape});
}

std::size_t Input::read_attribute(Variable variable, std::string_view name, Type memory, void* out,
                                  std::size_t elements) const {
  return input_call(impl_.get(),
                    [&](Impl& impl) { return impl.read_attribute(variable, name, memory, out, elements); });
}

}  // namespace glean
