// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>

#include "handle.hpp"

namespace glean::python {

namespace {

// The bytes of an object of Python, one behind the other, as long as this lives.
class Bytes {
 public:
  enum class For { reading, writing };
  Bytes(nb::handle object, For what) {
    if (PyObject_GetBuffer(object.ptr(), &view_, what == For::writing ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  [[nodiscard]] void* first() const { return view_.buf; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

TaskFileHandle create(SessionHandle& self, const std::string& path, std::uint64_t chunk_bytes, int files, std::uint64_t block_bytes,
                      int tasks_per_writer, const std::string& name) {
  const ContainerOptions options{chunk_bytes, files, block_bytes, tasks_per_writer, name};
  return {"container", self.turn(), self.call([&](Session& session) { return session.create_container(path, options); })};
}

ContainerHandle open_in_session(SessionHandle& self, const std::string& path) {
  return {"container", self.turn(), self.call([&](Session& session) { return session.open_container(path); })};
}

ContainerHandle open_alone(const std::string& path) {
  auto turn = std::make_shared<std::mutex>();
  ContainerInput input = in_turn(*turn, [&] { return open_container(path); });
  return {"container", std::move(turn), std::move(input)};
}

void write(TaskFileHandle& self, nb::handle data) {
  const Bytes bytes(data, Bytes::For::reading);
  self.call([&](TaskFile& file) { file.write_bytes(bytes.first(), bytes.size()); });
}

void fail(TaskFileHandle& self, int code, const std::string& what) {
  self.call([&](TaskFile& file) { file.fail(Error(static_cast<Errc>(code), what)); });
}

nb::list tasks(ContainerHandle& self) {
  nb::list all;
  for (const ContainerTask& task : self.call([](ContainerInput& input) { return input.tasks(); })) {
    all.append(nb::make_tuple(task.task, task.chunks, task.bytes));
  }
  return all;
}

nb::list files(ContainerHandle& self) {
  nb::list all;
  for (const ContainerFile& file : self.call([](ContainerInput& input) { return input.files(); })) {
    all.append(nb::make_tuple(file.name, file.task, file.begin, file.bytes));
  }
  return all;
}

std::size_t read_into(TaskInputHandle& self, nb::handle into) {
  const Bytes bytes(into, Bytes::For::writing);
  return self.call([&](TaskInput& input) { return input.read_bytes(bytes.first(), bytes.size()); });
}

void bind_task_file(nb::module_& module) {
  nb::class_<TaskFileHandle>(module, "TaskFile")
      .def("begin_file",
           [](TaskFileHandle& self, const std::string& name) { self.call([&](TaskFile& file) { file.begin_file(name); }); },
           nb::arg("name"))
      .def("write", write, nb::arg("data"))
      .def("fail", fail, nb::arg("code"), nb::arg("what"))
      .def("ensure_free_space",
           [](TaskFileHandle& self, std::uint64_t bytes) { self.call([&](TaskFile& file) { file.ensure_free_space(bytes); }); },
           nb::arg("bytes"))
      .def("bytes_avail_in_block",
           [](TaskFileHandle& self) { return self.call([](TaskFile& file) { return file.bytes_avail_in_block(); }); })
      .def("position", [](TaskFileHandle& self) { return self.call([](TaskFile& file) { return file.position(); }); })
      .def("wait",
           [](TaskFileHandle& self, int level) { self.call([&](TaskFile& file) { file.wait(static_cast<Level>(level)); }); },
           nb::arg("level"))
      .def("close", [](TaskFileHandle& self) { self.call([](TaskFile& file) { file.close(); }); })
      .def("abandon", &TaskFileHandle::destroy)
      .def("is_there", &TaskFileHandle::is_there);
}

void bind_readers(nb::module_& module) {
  nb::class_<TaskInputHandle>(module, "TaskInput")
      .def("read_into", read_into, nb::arg("into"))
      .def("seek",
           [](TaskInputHandle& self, std::uint64_t position) { self.call([&](TaskInput& input) { input.seek(position); }); },
           nb::arg("position"))
      .def("seek_chunk",
           [](TaskInputHandle& self, std::uint64_t chunk, std::uint64_t position) {
             self.call([&](TaskInput& input) { input.seek(chunk, position); });
           },
           nb::arg("chunk"), nb::arg("position"))
      .def("position", [](TaskInputHandle& self) { return self.call([](TaskInput& input) { return input.position(); }); })
      .def("bytes", [](TaskInputHandle& self) { return self.call([](TaskInput& input) { return input.bytes(); }); })
      .def("bytes_avail_in_block",
           [](TaskInputHandle& self) { return self.call([](TaskInput& input) { return input.bytes_avail_in_block(); }); })
      .def("close", &TaskInputHandle::destroy);
  nb::class_<ContainerHandle>(module, "ContainerInput")
      .def("tasks", tasks)
      .def("files", files)
      .def("is_complete", [](ContainerHandle& self) { return self.call([](ContainerInput& input) { return input.is_complete(); }); })
      .def("open_task",
           [](ContainerHandle& self, std::uint64_t task) {
             return TaskInputHandle("task", self.turn(), self.call([&](ContainerInput& input) { return input.open(task); }));
           },
           nb::arg("task"))
      .def("open_file",
           [](ContainerHandle& self, const std::string& name) {
             return TaskInputHandle("logical file", self.turn(),
                                    self.call([&](ContainerInput& input) { return input.open(std::string_view(name)); }));
           },
           nb::arg("name"))
      .def("close", &ContainerHandle::destroy);
}

}  // namespace

void bind_containers(nb::module_& module) {
  bind_task_file(module);
  bind_readers(module);
  module.def("create_container", create, nb::arg("session"), nb::arg("path"), nb::arg("chunk_bytes"), nb::arg("files"),
             nb::arg("block_bytes"), nb::arg("tasks_per_writer"), nb::arg("name"));
  module.def("open_container_in", open_in_session, nb::arg("session"), nb::arg("path"));
  module.def("open_container", open_alone, nb::arg("path"));
}

}  // namespace glean::python
