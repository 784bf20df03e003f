// SPDX-License-Identifier: BSD-3-Clause
//
// What every call of the C interface goes through: no exception leaves it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glean/glean.h"
#include "glean/glean.hpp"
#include "session/arguments.hpp"

struct glean_session {
  glean_session(glean::Session&& opened, MPI_Comm of) : session(std::move(opened)), given(of) {}
  glean_session(const glean_session&) = delete;
  glean_session& operator=(const glean_session&) = delete;

  // To agree on arguments; MPI_COMM_NULL on a rank that was set aside. To take the session's communicator is to have asked which ranks
  // were: so not before the program needs it, and that has to have asked by itself. Local.
  MPI_Comm agreement() {
    const MPI_Comm computing = session.application_comm();
    if (computing == MPI_COMM_NULL || computing == given || has_asked) return computing;
    throw glean::Error(glean::Errc::invalid_state,
                       "mode = \"dedicated\" has set ranks aside to write, and the program has not asked which",
                       "call glean_session_is_writer as soon as there is a session, end there where it is true, and compute on "
                       "glean_session_comm; mode = \"threaded\" sets no rank aside");
  }

  glean::Session session;
  MPI_Comm given;   // that the session was made of
  bool has_asked = false;
  std::vector<glean::OutputStatus> outputs;  // as glean_session_outputs has seen them
  std::vector<glean::Message> messages;      // as glean_poll_messages has got them
  std::string message;
};

struct glean_output {
  MPI_Comm comm;  // the session's
  glean::Output output;
  std::string message;
  int unlimited = -1;  // id of the record dimension, which blocks do not have
};

struct glean_input {
  // Throws what Input's calls throw.
  explicit glean_input(glean::Input&& opened);
  // That of a variable, or with -1 of the file. Throws what Input::attributes throws.
  [[nodiscard]] const std::vector<glean::AttributeDescription>& attributes_of(int variable);

  glean::Input input;
  std::string path;
  // What descriptions point to.
  std::vector<glean::VariableDescription> variables;
  std::vector<std::vector<const char*>> dimension_names;              // of each variable
  std::map<int, std::vector<glean::AttributeDescription>> attributes;   // of variables that were asked for
  std::string message;
};

namespace glean::c {

[[nodiscard]] constexpr glean_status status_of(Errc code) noexcept {
  return static_cast<glean_status>(static_cast<int>(code) + 1);
}

// Runs `body` and turns what it throws into a status; the message goes to `message`. Local.
template <class Body>
glean_status barrier(std::string& message, Body&& body) noexcept {
  // Storing the message may itself run out of memory; the status is what must arrive.
  const auto failed = [&message](glean_status status, const char* text) noexcept {
    try {
      message = text;
    } catch (...) {
      message.clear();
    }
    return status;
  };
  try {
    std::forward<Body>(body)();
    return GLEAN_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(GLEAN_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(GLEAN_INTERNAL, error.what());
  } catch (...) {
    return failed(GLEAN_INTERNAL, "an exception of unknown type");
  }
}

// Guards a call on a handle. A null handle has nowhere to keep a message.
template <class Handle, class Body>
glean_status call(Handle* handle, Body&& body) noexcept {
  if (handle == nullptr) return GLEAN_INVALID_ARGUMENT;
  return barrier(handle->message, std::forward<Body>(body));
}

// Guards a definition or a put. What C++ refuses makes the output fail on all ranks; so does what this layer refuses before C++ is asked.
template <class Body>
glean_status changing_call(glean_output* output, Body&& body) noexcept {
  return call(output, [&] {
    try {
      std::forward<Body>(body)();
    } catch (const Error& error) {   // if it came from C++ this changes nothing: the first one counts
      output->output.fail(error);
      throw;
    } catch (const std::bad_alloc&) {
      output->output.fail(Error(Errc::io, "out of memory"));
      throw;
    }
  });
}

template <class Pointer>
Pointer required(Pointer pointer, const char* name) {
  if (pointer == nullptr) throw Error(Errc::invalid_argument, std::string("'") + name + "' is NULL");
  return pointer;
}

// An array that may be NULL only when it has no elements.
template <class Element>
const Element* required_array(const Element* pointer, std::size_t elements, const char* name) {
  return elements == 0 ? pointer : required(pointer, name);
}

// The arguments of a collective call, which `read` makes and checks. Only rank 0's may count further down, so
// the ranks agree here, as `find_first` does: if `read` throws on one of them, the others throw `invalid_argument`, naming it.
template <class Read, class FindFirst>
auto agreed(Read&& read, FindFirst&& find_first) -> decltype(read()) {
  std::optional<decltype(read())> arguments;
  std::optional<Error> error;
  try {
    arguments = read();
  } catch (const Error& wrong) {
    error = wrong;
  }
  const std::optional<int> first = find_first(error.has_value());
  if (error) throw Error(*error);
  if (first) throw Error(Errc::invalid_argument, "rank " + std::to_string(*first) + " gave arguments that cannot be");
  return std::move(*arguments);
}

// Guards a call of the session that has this application_comm(). Collective, one reduction. With MPI_COMM_NULL there is no
// other rank to agree with.
template <class Read>
auto agreed_in_session(MPI_Comm computing, Read&& read) -> decltype(read()) {
  if (computing == MPI_COMM_NULL) return read();
  return agreed(std::forward<Read>(read), [&](bool wrong) { return session::first_with_wrong_arguments(computing, wrong); });
}

// Before there is a session, when all ranks have come. Collective, one reduction.
template <class Read>
auto agreed_on(MPI_Comm comm, Read&& read) -> decltype(read()) {
  if (comm == MPI_COMM_NULL) return read();
  return agreed(std::forward<Read>(read), [&](bool wrong) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int first = wrong ? rank : ranks;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
    return first < ranks ? std::optional(first) : std::nullopt;
  });
}

// The caller's structure as this library knows it: members that an older caller does not have are zero, and
// a newer caller may not have set those that this library does not have.
template <class Structure>
Structure sized(const Structure* from, const char* name) {
  Structure known{};
  if (from == nullptr) return known;
  std::size_t given = 0;
  std::memcpy(&given, from, sizeof given);
  if (given < sizeof given) {
    throw Error(Errc::invalid_argument, std::string("'") + name + "' has no size", "set .size to sizeof");
  }
  std::memcpy(&known, from, std::min(given, sizeof known));
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof known; i < given; ++i) {
    if (bytes[i] != 0) {
      throw Error(Errc::unsupported, std::string("'") + name + "' sets what this version does not know",
                  std::string("the library is ") + version());
    }
  }
  return known;
}

// What the caller gets back in a structure of his own size: `fill` sets the members of one that this library knows.
template <class Structure, class Fill>
void fill_sized(Structure* to, const char* name, Fill&& fill) {
  Structure known = sized(required(to, name), name);
  const std::size_t bytes = std::min(known.size, sizeof known);
  std::forward<Fill>(fill)(known);
  std::memcpy(static_cast<void*>(to), &known, bytes);
}

}  // namespace glean::c
