// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "handle.hpp"

namespace glean::python {

namespace {

// `comm` is the handle that Fortran has of it: every MPI library and every mpi4py can tell that.
SessionHandle open_session(int comm, const std::map<std::string, std::string>& settings) {
  auto turn = std::make_shared<std::mutex>();
  Session session = in_turn(*turn, [&] { return Session(MPI_Comm_f2c(static_cast<MPI_Fint>(comm)), settings); });
  return {"session", std::move(turn), std::move(session)};
}

OutputHandle open_output(SessionHandle& self, const std::string& path, int format, bool refuses) {
  return {"output", self.turn(), self.call([&](Session& session) {
            return session.open(path, static_cast<Format>(format), {refuses ? Existing::refuse : Existing::replace});
          })};
}

OutputHandle append(SessionHandle& self, const std::string& path) {
  return {"output", self.turn(), self.call([&](Session& session) { return session.append(path); })};
}

InputHandle open_input(SessionHandle& self, const std::string& path, int reading, double seconds) {
  return {"input", self.turn(), self.call([&](Session& session) {
            return session.open_input(path, {static_cast<Reading>(reading), seconds});
          })};
}

InputHandle restart(SessionHandle& self, const std::string& pattern, double seconds) {
  return {"input", self.turn(), self.call([&](Session& session) { return session.restart(pattern, seconds); })};
}

// In the order of the fields of glean.OutputStatus; the state as its number.
nb::list statuses(SessionHandle& self) {
  nb::list all;
  for (const OutputStatus& status : self.call([](Session& session) { return session.outputs(); })) {
    all.append(nb::make_tuple(status.path, static_cast<int>(status.state), status.steps_ended, status.steps_staged, status.steps_written,
                              status.steps_durable, status.steps_dropped, status.error));
  }
  return all;
}

// In the order of the fields of glean.Message.
nb::list messages(SessionHandle& self) {
  nb::list all;
  for (const Message& each : self.call([](Session& session) { return session.poll_messages(); })) {
    all.append(nb::make_tuple(each.text, each.output, each.step));
  }
  return all;
}

// In the order of the fields of glean.Statistics.
nb::tuple statistics(SessionHandle& self) {
  const Statistics seen = self.call([](Session& session) { return session.statistics(); });
  return nb::make_tuple(seen.blocked_seconds, seen.captured_bytes, seen.puts, seen.pool_budget_bytes, seen.pool_high_water_bytes,
                        seen.steps_dropped, seen.spilled_bytes, seen.synchronous_bytes);
}

int application_comm(SessionHandle& self) {
  return static_cast<int>(self.call([](Session& session) { return MPI_Comm_c2f(session.application_comm()); }));
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<SessionHandle>(module, "Session")
      .def("open", open_output, nb::arg("path"), nb::arg("format"), nb::arg("refuses"))
      .def("append", append, nb::arg("path"))
      .def("open_input", open_input, nb::arg("path"), nb::arg("reading"), nb::arg("seconds"))
      .def("restart", restart, nb::arg("pattern"), nb::arg("seconds"))
      .def("is_writer", [](SessionHandle& self) { return self.call([](Session& session) { return session.is_writer(); }); })
      .def("application_comm", application_comm)
      .def("outputs", statuses)
      .def("poll_messages", messages)
      .def("statistics", statistics)
      .def("wait",
           [](SessionHandle& self, int level, double seconds) {
             self.call([&](Session& session) { session.wait(static_cast<Level>(level), seconds); });
           },
           nb::arg("level"), nb::arg("seconds"))
      .def("close", [](SessionHandle& self) { self.call([](Session& session) { session.close(); }); })
      .def("abandon", &SessionHandle::destroy_as_by_exception)
      .def("is_there", &SessionHandle::is_there);
  module.def("open_session", open_session, nb::arg("comm"), nb::arg("settings"));
}

}  // namespace glean::python
