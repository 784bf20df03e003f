// SPDX-License-Identifier: BSD-3-Clause
#include "cli/header_reader.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace glean::cli {
namespace {

constexpr int deadline_ms = 30'000;
constexpr std::uint64_t message_limit = std::uint64_t{1} << 30;

enum class Kind : std::uint64_t { ready, path, header, error };

// A message is its kind, a number, and bytes.
struct Message {
  Kind kind = Kind::ready;
  std::uint64_t number = 0;
  std::vector<std::byte> bytes;
};

bool transfer(int socket, std::span<std::byte> bytes, bool sending, int deadline) {
  while (!bytes.empty()) {
    pollfd wait{.fd = socket, .events = static_cast<short>(sending ? POLLOUT : POLLIN), .revents = 0};
    const int ready = poll(&wait, 1, deadline);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 1) return false;
    const ssize_t moved = sending ? send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                                  : recv(socket, bytes.data(), bytes.size(), 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return true;
}

bool tell(int socket, Kind kind, std::uint64_t number, std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 3> head{static_cast<std::uint64_t>(kind), number, bytes.size()};
  std::vector<std::byte> body(bytes.begin(), bytes.end());
  return transfer(socket, std::as_writable_bytes(std::span(head)), true, deadline_ms) &&
         transfer(socket, body, true, deadline_ms);
}

// deadline: -1 waits forever.
std::optional<Message> hear(int socket, int deadline) {
  std::array<std::uint64_t, 3> head{};
  if (!transfer(socket, std::as_writable_bytes(std::span(head)), false, deadline)) return std::nullopt;
  if (head[2] > message_limit) return std::nullopt;
  Message message{static_cast<Kind>(head[0]), head[1], std::vector<std::byte>(head[2])};
  if (!transfer(socket, message.bytes, false, deadline)) return std::nullopt;
  return message;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void serve(int socket) {
  // Standard output is the answer to the user.
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  tell(socket, Kind::ready, 0, {});
  while (const auto request = hear(socket, -1)) {
    try {
      const store::Header header = store::read_netcdf(text_of(request->bytes));
      tell(socket, Kind::header, header.records, header.layout.encode());
    } catch (const std::exception& error) {
      const std::string text = error.what();
      tell(socket, Kind::error, 0, std::as_bytes(std::span(text)));
    }
  }
  MPI_Finalize();
  _exit(0);
}

}  // namespace

HeaderReader::~HeaderReader() { stop(); }

void HeaderReader::start() {
  if (child_ > 0) return;
  if (!useless_) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw base::system_error(errno, "cannot start the format library");
    }
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      serve(ends[1]);
    }
    close(ends[1]);
    socket_ = ends[0];
    if (child_ > 0 && hear(socket_, deadline_ms)) return;
    stop();
    useless_ = true;
  }
  throw base::Error(base::Errc::unsupported, "its header cannot be read: MPI, which the format library needs, does not start here");
}

void HeaderReader::stop() {
  if (socket_ >= 0) {
    // The child ends when it hears no more, and its end of the socket with it.
    shutdown(socket_, SHUT_WR);
    pollfd wait{.fd = socket_, .events = POLLIN, .revents = 0};
    if (child_ > 0 && poll(&wait, 1, deadline_ms) != 1) kill(child_, SIGKILL);
    close(std::exchange(socket_, -1));
  }
  if (child_ > 0) waitpid(child_, nullptr, 0);
  child_ = -1;
}

store::Header HeaderReader::read(const std::string& path) {
  start();
  std::optional<Message> answer;
  if (tell(socket_, Kind::path, 0, std::as_bytes(std::span(path)))) answer = hear(socket_, deadline_ms);
  if (!answer) {
    kill(child_, SIGKILL);
    stop();
    throw base::Error(base::Errc::io, "its header cannot be read: the format library has ended, or hangs, over it");
  }
  if (answer->kind == Kind::error) throw base::Error(base::Errc::io, text_of(answer->bytes));
  return {store::FileLayout::decode(answer->bytes), answer->number};
}

}  // namespace glean::cli
