// SPDX-License-Identifier: BSD-3-Clause
//
// The public classes: every call is timed, and errors become glean::Error.
#include "glean/glean.hpp"

#include <unistd.h>

#include <cmath>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "drain/checksums.hpp"
#include "pool/message_log.hpp"
#include "session/agreement.hpp"
#include "session/append.hpp"
#include "session/formats.hpp"
#include "session/input.hpp"
#include "session/mesh_values.hpp"
#include "session/output_impl.hpp"
#include "session/precision.hpp"
#include "session/restart.hpp"
#include "session/task_file.hpp"
#include "session/translated.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/replaceable.hpp"

namespace glean::session {
namespace {

// A value that a cast or a computation has made.
void check_wait(Level level, double seconds) {
  if (level < Level::captured || level > Level::durable) {
    throw base::Error(base::Errc::invalid_argument, "there is no glean::Level " + std::to_string(static_cast<int>(level)));
  }
  if (std::isnan(seconds)) throw base::Error(base::Errc::invalid_argument, "the seconds to wait are not a number");
}

}  // namespace
}  // namespace glean::session

namespace glean {

static_assert(static_cast<int>(Errc::unsupported) == static_cast<int>(base::Errc::unsupported));
static_assert(static_cast<int>(Type::text) == static_cast<int>(mesh::Type::text));

namespace {

using session::translated;

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
      const base::Error told = impl->with_earlier(error);
      if (on_error == OnError::poison) impl->poison(error);
      throw base::Error(told);
    } catch (const std::exception& error) {   // such as bad_alloc
      impl->poison(base::Error(base::Errc::io, error.what()));
      throw;
    }
  });
}

}  // namespace

#define GLEAN_TEXT_OF(number) #number
#define GLEAN_DOTTED(major, minor, patch) GLEAN_TEXT_OF(major) "." GLEAN_TEXT_OF(minor) "." GLEAN_TEXT_OF(patch)
static_assert(std::string_view(GLEAN_VERSION) == GLEAN_DOTTED(GLEAN_VERSION_MAJOR, GLEAN_VERSION_MINOR, GLEAN_VERSION_PATCH),
              "glean.hpp and CMakeLists.txt have different versions");

const char* v0::version() noexcept { return GLEAN_VERSION; }

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

// Copies and checks what this rank has; docs/meshes.md.
#define GLEAN_DEFINE_GRID(kind, names)                                                                       \
  Grid Output::define_grid(const kind& grid) {                                                               \
    return output_call(impl_.get(), OnError::poison,                                                         \
                       [&](Impl& impl) { return impl.define_grid(session::mesh_of(grid), names); });         \
  }
GLEAN_DEFINE_GRID(UniformGrid, grid.dimension_names)
GLEAN_DEFINE_GRID(RectilinearGrid, grid.dimension_names)
GLEAN_DEFINE_GRID(CurvilinearGrid, grid.dimension_names)
GLEAN_DEFINE_GRID(UnstructuredMesh, {})
GLEAN_DEFINE_GRID(AmrGrid, {})

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

void Output::attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count) {
  output_call(impl_.get(), OnError::poison,
              [&](Impl& impl) { impl.define_attribute(variable, name, type, values, count); });
}

void Output::allow_attribute_change(Variable variable, std::string_view name) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.allow_attribute_change(variable, name); });
}

void Output::late_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.set_attribute(variable, name, type, values, count); });
}

void Output::set_time(double time, std::string_view unit) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.set_time(time, unit); });
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

void Output::put_box(Variable variable, std::span<const std::uint64_t> start, std::span<const std::uint64_t> count, Type memory,
                     const void* first, std::span<const std::ptrdiff_t> strides) {
  output_call(impl_.get(), OnError::poison, [&](Impl& impl) { impl.put_box(variable, start, count, memory, first, strides); });
}

void Output::fail(const Error& error) {
  const std::string what = error.what();   // with the hint
  output_call(impl_.get(), OnError::keep,
              [&](Impl& impl) { impl.poison(base::Error(static_cast<base::Errc>(error.code()), what)); });
}

void Output::end_step() {
  output_call(impl_.get(), OnError::poison, [](Impl& impl) { impl.end_step(); });
  impl_->core().step_times().mark(impl_.get(), session::StepTimes::End::step, impl_->core().figures());
}

Variable Output::find_variable(std::string_view name) const {
  return output_call(impl_.get(), OnError::keep, [&](Impl& impl) { return impl.find_variable(name); });
}

void Output::wait(Level level, double seconds) {
  output_call(impl_.get(), OnError::keep, [&](Impl& impl) {
    session::check_wait(level, seconds);
    impl.wait(level, seconds);
  });
}

bool Output::reached(Level level) {
  return output_call(impl_.get(), OnError::keep, [&](Impl& impl) {
    session::check_wait(level, 0);
    return impl.reached(level);
  });
}

void Output::close() {
  output_call(impl_.get(), OnError::keep, [](Impl& impl) { impl.close(); });
  impl_->core().step_times().mark(impl_.get(), session::StepTimes::End::file, impl_->core().figures());
}

void Output::close(Level level, double seconds) {
  output_call(impl_.get(), OnError::keep, [&](Impl&) { session::check_wait(level, seconds); });
  close();
  wait(level, seconds);
}

// --- Session

class Session::Impl {
 public:
  Impl(MPI_Comm comm, const std::map<std::string, std::string>& settings)
      : core_(std::make_shared<session::Core>(comm, settings)) {}
  ~Impl() { end(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Output open(std::string_view path, Format format, OutputOptions options) {
    core_->require_usable("open");
    core_->require_question("open");
    if (path.find('\0') != path.npos) throw base::Error(base::Errc::invalid_argument, "the path of an output has a zero byte");
    const session::Parts& parts = core_->parts();
    session::require_one_file(path, format, parts.count);
    session::Opening opening{std::string(path), {}, {}, {}, &session::format_of(format), options.existing == Existing::refuse};
    if (parts.count > 1) opening.path = store::part_path(opening.path, parts.self, parts.count);
    struct Decision {
      base::OutputSettings settings;
      bool is_narrowed = false;      // variables may be written in single precision
      pid_t root = 0;                // with the time: told from outputs of other sessions and of other machines that
      std::uint64_t opened_ns = 0;   // share the directory
      [[nodiscard]] std::string unique() const { return std::to_string(root) + "-" + std::to_string(opened_ns); }
      std::uint64_t failed_before;   // closed outputs; if there are any, nothing is opened
    };
    session::InCall in_call(core_->collective(), session::Call::open, opening.path);
    in_call.set_busy(core_->is_root());
    const auto decide = [&](Decision& value) {
      value.failed_before = core_->has_pool() ? core_->outputs().failed_unnoticed() : 0;
      if (value.failed_before != 0) return;
      value.settings = core_->settings().for_output(path);
      value.is_narrowed = core_->settings().precision_of_output(path).single;
      core_->restrict_to_what_several_nodes_can(value.settings, opening.path);
      const bool makes_copies = core_->settings().copies_of_output(path).any() || !core_->settings().results_of_output(path).empty();
      if (!base::captures(value.settings.mode) && makes_copies) {
        core_->warn_once(
            "the modes passthrough and collective make no copies: also, format, plot_variables and [[analysis]] have no effect");
      }
      value.root = getpid();
      value.opened_ns = base::now_ns();
      if (base::captures(value.settings.mode) && core_->pool().is_staged()) {   // the stagers ask the file system
        opening.names = session::names_at_stagers(opening.path, value.settings.publish, value.unique());
        return;
      }
      if (value.settings.publish == base::Publish::rename && options.existing != Existing::refuse && parts.count == 1) {
        if (const auto why = store::why_written_in_place(opening.path)) {
          core_->warn_in_place(opening.path, *why);
          value.settings.publish = base::Publish::in_place;
        }
      }
      opening.names = store::choose_names(opening.path, value.settings.publish, options.existing == Existing::refuse,
                                          value.unique());
      store::SystemCalls calls;
      if (value.settings.publish == base::Publish::in_place) drain::forget_sums(calls, opening.names.final_path);
    };
    auto decision = session::on_root<Decision>(core_->comm(), decide);
    in_call.set_busy(false);
    while (decision.failed_before != 0) {
      if (const auto failure = core_->outputs().announce(decision.failed_before)) throw base::Error(*failure);
      decision = session::on_root<Decision>(core_->comm(), decide);
    }
    if (core_->has_pool()) core_->outputs().forget_finished();
    opening.settings = decision.settings;
    std::optional<store::FileNames> known_names;
    if (core_->is_root()) known_names = opening.names;
    else if (core_->files_of_stagers() != nullptr) {   // this node need not see the directory
      known_names = session::names_at_stagers(opening.path, decision.settings.publish, decision.unique());
    }
    opening.name = session::OutputName(opening.path, decision.settings.publish, decision.unique(), known_names);
    auto precision = session::precision_of_output(*core_, path, decision.is_narrowed);
    auto backend = base::captures(opening.settings.mode)
                       ? session::make_threaded_backend(core_, opening)
                       : session::make_passthrough_backend(core_, opening);
    return Output(std::make_unique<Output::Impl>(core_, opening.path, *opening.format, session::convention_of(format),
                                                 std::move(backend), std::move(precision)));
  }

  std::vector<Message> poll_messages() {
    if (!core_->has_pool()) return {};
    if (!messages_) messages_.emplace(core_->pool().name());
    std::vector<Message> messages;
    for (pool::Message& each : messages_->poll()) messages.push_back({std::move(each.text), std::move(each.output), each.step});
    return messages;
  }

  Output append(std::string_view path) { return Output(session::append(core_, std::string(path))); }

  void wait(Level level, double seconds) {
    session::check_wait(level, seconds);
    core_->require_usable("wait");
    const auto failed = containers_.wait(*core_, level);
    core_->wait(level, seconds);
    if (failed) throw base::Error(*failed);
  }

  TaskFile create_container(std::string_view path, const ContainerOptions& options) {
    return TaskFile(containers_.create(core_, std::string(path), options));
  }

  ContainerInput open_container(std::string_view path) {
    // What is wrong with the path opening it says.
    std::optional<std::string> final_path;
    static_cast<void>(session::caught([&] { final_path = store::resolved_path(std::string(path)); }));
    if (final_path) containers_.wait_to_read(*final_path, std::string(path));
    return glean::open_container(path);
  }

  // What becomes of containers that are closed is told by this.
  void close() {
    std::optional<base::Error> failed;
    if (!core_->closed()) {
      containers_.abandon_open(*core_);
      try {
        failed = containers_.wait(*core_, Level::durable);
      } catch (const session::Broken&) {
        failed.reset();   // closing says so, too
      }
    }
    core_->close();
    if (failed) throw base::Error(*failed);
  }

  [[nodiscard]] session::Core& core() { return *core_; }
  [[nodiscard]] const std::shared_ptr<session::Core>& shared_core() const { return core_; }

 private:
  void end() noexcept {
    if (core_->closed()) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) {
      base::log(base::LogLevel::error, "the session was not closed before MPI_Finalize: no report is written");
    } else if (std::uncaught_exceptions() == exceptions_) {
      const auto error = session::caught([&] { close(); });
      if (error) base::log(base::LogLevel::error, "closing the session: {}", error->what());
    } else {
      // The other ranks may know nothing of the exception: a collective call could wait forever.
      const bool recovers = core_->root_is_gone() || (core_->has_lost_a_rank() && core_->nodes().count() > 1);
      const char* fate = recovers                   ? "another rank is gone; `glean recover` completes what all ranks have captured"
                         : core_->has_lost_a_rank() ? "another rank is gone; rank 0 completes what all ranks have captured"
                                                    : "outputs that are not closed are lost";
      base::log(base::LogLevel::error, "an exception ends the session of rank {}: {}", core_->rank(), fate);
    }
    core_->leave();
  }

  std::shared_ptr<session::Core> core_;
  std::optional<pool::MessageReader> messages_;   // from the first question on
  session::Containers containers_;
  int exceptions_ = std::uncaught_exceptions();
};

namespace {

template <class Impl, class Call>
auto session_call(Impl* impl, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this session was moved from");
  return translated([&] { return call(*impl); });
}

}  // namespace

Session::Session(MPI_Comm comm, const std::map<std::string, std::string>& settings)
    : impl_(translated([&] { return std::make_unique<Impl>(comm, settings); })) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Output Session::open(std::string_view path, Format format, OutputOptions options) {
  return session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    return impl.open(path, format, options);
  });
}

Output Session::append(std::string_view path) {
  return session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    return impl.append(path);
  });
}

Input Session::open_input(std::string_view path, InputOptions options) {
  return session_call(impl_.get(), [&](Impl& impl) {
    return Input(session::open_input(impl.shared_core(), std::string(path), options));
  });
}

Input Session::restart(std::string_view pattern, double seconds) {
  return session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    session::check_wait(Level::durable, seconds);
    return Input(session::restart(impl.shared_core(), std::string(pattern), seconds));
  });
}

TaskFile Session::create_container(std::string_view path, const ContainerOptions& options) {
  return session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    return impl.create_container(path, options);
  });
}

ContainerInput Session::open_container(std::string_view path) {
  return session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    return impl.open_container(path);
  });
}

std::vector<OutputStatus> Session::outputs() const {
  return session_call(impl_.get(), [](Impl& impl) { return session::list_outputs(impl.core()); });
}

std::vector<Message> Session::poll_messages() {
  return session_call(impl_.get(), [](Impl& impl) { return impl.poll_messages(); });
}

void Session::wait(Level level, double seconds) {
  session_call(impl_.get(), [&](Impl& impl) {
    const session::Blocked blocked(impl.core());
    impl.wait(level, seconds);
  });
}

void Session::close() {
  session_call(impl_.get(), [&](Impl& impl) { impl.close(); });
}

bool Session::is_writer() const {
  return session_call(impl_.get(), [](Impl& impl) {
    impl.core().note_question();
    return impl.core().is_writer();
  });
}

MPI_Comm Session::application_comm() const {
  return session_call(impl_.get(), [](Impl& impl) {
    impl.core().note_question();
    return impl.core().application_comm();
  });
}

Statistics Session::statistics() const {
  return session_call(impl_.get(), [](Impl& impl) { return impl.core().statistics(); });
}

}  // namespace glean
