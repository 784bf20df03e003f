// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>

#include "barrier.hpp"
#include "session/arrival.hpp"
#include "session/translated.hpp"
#include "values.hpp"

namespace {

void copy_message(const std::string& from, char* to, std::size_t bytes) noexcept {
  if (to == nullptr || bytes == 0) return;
  const std::size_t length = std::min(from.size(), bytes - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

std::map<std::string, std::string> settings_of(const glean_setting* settings, std::size_t count) {
  glean::c::required_array(settings, count, "settings");
  std::map<std::string, std::string> result;
  for (std::size_t i = 0; i < count; ++i) {
    result[glean::c::required(settings[i].key, "key")] = glean::c::required(settings[i].value, "value");
  }
  return result;
}

}  // namespace

extern "C" {

const char* glean_version(void) { return glean::version(); }

const char* glean_status_name(glean_status status) {
  static constexpr const char* names[] = {
      "ok",         "invalid argument", "invalid state", "invalid configuration", "overlap", "out of range",
      "timeout",    "no space",         "no permission", "exists",                "not found", "I/O error",
      "unsupported", "out of memory",    "internal error"};
  static_assert(std::size(names) == GLEAN_INTERNAL + 1);
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(names) ? names[index] : "unknown status";
}

glean_status glean_session_open(MPI_Comm comm, const glean_setting* settings, size_t setting_count,
                                glean_session** session, char* message, size_t message_bytes) {
  std::string text;
  const glean_status status = glean::c::barrier(text, [&] {
    glean::session::translated([&] { glean::session::arrive(comm, [&] { return settings_of(settings, setting_count); }); });
    const auto known = glean::c::agreed_on(comm, [&] {
      glean::c::required(session, "session");
      return settings_of(settings, setting_count);
    });
    *session = new glean_session(glean::Session(comm, known), comm);
  });
  if (status != GLEAN_OK) copy_message(text, message, message_bytes);
  return status;
}

glean_status glean_session_is_writer(glean_session* session, int* is_writer) {
  return glean::c::call(session, [&] {
    *glean::c::required(is_writer, "is_writer") = session->session.is_writer() ? 1 : 0;
    session->has_asked = true;
  });
}

glean_status glean_session_comm(glean_session* session, MPI_Comm* comm) {
  return glean::c::call(session, [&] {
    *glean::c::required(comm, "comm") = session->session.application_comm();
    session->has_asked = true;
  });
}

glean_status glean_session_wait(glean_session* session, glean_level level, double seconds) {
  return glean::c::call(session, [&] {
    const glean::Level known = glean::c::agreed_in_session(session->agreement(), [&] { return glean::c::level_of(level); });
    session->session.wait(known, seconds);
  });
}

glean_status glean_session_close(glean_session* session) {
  return glean::c::call(session, [&] { session->session.close(); });
}

void glean_session_free(glean_session* session) { delete session; }

glean_status glean_session_statistics(glean_session* session, glean_statistics* statistics) {
  return glean::c::call(session, [&] {
    glean::c::fill_sized(statistics, "statistics", [&](glean_statistics& known) {
      const glean::Statistics seen = session->session.statistics();
      known.blocked_seconds = seen.blocked_seconds;
      known.captured_bytes = seen.captured_bytes;
      known.puts = seen.puts;
      known.pool_budget_bytes = seen.pool_budget_bytes;
      known.pool_high_water_bytes = seen.pool_high_water_bytes;
      known.steps_dropped = seen.steps_dropped;
      known.spilled_bytes = seen.spilled_bytes;
      known.synchronous_bytes = seen.synchronous_bytes;
    });
  });
}

glean_status glean_session_outputs(glean_session* session, size_t* count) {
  return glean::c::call(session, [&] {
    glean::c::required(count, "count");
    session->outputs = session->session.outputs();
    *count = session->outputs.size();
  });
}

glean_status glean_session_output(glean_session* session, size_t index, glean_output_status* status) {
  return glean::c::call(session, [&] {
    if (index >= session->outputs.size()) {
      throw glean::Error(glean::Errc::not_found, "no output has the number " + std::to_string(index));
    }
    const glean::OutputStatus& seen = session->outputs[index];
    glean::c::fill_sized(status, "status", [&](glean_output_status& known) {
      known.path = seen.path.c_str();
      known.state = static_cast<glean_output_state>(seen.state);
      known.steps_ended = seen.steps_ended;
      known.steps_staged = seen.steps_staged;
      known.steps_written = seen.steps_written;
      known.steps_durable = seen.steps_durable;
      known.error = seen.error.c_str();
      known.steps_dropped = seen.steps_dropped;
    });
  });
}

glean_status glean_poll_messages(glean_session* session, size_t* count) {
  return glean::c::call(session, [&] {
    glean::c::required(count, "count");
    session->messages = session->session.poll_messages();
    *count = session->messages.size();
  });
}

glean_status glean_polled_message(glean_session* session, size_t index, glean_message* message) {
  return glean::c::call(session, [&] {
    if (index >= session->messages.size()) {
      throw glean::Error(glean::Errc::not_found, "no message has the number " + std::to_string(index));
    }
    const glean::Message& seen = session->messages[index];
    glean::c::fill_sized(message, "message", [&](glean_message& known) {
      known.text = seen.text.c_str();
      known.output = seen.output.c_str();
      known.step = seen.step;
    });
  });
}

const char* glean_session_message(const glean_session* session) {
  return session == nullptr ? "" : session->message.c_str();
}

}  // extern "C"
