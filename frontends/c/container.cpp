// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "barrier.hpp"
#include "values.hpp"

using glean::c::call;
using glean::c::required;
using glean::c::required_array;

struct glean_task_file {
  MPI_Comm comm;   // the session's
  glean::TaskFile file;
  std::string message;
};

struct glean_container {
  explicit glean_container(glean::ContainerInput&& opened) : input(std::move(opened)), tasks(input.tasks()), files(input.files()) {}
  glean::ContainerInput input;
  // What descriptions point to.
  std::vector<glean::ContainerTask> tasks;
  std::vector<glean::ContainerFile> files;
  std::string message;
};

struct glean_task_input {
  glean::TaskInput input;
  std::string message;
};

namespace {

// What is refused here, too, makes the container fail on all ranks.
template <class Body>
glean_status writing_call(glean_task_file* task_file, Body&& body) noexcept {
  return call(task_file, [&] {
    try {
      std::forward<Body>(body)();
    } catch (const glean::Error& error) {
      task_file->file.fail(error);
      throw;
    }
  });
}

struct Creation {
  std::string path;
  glean::ContainerOptions options;
};

Creation creation_of(const char* path, const glean_container_options* given, glean_task_file** task_file) {
  required(task_file, "task_file");
  Creation creation{required(path, "path"), {}};
  const glean_container_options known = glean::c::sized(given, "options");
  glean::ContainerOptions& options = creation.options;
  if (known.chunk_bytes != 0) options.chunk_bytes = known.chunk_bytes;
  if (known.files < -1) {
    throw glean::Error(glean::Errc::invalid_argument, "a container cannot be in " + std::to_string(known.files) + " files",
                       "-1 is one of each node");
  }
  if (known.files != 0) options.files = std::max(known.files, 0);
  options.block_bytes = known.block_bytes;
  if (known.tasks_per_writer != 0) options.tasks_per_writer = known.tasks_per_writer;
  if (known.name != nullptr) options.name = known.name;
  return creation;
}

template <class Element>
const Element& numbered(const std::vector<Element>& all, std::size_t index, const char* what) {
  if (index < all.size()) return all[index];
  throw glean::Error(glean::Errc::not_found, std::string("no ") + what + " has the number " + std::to_string(index) + ": there are " +
                                                 std::to_string(all.size()));
}

}  // namespace

extern "C" {

glean_status glean_container_create(glean_session* session, const char* path, const glean_container_options* options,
                                    glean_task_file** task_file) {
  return call(session, [&] {
    const MPI_Comm comm = session->agreement();
    const Creation known = glean::c::agreed_in_session(comm, [&] { return creation_of(path, options, task_file); });
    *task_file = new glean_task_file{comm, session->session.create_container(known.path, known.options), {}};
  });
}

const char* glean_task_file_message(const glean_task_file* task_file) { return task_file == nullptr ? "" : task_file->message.c_str(); }

glean_status glean_task_file_fail(glean_task_file* task_file, glean_status status, const char* why) {
  return writing_call(task_file, [&] { task_file->file.fail(glean::Error(glean::c::errc_of(status), required(why, "why"))); });
}

glean_status glean_task_file_begin_file(glean_task_file* task_file, const char* name) {
  return writing_call(task_file, [&] { task_file->file.begin_file(required(name, "name")); });
}

glean_status glean_task_file_write(glean_task_file* task_file, const void* data, size_t bytes) {
  return writing_call(task_file, [&] {
    task_file->file.write_bytes(required_array(static_cast<const char*>(data), bytes, "data"), bytes);
  });
}

glean_status glean_task_file_ensure_free_space(glean_task_file* task_file, uint64_t bytes) {
  return call(task_file, [&] { task_file->file.ensure_free_space(bytes); });
}

glean_status glean_task_file_bytes_avail_in_block(glean_task_file* task_file, uint64_t* bytes) {
  return call(task_file, [&] { *required(bytes, "bytes") = task_file->file.bytes_avail_in_block(); });
}

glean_status glean_task_file_position(glean_task_file* task_file, uint64_t* position) {
  return call(task_file, [&] { *required(position, "position") = task_file->file.position(); });
}

glean_status glean_task_file_wait(glean_task_file* task_file, glean_level level) {
  return call(task_file, [&] {
    task_file->file.wait(glean::c::agreed_in_session(task_file->comm, [&] { return glean::c::level_of(level); }));
  });
}

glean_status glean_task_file_close(glean_task_file* task_file) {
  return call(task_file, [&] { task_file->file.close(); });
}

void glean_task_file_free(glean_task_file* task_file) { delete task_file; }

glean_status glean_container_open(glean_session* session, const char* path, glean_container** container, char* message,
                                  size_t message_bytes) {
  std::string text;
  const glean_status status = glean::c::barrier(text, [&] {
    required(container, "container");
    required(path, "path");
    *container = new glean_container(session == nullptr ? glean::open_container(path) : session->session.open_container(path));
  });
  if (status != GLEAN_OK && message != nullptr && message_bytes != 0) {
    const std::size_t length = std::min(text.size(), message_bytes - 1);
    std::memcpy(message, text.data(), length);
    message[length] = '\0';
  }
  return status;
}

const char* glean_container_message(const glean_container* container) { return container == nullptr ? "" : container->message.c_str(); }

glean_status glean_container_tasks(glean_container* container, size_t* count) {
  return call(container, [&] { *required(count, "count") = container->tasks.size(); });
}

glean_status glean_container_task(glean_container* container, size_t index, glean_container_task_description* description) {
  return call(container, [&] {
    const glean::ContainerTask& seen = numbered(container->tasks, index, "task");
    glean::c::fill_sized(description, "description", [&](glean_container_task_description& known) {
      known.task = seen.task;
      known.chunks = seen.chunks;
      known.bytes = seen.bytes;
    });
  });
}

glean_status glean_container_files(glean_container* container, size_t* count) {
  return call(container, [&] { *required(count, "count") = container->files.size(); });
}

glean_status glean_container_file(glean_container* container, size_t index, glean_container_file_description* description) {
  return call(container, [&] {
    const glean::ContainerFile& seen = numbered(container->files, index, "logical file");
    glean::c::fill_sized(description, "description", [&](glean_container_file_description& known) {
      known.name = seen.name.c_str();
      known.task = seen.task;
      known.begin = seen.begin;
      known.bytes = seen.bytes;
    });
  });
}

glean_status glean_container_is_complete(glean_container* container, int* is_complete) {
  return call(container, [&] { *required(is_complete, "is_complete") = container->input.is_complete() ? 1 : 0; });
}

glean_status glean_container_open_task(glean_container* container, uint64_t task, glean_task_input** input) {
  return call(container, [&] { *required(input, "input") = new glean_task_input{container->input.open(task), {}}; });
}

glean_status glean_container_open_file(glean_container* container, const char* name, glean_task_input** input) {
  return call(container, [&] {
    required(input, "input");
    *input = new glean_task_input{container->input.open(std::string_view(required(name, "name"))), {}};
  });
}

void glean_container_free(glean_container* container) { delete container; }

const char* glean_task_input_message(const glean_task_input* input) { return input == nullptr ? "" : input->message.c_str(); }

glean_status glean_task_input_read(glean_task_input* input, void* data, size_t bytes, size_t* done) {
  return call(input, [&] {
    required(done, "done");
    required_array(static_cast<char*>(data), bytes, "data");
    *done = input->input.read_bytes(data, bytes);
  });
}

glean_status glean_task_input_seek(glean_task_input* input, uint64_t position) {
  return call(input, [&] { input->input.seek(position); });
}

glean_status glean_task_input_seek_chunk(glean_task_input* input, uint64_t chunk, uint64_t position) {
  return call(input, [&] { input->input.seek(chunk, position); });
}

glean_status glean_task_input_position(glean_task_input* input, uint64_t* position) {
  return call(input, [&] { *required(position, "position") = input->input.position(); });
}

glean_status glean_task_input_bytes(glean_task_input* input, uint64_t* bytes) {
  return call(input, [&] { *required(bytes, "bytes") = input->input.bytes(); });
}

glean_status glean_task_input_eof(glean_task_input* input, int* is_at_end) {
  return call(input, [&] { *required(is_at_end, "is_at_end") = input->input.eof() ? 1 : 0; });
}

glean_status glean_task_input_bytes_avail_in_block(glean_task_input* input, uint64_t* bytes) {
  return call(input, [&] { *required(bytes, "bytes") = input->input.bytes_avail_in_block(); });
}

void glean_task_input_free(glean_task_input* input) { delete input; }

}  // extern "C"
