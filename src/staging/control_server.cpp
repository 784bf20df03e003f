// SPDX-License-Identifier: BSD-3-Clause
#include "staging/control_server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "staging/endpoint.hpp"
#include "wire/channel.hpp"

namespace glean::staging {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t read_bytes_of_a_stranger = 256;
constexpr int accepted_at_once = 64;   // then others have their turn
constexpr std::chrono::milliseconds without_descriptors{100};
constexpr std::chrono::seconds last_words{2};

// The same user, or root.
bool may_enter(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0) return false;
  return other.uid == ::geteuid() || other.uid == 0;
}

}  // namespace

struct ControlListener {
  ControlListener(asio::io_context& loop, OwnedSocket socket, std::string path)
      : descriptor(loop, socket.release()), pause(loop), unix_path(std::move(path)) {
    if (!unix_path.empty() && ::stat(unix_path.c_str(), &file) != 0) unix_path.clear();
  }
  // Of a Unix socket: its file, unless another service has made one of that name meanwhile.
  void remove_file() const {
    struct stat now {};
    if (unix_path.empty() || ::stat(unix_path.c_str(), &now) != 0) return;
    if (now.st_ino == file.st_ino && now.st_dev == file.st_dev) ::unlink(unix_path.c_str());
  }

  asio::posix::stream_descriptor descriptor;
  asio::steady_timer pause;
  std::string unix_path;
  struct stat file {};
};

struct ControlConnection {
  ControlConnection(asio::io_context& loop, int socket, Peer who, const ControlServer::Options& options)
      : descriptor(loop, socket), peer(std::move(who)), channel(wire::Side::accepts, options.key, options.message_bytes_max) {}

  asio::posix::stream_descriptor descriptor;
  const Peer peer;
  wire::Channel channel;
  std::vector<std::byte> unread;   // has come, and waits until requests are done
  std::vector<std::byte> output;
  std::size_t sent = 0;            // of it
  int running = 0;                 // requests whose answers are not written
  int answered = 0;                // of these: in the output
  std::size_t answer_bytes = 0;    // of these: counted by the server
  bool waits_to_read = false, waits_to_write = false;
  Clock::time_point took_at{};     // while it waits to write: when the client has taken something, or it has begun to wait
};

// All members but those of stop() and counts() belong to the thread of the loop.
class ControlServer::Service {
 public:
  Service(const Options& options, Handler handler);
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] Counts counts() const { return {connection_count_, unproved_count_, request_count_, answer_bytes_}; }
  void stop();

 private:
  using ConnectionPtr = std::shared_ptr<ControlConnection>;

  void wait_for_connections(ControlListener& listener);
  void accept_from(ControlListener& listener);
  void admit(int socket, bool is_unix, const std::string& from);
  void watch_strangers();
  void watch_untaken();
  void wait_to_read(const ConnectionPtr& connection);
  void read(const ConnectionPtr& connection);
  void take(const ConnectionPtr& connection, std::span<const std::byte> bytes);
  void start(ControlConnection& connection, wire::Channel::Message message);
  [[nodiscard]] std::vector<std::byte> answer_to(const wire::Channel::Message& message, const Peer& peer) const;
  void on_answer(std::uint64_t number, std::span<const std::byte> answer);
  void write(const ConnectionPtr& connection);
  void drop(ControlConnection& connection, const std::string& why);
  void make_room();
  void close_doors();
  void say_last_words();
  void count();

  const Options options_;
  const Handler handler_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  std::optional<asio::thread_pool> pool_;
  std::list<ControlListener> listeners_;
  std::vector<std::string> addresses_;
  std::map<std::uint64_t, ConnectionPtr> connections_;
  std::map<std::uint64_t, Clock::time_point> strangers_;   // numbers grow with time: the first is the oldest
  asio::steady_timer stranger_timer_{loop_}, untaken_timer_{loop_}, last_words_timer_{loop_};
  bool watches_strangers_ = false, watches_untaken_ = false, is_stopping_ = false;
  std::uint64_t last_number_ = 0;
  std::array<std::byte, read_bytes> buffer_{};   // of whichever connection is read
  std::atomic<std::size_t> connection_count_{0}, unproved_count_{0}, answer_bytes_{0};
  std::atomic<std::uint64_t> request_count_{0};
  std::once_flag stopped_;
  std::thread thread_;
};

ControlServer::Service::Service(const Options& options, Handler handler) : options_(options), handler_(std::move(handler)) {
  wire::require_random_numbers();
  for (const std::string& address : options_.listen) {
    OwnedSocket socket = listen_at(address);
    const auto reached = addresses_of(socket);
    addresses_.insert(addresses_.end(), reached.begin(), reached.end());
    const bool is_unix = address.compare(0, 5, "unix:") == 0;
    listeners_.emplace_back(loop_, std::move(socket), is_unix ? address.substr(5) : "");
  }
  for (ControlListener& listener : listeners_) wait_for_connections(listener);
  const base::SignalsBlocked blocked;
  pool_.emplace(static_cast<std::size_t>(options_.threads));
  thread_ = std::thread([this] { loop_.run(); });
}

// --- in the door

void ControlServer::Service::wait_for_connections(ControlListener& listener) {
  listener.descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this, &listener](const asio::error_code& error) {
    if (!error && !is_stopping_) accept_from(listener);
  });
}

void ControlServer::Service::accept_from(ControlListener& listener) {
  for (int i = 0; i < accepted_at_once; ++i) {
    Endpoint from;
    from.bytes = sizeof from.storage;
    const int socket = ::accept4(listener.descriptor.native_handle(), from.raw(), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      const bool is_unix = from.is_unix();
      admit(socket, is_unix, is_unix ? "unix:" + listener.unix_path : text_of(from));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (!strangers_.empty()) {
        make_room();
        continue;
      }
      listener.pause.expires_after(without_descriptors);
      return listener.pause.async_wait([this, &listener](const asio::error_code& error) {
        if (!error && !is_stopping_) accept_from(listener);
      });
    }   // else: that one was gone before it was let in
  }
  wait_for_connections(listener);
}

void ControlServer::Service::admit(int descriptor, bool is_unix, const std::string& from) {
  OwnedSocket socket(descriptor);
  if (is_unix && !may_enter(descriptor)) return base::log(base::LogLevel::info, "another user's process came to {}", from);
  if (!is_unix) set_up_connection(descriptor);
  const bool is_full = connections_.size() >= options_.connections_max;
  if (is_full && strangers_.empty()) return base::log(base::LogLevel::info, "{} is sent away: there are too many connections", from);
  if (is_full || strangers_.size() >= options_.unproved_max) make_room();
  const std::uint64_t number = ++last_number_;
  const auto connection = std::make_shared<ControlConnection>(loop_, socket.release(), Peer{number, from}, options_);
  connections_.emplace(number, connection);
  const auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.proof_seconds));
  strangers_.emplace(number, Clock::now() + time);
  count();
  watch_strangers();
  read(connection);   // a client says its hello at once
}

void ControlServer::Service::watch_strangers() {
  if (watches_strangers_ || strangers_.empty()) return;
  watches_strangers_ = true;
  stranger_timer_.expires_at(strangers_.begin()->second);
  stranger_timer_.async_wait([this](const asio::error_code& error) {
    watches_strangers_ = false;
    if (error || is_stopping_) return;
    while (!strangers_.empty() && strangers_.begin()->second <= Clock::now()) {
      drop(*connections_.at(strangers_.begin()->first), "it has not proved in time that it has the key");
    }
    watch_strangers();
  });
}

// A client that is stopped must not keep the memory that others read through. What it asked for it can ask again.
void ControlServer::Service::watch_untaken() {
  if (std::exchange(watches_untaken_, true)) return;
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.untaken_seconds));
  untaken_timer_.expires_after(patience / 4);
  untaken_timer_.async_wait([this, patience](const asio::error_code& error) {
    watches_untaken_ = false;
    if (error || is_stopping_) return;
    bool any_waits = false;
    for (auto next = connections_.begin(); next != connections_.end();) {
      const ConnectionPtr connection = (next++)->second;   // dropping it takes it out
      if (!connection->waits_to_write) continue;
      if (connection->took_at + patience < Clock::now()) drop(*connection, "it does not take its answers");
      else any_waits = true;
    }
    if (any_waits) watch_untaken();
  });
}

// The oldest stranger goes, but those that speak the protocol stay longer: so a flood of junk does not sweep clients out.
void ControlServer::Service::make_room() {
  if (strangers_.empty()) return;
  auto oldest = strangers_.begin();
  const auto is_silent = [&](const auto& stranger) { return !connections_.at(stranger.first)->channel.has_hello(); };
  const auto silent = std::find_if(strangers_.begin(), strangers_.end(), is_silent);
  if (silent != strangers_.end()) oldest = silent;
  drop(*connections_.at(oldest->first), "others want to come in");
}

// --- requests

void ControlServer::Service::wait_to_read(const ConnectionPtr& connection) {
  if (std::exchange(connection->waits_to_read, true)) return;
  connection->descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this, connection](const asio::error_code& error) {
    connection->waits_to_read = false;
    if (!error && !is_stopping_ && connection->descriptor.is_open()) read(connection);
  });
}

void ControlServer::Service::read(const ConnectionPtr& connection) {
  const auto room = std::span(buffer_).first(connection->channel.is_open() ? read_bytes : read_bytes_of_a_stranger);
  const ssize_t result = ::recv(connection->descriptor.native_handle(), room.data(), room.size(), 0);
  if (result > 0) return take(connection, room.first(static_cast<std::size_t>(result)));
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return wait_to_read(connection);
  drop(*connection, result == 0 ? "it was closed" : std::generic_category().message(errno));
}

void ControlServer::Service::take(const ConnectionPtr& connection, std::span<const std::byte> bytes) {
  try {
    while (connection->running < options_.requests_max) {
      auto message = connection->channel.receive(bytes);
      if (connection->channel.is_open() && strangers_.erase(connection->peer.connection) != 0) count();
      if (!message) break;
      start(*connection, std::move(*message));
    }
  } catch (const base::Error& error) {
    write(connection);   // what tells a client of another version
    return drop(*connection, error.what());
  }
  connection->unread.assign(bytes.begin(), bytes.end());
  write(connection);
}

void ControlServer::Service::start(ControlConnection& connection, wire::Channel::Message message) {
  if (decode_control(message).kind != ControlMessage::Kind::request) throw base::Error(base::Errc::io, "it sends what is no request");
  ++connection.running;
  asio::post(*pool_, [this, peer = connection.peer, message = std::move(message)] {
    auto answer = answer_to(message, peer);
    answer_bytes_ += answer.size();
    asio::post(loop_, [this, number = peer.connection, answer = std::move(answer)] { on_answer(number, answer); });
  });
}

std::vector<std::byte> ControlServer::Service::answer_to(const wire::Channel::Message& message, const Peer& peer) const {
  const ControlMessage request = decode_control(message);
  const auto refusal = [&](const base::Error& error) {
    const auto encode = [&](const base::Error& each) { return encode_control(ControlMessage::Kind::error, request.number, text_of(each)); };
    const auto bytes = encode(error);
    return bytes.size() <= options_.message_bytes_max ? bytes : encode({error.code(), "what failed takes too long to tell"});
  };
  try {
    const Answer said = handler_(from_text(request.text), peer);
    const auto kind = said.bytes.empty() ? ControlMessage::Kind::answer : ControlMessage::Kind::answer_with_bytes;
    auto answer = encode_control(kind, request.number, to_text(said.text), said.bytes);
    if (answer.size() <= options_.message_bytes_max) return answer;
    return refusal({base::Errc::io, fmt::format("the answer has {} bytes, more than {}", answer.size(), options_.message_bytes_max)});
  } catch (const base::Error& error) {
    return refusal(error);
  } catch (const std::exception& error) {
    return refusal({base::Errc::io, error.what()});
  }
}

void ControlServer::Service::on_answer(std::uint64_t number, std::span<const std::byte> answer) {
  ++request_count_;
  const auto found = connections_.find(number);
  if (found == connections_.end()) {   // the client has gone
    answer_bytes_ -= answer.size();
    options_.gone(number);   // its handler may have kept something for it since
    return;
  }
  const ConnectionPtr connection = found->second;
  connection->channel.send(answer);
  ++connection->answered;
  connection->answer_bytes += answer.size();
  write(connection);
}

// Then goes on with what has come meanwhile.
void ControlServer::Service::write(const ConnectionPtr& connection) {
  if (!connection->descriptor.is_open()) return;
  const auto more = connection->channel.take_output();
  connection->output.insert(connection->output.end(), more.begin(), more.end());
  while (connection->sent < connection->output.size()) {
    const auto rest = std::span(connection->output).subspan(connection->sent);
    const ssize_t result = ::send(connection->descriptor.native_handle(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (result >= 0) {
      connection->sent += static_cast<std::size_t>(result);
      connection->took_at = Clock::now();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (std::exchange(connection->waits_to_write, true)) return;
      if (connection->sent == 0) connection->took_at = Clock::now();
      watch_untaken();
      const auto writable = asio::posix::stream_descriptor::wait_write;
      return connection->descriptor.async_wait(writable, [this, connection](const asio::error_code& error) {
        connection->waits_to_write = false;
        if (!error) write(connection);
      });
    } else if (errno != EINTR) {
      return drop(*connection, std::generic_category().message(errno));
    }
  }
  connection->output = {};
  connection->sent = 0;
  connection->running -= std::exchange(connection->answered, 0);
  answer_bytes_ -= std::exchange(connection->answer_bytes, 0);
  if (is_stopping_) {
    if (connection->running == 0) drop(*connection, "the service stops");
  } else if (!connection->unread.empty() && connection->running < options_.requests_max) {
    take(connection, std::exchange(connection->unread, {}));
  } else if (connection->running < options_.requests_max) {
    wait_to_read(connection);
  }
}

// --- the end

void ControlServer::Service::drop(ControlConnection& connection, const std::string& why) {
  if (!connection.descriptor.is_open()) return;
  base::log(base::LogLevel::info, "the connection {} from {} ends: {}", connection.peer.connection, connection.peer.address, why);
  if (is_stopping_) {   // what is not read would make the kernel throw away the answers that are on their way
    while (::recv(connection.descriptor.native_handle(), buffer_.data(), buffer_.size(), 0) > 0) continue;
  }
  asio::error_code ignored;
  connection.descriptor.close(ignored);
  const std::uint64_t number = connection.peer.connection;
  answer_bytes_ -= std::exchange(connection.answer_bytes, 0);
  options_.gone(number);
  strangers_.erase(number);
  connections_.erase(number);   // which may be the end of the connection's memory
  count();
  if (is_stopping_ && connections_.empty()) last_words_timer_.cancel();
}

void ControlServer::Service::count() {
  connection_count_ = connections_.size();
  unproved_count_ = strangers_.size();
}

void ControlServer::Service::close_doors() {
  is_stopping_ = true;
  for (ControlListener& listener : listeners_) {
    listener.remove_file();
    listener.pause.cancel();
    asio::error_code ignored;
    listener.descriptor.close(ignored);
  }
  stranger_timer_.cancel();
  untaken_timer_.cancel();
  while (!strangers_.empty()) make_room();
}

void ControlServer::Service::say_last_words() {
  last_words_timer_.expires_after(last_words);
  last_words_timer_.async_wait([this](const asio::error_code&) {
    while (!connections_.empty()) drop(*connections_.begin()->second, "it does not take its answers");
  });
  const auto all = connections_;
  for (const auto& [number, connection] : all) write(connection);
  if (connections_.empty()) last_words_timer_.cancel();
  work_.reset();
}

void ControlServer::Service::stop() {
  std::call_once(stopped_, [this] {
    std::promise<void> closed;
    asio::post(loop_, [&] {
      close_doors();
      closed.set_value();
    });
    closed.get_future().wait();
    pool_->join();   // nothing new is started: what runs posts its answer to the loop
    asio::post(loop_, [this] { say_last_words(); });
    thread_.join();
  });
}

ControlServer::ControlServer(const Options& options, Handler handler)
    : service_(std::make_unique<Service>(options, std::move(handler))) {}
ControlServer::~ControlServer() = default;
const std::vector<std::string>& ControlServer::addresses() const { return service_->addresses(); }
ControlServer::Counts ControlServer::counts() const { return service_->counts(); }
void ControlServer::stop() { service_->stop(); }

}  // namespace glean::staging
