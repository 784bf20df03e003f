// SPDX-License-Identifier: BSD-3-Clause
#include "hosting/plugin_host.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "glean/plugin.h"
#include "hosting/step_message.hpp"

static_assert(static_cast<int>(GLEAN_PLUGIN_TEXT) == static_cast<int>(glean::mesh::Type::text));
static_assert(static_cast<int>(GLEAN_PLUGIN_FLOAT64) == static_cast<int>(glean::mesh::Type::float64));

namespace glean::hosting {
namespace {

bool read_all(int socket, void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t length = recv(socket, static_cast<char*>(to) + done, bytes - done, 0);
    if (length == 0 || (length < 0 && errno != EINTR)) return false;
    if (length > 0) done += static_cast<std::size_t>(length);
  }
  return true;
}

// Nothing: the drain has closed the socket.
std::optional<std::string> next_message(int socket) {
  std::uint64_t length = 0;
  if (!read_all(socket, &length, sizeof length)) return std::nullopt;
  std::string message(length, '\0');
  if (!read_all(socket, message.data(), length)) return std::nullopt;
  return message;
}

void send_answer(int socket, const Answer& answer) {
  const std::string text = answer.encode();
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent = send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return;
    if (sent > 0) done += static_cast<std::size_t>(sent);
  }
}

const std::byte* map_pool(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) throw base::system_error(errno, "cannot open the pool '" + path + "'");
  void* const begin = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);
  if (begin == MAP_FAILED) throw base::system_error(error, "cannot map the pool '" + path + "'");
  return static_cast<const std::byte*>(begin);
}

template <class Number>
double number_at(const std::byte* data, bool is_swapped) {
  std::byte bytes[sizeof(Number)];
  std::memcpy(bytes, data, sizeof bytes);
  if (is_swapped) std::reverse(std::begin(bytes), std::end(bytes));
  return static_cast<double>(std::bit_cast<Number>(bytes));
}

double element_at(const glean_plugin_piece& piece, std::uint64_t element) {
  const auto* const data = static_cast<const std::byte*>(piece.data) + element * mesh::size_of(static_cast<mesh::Type>(piece.type));
  const bool swapped = piece.is_swapped != 0;
  switch (static_cast<mesh::Type>(piece.type)) {
    case mesh::Type::int8: return number_at<std::int8_t>(data, swapped);
    case mesh::Type::uint8: return number_at<std::uint8_t>(data, swapped);
    case mesh::Type::int16: return number_at<std::int16_t>(data, swapped);
    case mesh::Type::uint16: return number_at<std::uint16_t>(data, swapped);
    case mesh::Type::int32: return number_at<std::int32_t>(data, swapped);
    case mesh::Type::uint32: return number_at<std::uint32_t>(data, swapped);
    case mesh::Type::int64: return number_at<std::int64_t>(data, swapped);
    case mesh::Type::uint64: return number_at<std::uint64_t>(data, swapped);
    case mesh::Type::float32: return number_at<float>(data, swapped);
    case mesh::Type::float64: return number_at<double>(data, swapped);
    case mesh::Type::text: break;
  }
  return 0;
}

// --- what a plug-in may call

struct Host {
  glean_plugin_host calls{};   // first: what the plug-in has is a pointer to it
  Answer answer;
};
static_assert(std::is_standard_layout_v<Host>);

Host& host_of(const glean_plugin_host* calls) { return *const_cast<Host*>(reinterpret_cast<const Host*>(calls)); }

const glean_plugin_variable* find(const glean_plugin_step_view* step, const char* name) {
  for (std::size_t i = 0; i < step->variable_count; ++i) {
    if (std::strcmp(step->variables[i]->name, name) == 0) return step->variables[i];
  }
  return nullptr;
}

int assemble(const glean_plugin_variable* variable, double* array, std::uint64_t elements) {
  const mesh::Shape shape(variable->shape, variable->shape + variable->dimensions);
  if (variable->type == GLEAN_PLUGIN_TEXT || mesh::elements_of(shape) != elements) return -1;
  for (std::size_t i = 0; i < variable->piece_count; ++i) {
    const glean_plugin_piece& piece = *variable->pieces[i];
    const mesh::Box box{{piece.start, piece.start + variable->dimensions}, {piece.count, piece.count + variable->dimensions}};
    const mesh::Rows rows(box, shape);
    std::uint64_t element = 0;
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      double* const to = array + rows.position(row);
      for (std::uint64_t k = 0; k < rows.row_elements(); ++k) to[k] = element_at(piece, element++);
    }
  }
  return 0;
}

void value(const glean_plugin_host* calls, const char* name, double number, glean_plugin_join join) {
  constexpr const char* joins[] = {"", "sum", "min", "max"};
  if (name == nullptr || join < GLEAN_PLUGIN_NODE || join > GLEAN_PLUGIN_MAX) return;
  host_of(calls).answer.values.push_back({name, number, joins[join]});
}

void message(const glean_plugin_host* calls, const char* text) {
  if (text != nullptr) host_of(calls).answer.messages.emplace_back(text);
}

// --- a step as the plug-in sees it

class StepView {
 public:
  StepView(const SeenStep& seen, const Welcome& welcome, const std::byte* pool) : pool_(pool) {
    for (const SeenVariable& each : seen.variables) variables_.push_back(&add(each));
    const Attributes& attributes = add(seen.attributes);
    view_ = {sizeof view_, seen.output.c_str(), seen.file.c_str(), seen.step, welcome.node, welcome.nodes, variables_.size(),
             variables_.data(), attributes.size(), attributes.data()};
  }
  [[nodiscard]] const glean_plugin_step_view& get() const { return view_; }

 private:
  using Attributes = std::vector<const glean_plugin_attribute*>;

  const Attributes& add(const std::vector<mesh::Attribute>& attributes) {
    Attributes all;
    for (const mesh::Attribute& each : attributes) {
      const bool is_text = each.type == mesh::Type::text;
      glean_plugin_attribute attribute{sizeof attribute, each.name.c_str(), nullptr, nullptr, each.count()};
      if (is_text) {
        attribute.text = texts_.emplace_back(reinterpret_cast<const char*>(each.values.data()), each.values.size()).c_str();
      } else {
        auto& numbers = numbers_.emplace_back(each.count());
        if (!numbers.empty()) std::memcpy(numbers.data(), each.values.data(), each.values.size());
        attribute.numbers = numbers.data();
      }
      all.push_back(&attributes_.emplace_back(attribute));
    }
    return attribute_lists_.emplace_back(std::move(all));
  }

  const glean_plugin_variable& add(const SeenVariable& seen) {
    std::vector<const glean_plugin_piece*> pieces;
    for (const SeenPiece& each : seen.pieces) {
      const bool is_swapped = each.is_big_endian != (std::endian::native == std::endian::big) && mesh::size_of(each.type) > 1;
      pieces.push_back(&pieces_.emplace_back(glean_plugin_piece{
          sizeof(glean_plugin_piece), each.box.start.data(), each.box.count.data(), each.box.elements(), pool_ + each.pool_offset,
          static_cast<glean_plugin_type>(each.type), is_swapped ? 1 : 0, each.rank}));
    }
    const auto& kept = piece_lists_.emplace_back(std::move(pieces));
    const Attributes& attributes = add(seen.attributes);
    return all_variables_.emplace_back(glean_plugin_variable{
        sizeof(glean_plugin_variable), seen.name.c_str(), static_cast<glean_plugin_type>(seen.type), seen.per_step ? 1 : 0,
        seen.shape.size(), seen.shape.data(), kept.size(), kept.data(), attributes.size(), attributes.data()});
  }

  const std::byte* pool_;
  // Deques: what points into them stays valid.
  std::deque<std::string> texts_;
  std::deque<std::vector<double>> numbers_;
  std::deque<glean_plugin_attribute> attributes_;
  std::deque<Attributes> attribute_lists_;
  std::deque<glean_plugin_piece> pieces_;
  std::deque<std::vector<const glean_plugin_piece*>> piece_lists_;
  std::deque<glean_plugin_variable> all_variables_;
  std::vector<const glean_plugin_variable*> variables_;
  glean_plugin_step_view view_{};
};

// --- the plug-in

class Plugin {
 public:
  Plugin(const std::string& file, const glean_plugin_host& host) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);   // never closed: the process ends with it
    if (library == nullptr) throw base::Error(base::Errc::not_found, dlerror());
    const auto* const version = static_cast<const int*>(dlsym(library, "glean_plugin_version"));
    if (version == nullptr) {
      throw base::Error(base::Errc::unsupported, file + " is no plug-in: it has no glean_plugin_version (GLEAN_PLUGIN)");
    }
    if (*version != GLEAN_PLUGIN_VERSION) {
      throw base::Error(base::Errc::unsupported, file + " was compiled for version " + std::to_string(*version) +
                                                     " of glean/plugin.h, and this GLEAN knows " + std::to_string(GLEAN_PLUGIN_VERSION));
    }
    const auto open = reinterpret_cast<decltype(&glean_plugin_open)>(dlsym(library, "glean_plugin_open"));
    step_ = reinterpret_cast<decltype(step_)>(dlsym(library, "glean_plugin_step"));
    close_ = reinterpret_cast<decltype(close_)>(dlsym(library, "glean_plugin_close"));
    if (step_ == nullptr) throw base::Error(base::Errc::unsupported, file + " has no glean_plugin_step");
    const int code = open == nullptr ? 0 : open(&host, &state_);
    if (code != 0) throw base::Error(base::Errc::io, "glean_plugin_open returned " + std::to_string(code));
  }
  [[nodiscard]] int step(const glean_plugin_host& host, const glean_plugin_step_view& view) { return step_(&host, state_, &view); }
  void close(const glean_plugin_host& host) {
    if (close_ != nullptr) close_(&host, state_);
  }

 private:
  decltype(&glean_plugin_step) step_ = nullptr;
  decltype(&glean_plugin_close) close_ = nullptr;
  void* state_ = nullptr;
};

}  // namespace

int run_plugin_host(int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);   // with the drain that has started it
  const auto first = next_message(socket);
  if (!first) return 0;
  Host host;
  host.calls = {sizeof host.calls, find, assemble, value, message};
  std::optional<Plugin> plugin;
  Welcome welcome;
  const std::byte* pool = nullptr;
  try {
    welcome = Welcome::decode(*first);
    pool = map_pool(welcome.pool);
    plugin.emplace(welcome.file, host.calls);
  } catch (const std::exception& error) {
    send_answer(socket, {.values = {}, .messages = {}, .error = error.what()});
    return 1;
  }
  send_answer(socket, {});
  while (const auto next = next_message(socket)) {
    host.answer = {};
    try {
      const SeenStep seen = SeenStep::decode(*next);
      const StepView view(seen, welcome, pool);
      const int code = plugin->step(host.calls, view.get());
      if (code != 0) host.answer.error = "glean_plugin_step returned " + std::to_string(code);
    } catch (const std::exception& error) {   // of a plug-in in C++, too
      host.answer.error = error.what();
    }
    std::fflush(nullptr);
    send_answer(socket, host.answer);
  }
  plugin->close(host.calls);
  return 0;
}

}  // namespace glean::hosting
