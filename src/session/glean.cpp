// SPDX-License-Identifier: BSD-3-Clause
//
// The public classes: every call is timed, and errors become glean::Error.
#include "glean/glean.hpp"

#include <unistd.h>

#include <utility>

#include "base/log.hpp"
#include "session/agreement.hpp"
#include "session/output_impl.hpp"

namespace glean {

static_assert(static_cast<int>(Errc::unsupported) == static_cast<int>(base::Errc::unsupported));
static_assert(static_cast<int>(Type::text) == static_cast<int>(mesh::Type::text));
static_assert(static_cast<int>(Format::cdf5) == static_cast<int>(store::Format::cdf5));

namespace {

template <class Call>
auto translated(Call call) {
  try {
    return call();
  } catch (const base::Error& error) {
    throw Error(static_cast<Errc>(error.code()), error.what(), error.hint());
  }
}

// A call of an output. What this rank could not do must not be lost if the application goes on.
enum class OnError { poison, keep };
template <class Call>
auto output_call(Output::Impl* impl, OnError on_error, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this output was moved from");
  return translated([&] {
    const session::Blocked blocked(impl->core());
    try {
      return call(*impl);
    } catch (const base::Error& error) {
      if (on_error == OnError::poison) impl->poison(error);
      throw;
    }
  });
}

}  // namespace

const char* version() noexcept { return GLEAN_VERSION; }

// --- Output

Output::Output(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Output::Output(Output&&) noexcept = default;
Output& Output::operator=(Output&&) noexcept = default;
Output::~Output() = default;

Dimension Output::define_dimension(std::string_view name, std::uint64_t length) {
  return output_call(impl_.get(), OnError::poison, [&](Impl& impl) { return impl.define_dimension(name, length, false); });
}

Dimension Output::define_unlimited(std::string_view name) {
  return output_call(impl_.get(), OnError::poison, [&](Impl& impl) { return impl.define_dimension(name, 0, true); });
}

Grid Output::define_grid(const UniformGrid& grid) {
  return output_call(impl_.get(), OnError::poison, [&](Impl& impl) { return impl.define_grid(grid); });
}

Grid Output::define_grid(const AmrGrid& grid) {
  return output_call(impl_.get(), OnError::poison, [&](Impl& impl) { return impl.define_grid(grid); });
}

Variable Output::define_variable(std::string_view name, Type external, Grid grid, VariableOptions options) {
  return output_call(impl_.get(), OnError::poison,
                     [&](Impl& impl) { return impl.define_variable(name, external, grid, options); });
}

Variable Output::define_variable(std::string_view name, Type external, std::span<const Dimension> dimensions,
                                 std::vector<Box> blocks, VariableOptions options) {
  return output_call(impl_.get(), OnError::poison, [&](Impl& impl) {
    return impl.define_variable(name, external, dimensions, std::move(blocks), options);
  });
}

void Output::define_attribute(std::string_view name, std::string_view text) {
  attribute(Variable{}, name, Type::text, text.data(), text.size());
}

void Output::define_attribute(Variable variable, std::string_view name, std::string_view text) {
  attribute(variable, name, Type::text, text.data(), text.size());
}

void Output::attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count) {
  output_call(impl_.get(), OnError::poison,
              [&](Impl& impl) { impl.define_attribute(variable, name, type, values, count); });
}

void Output::end_definitions() {
  output_call(impl_.get(), OnError::keep, [](Impl& impl) { impl.end_definitions(); });
}

void Output::begin_step() {
  output_call(impl_.get(), OnError::keep, [](Impl& impl) { impl.begin_step(); });
}

void Output::put_all(Variable variable, Type memory, const void* data, std::size_t elements) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.put_all(variable, memory, data, elements); });
}

void Output::put_box(Variable variable, const Box& box, Type memory, const void* first,
                     std::span<const std::ptrdiff_t> strides) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.put_box(variable, box, memory, first, strides); });
}

void Output::end_step() {
  output_call(impl_.get(), OnError::poison, [](Impl& impl) { impl.end_step(); });
}

Variable Output::find_variable(std::string_view name) const {
  return output_call(impl_.get(), OnError::keep, [&](Impl& impl) { return impl.find_variable(name); });
}

void Output::wait(Level level, double seconds) {
  output_call(impl_.get(), OnError::keep, [&](Impl& impl) { impl.wait(level, seconds); });
}

void Output::close() {
  output_call(impl_.get(), OnError::keep, [](Impl& impl) { impl.close(); });
}

// --- Session

class Session::Impl {
 public:
  Impl(MPI_Comm comm, const std::map<std::string, std::string>& settings)
      : core_(std::make_shared<session::Core>(comm, settings)) {}

  Output open(std::string_view path, Format format, OutputOptions options) {
    require_open("open");
    const std::string text(path);
    const auto opening = session::on_root<session::Opening>(core_->comm(), [&](session::Opening& value) {
      if (core_->has_pool()) {
        if (const auto earlier = core_->undelivered_error()) throw base::Error(*earlier);
        core_->forget_finished();
      }
      value.settings = core_->settings().for_output(text);
      if (!core_->has_pool()) value.settings.mode = base::Mode::passthrough;
      const auto names = store::choose_names(text, value.settings.publish, options.existing == Existing::refuse,
                                             std::to_string(getpid()) + "-" + std::to_string(opened_));
      if (names.working_path.size() >= sizeof value.working_path || names.final_path.size() >= sizeof value.final_path) {
        throw base::Error(base::Errc::invalid_argument, "the path '" + text + "' is too long");
      }
      names.working_path.copy(value.working_path, names.working_path.size());
      names.final_path.copy(value.final_path, names.final_path.size());
    });
    ++opened_;
    auto backend = opening.settings.mode == base::Mode::threaded
                       ? session::make_threaded_backend(core_, text, opening)
                       : session::make_passthrough_backend(core_, text, opening);
    return Output(std::make_unique<Output::Impl>(core_, text, static_cast<store::Format>(format), std::move(backend)));
  }

  void wait(Level level, double seconds) {
    require_open("wait");
    session::agree(core_->comm(), session::caught([&] { core_->wait_for_all(level, seconds); }));
  }

  void require_open(const char* call) const {
    if (core_->closed()) throw base::Error(base::Errc::invalid_state, std::string(call) + ": the session is closed");
  }

  [[nodiscard]] session::Core& core() { return *core_; }

 private:
  std::shared_ptr<session::Core> core_;
  int opened_ = 0;
};

namespace {

template <class Impl, class Call>
auto session_call(Impl* impl, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this session was moved from");
  return translated([&] {
    const session::Blocked blocked(impl->core());
    return call(*impl);
  });
}

}  // namespace

Session::Session(MPI_Comm comm, const std::map<std::string, std::string>& settings)
    : impl_(translated([&] { return std::make_unique<Impl>(comm, settings); })) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Session::~Session() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (impl_ == nullptr) return;
  if (finalized != 0) {
    if (!impl_->core().closed()) {
      base::log(base::LogLevel::error, "the session was not closed before MPI_Finalize: its last outputs may be lost");
    }
    return;
  }
  if (const auto error = session::caught([&] { impl_->core().close(); })) {
    base::log(base::LogLevel::error, "closing the session: {}", error->what());
  }
}

Output Session::open(std::string_view path, Format format, OutputOptions options) {
  return session_call(impl_.get(), [&](Impl& impl) { return impl.open(path, format, options); });
}

void Session::wait(Level level, double seconds) {
  session_call(impl_.get(), [&](Impl& impl) { impl.wait(level, seconds); });
}

void Session::close() {
  if (impl_ == nullptr) throw Error(Errc::invalid_state, "this session was moved from");
  translated([&] { impl_->core().close(); });
}

Statistics Session::statistics() const {
  if (impl_ == nullptr) throw Error(Errc::invalid_state, "this session was moved from");
  return impl_->core().statistics();
}

}  // namespace glean
