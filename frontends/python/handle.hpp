// SPDX-License-Identifier: BSD-3-Clause
//
// How Python's objects stand on those of C++: calls without the interpreter's lock, one at a time, and what is said after the end.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "glean/glean.hpp"
#include "interpreter_lock.hpp"

namespace glean::python {

namespace nb = nanobind;

// Runs `call` without the interpreter's lock: it may wait for other ranks or for the storage. Other threads of Python that call
// objects of the same session meanwhile wait for their turn.
template <class Call>
auto in_turn(std::mutex& turn, Call&& call) {
  const LockReleased released;
  const std::lock_guard lock(turn);
  return std::forward<Call>(call)();
}

// A session, output or input that one Python object owns.
template <class Object>
class Handle {
 public:
  // `kind` names the object in messages. `turn` is that of the session.
  Handle(const char* kind, std::shared_ptr<std::mutex> turn, Object&& object)
      : kind_(kind), turn_(std::move(turn)), object_(std::move(object)) {}
  Handle(Handle&& from) noexcept
      : kind_(from.kind_), turn_(std::move(from.turn_)), object_(std::exchange(from.object_, std::nullopt)), process_(from.process_) {}
  // Destroys the object as C++ does; in a forked process, which has a copy that is not its own, not at all.
  ~Handle() {
    if (!object_) return;
    if (is_forked()) {
      static_cast<void>(new Object(std::move(*object_)));   // MPI and the pool belong to the parent
      return;
    }
    in_turn(*turn_, [this] { object_.reset(); });
  }

  // Runs `call` with the object. Throws invalid_state if it is gone.
  template <class Call>
  auto call(Call&& call) {
    if (!object_) throw gone();
    if (is_forked()) {
      throw Error(Errc::invalid_state, std::string("this ") + kind_ + " belongs to process " + std::to_string(process_),
                  "a process that was forked opens a session of its own, or none");
    }
    return in_turn(*turn_, [&] {
      if (!object_) throw gone();   // another thread has ended it while this one waited for its turn
      return std::forward<Call>(call)(*object_);
    });
  }

  // Destroys the object as C++ does without an exception. Local for outputs and inputs. Like the next one it does nothing if the object
  // is gone, or belongs to the process from which this one was forked.
  void destroy() {
    if (!object_ || is_forked()) return;
    in_turn(*turn_, [this] { object_.reset(); });
  }
  // Destroys it as C++ does while an exception passes: a session ends without the other ranks.
  void destroy_as_by_exception() {
    struct Passing {};
    if (!object_ || is_forked()) return;
    in_turn(*turn_, [this] {
      if (!object_) return;
      try {
        const Object ending(std::move(*object_));
        throw Passing{};   // `ending` is destroyed while it passes
      } catch (const Passing&) {
      }
      object_.reset();
    });
  }

  [[nodiscard]] bool is_there() const { return object_.has_value(); }
  [[nodiscard]] const std::shared_ptr<std::mutex>& turn() const { return turn_; }

 private:
  [[nodiscard]] bool is_forked() const { return getpid() != process_; }
  [[nodiscard]] Error gone() const {
    return {Errc::invalid_state, std::string("this ") + kind_ + " was given up, or has ended by an exception"};
  }

  const char* kind_;
  std::shared_ptr<std::mutex> turn_;
  std::optional<Object> object_;
  pid_t process_ = getpid();
};

using SessionHandle = Handle<Session>;
using OutputHandle = Handle<Output>;
using InputHandle = Handle<Input>;
using TaskFileHandle = Handle<TaskFile>;
using ContainerHandle = Handle<ContainerInput>;
using TaskInputHandle = Handle<TaskInput>;

// Each adds its part to the module.
void bind_errors(nb::module_& module);
void bind_session(nb::module_& module);
void bind_output(nb::module_& module);
void bind_grids(nb::class_<OutputHandle>& output);
void bind_input(nb::module_& module);
void bind_containers(nb::module_& module);

}  // namespace glean::python
