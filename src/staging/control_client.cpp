// SPDX-License-Identifier: BSD-3-Clause
#include "staging/control_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "staging/endpoint.hpp"
#include "wire/channel.hpp"

namespace glean::staging {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_at_most{100};   // another thread may have something to send meanwhile
constexpr std::chrono::seconds first_slice{1};           // for one address, if there are others
constexpr std::chrono::milliseconds before_the_next_round{20};

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9)));
}

// What one attempt at an address comes to, if the next one may end better.
struct Passing {
  base::Error error;
};

// False: it is late.
bool wait_for(int socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{socket, events, 0};
    if (::poll(&one, 1, static_cast<int>(std::min<long long>(left, 1'000'000))) > 0) return true;
  }
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::string words_of(int error) { return std::generic_category().message(error); }

OwnedSocket connect_to(const Endpoint& endpoint, Clock::time_point until) {
  OwnedSocket socket(::socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) throw base::system_error(errno, "no socket");
  if (!endpoint.is_unix()) set_up_connection(socket.descriptor());
  int error = ::connect(socket.descriptor(), endpoint.raw(), endpoint.bytes) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    if (!wait_for(socket.descriptor(), POLLOUT, until)) throw Passing{{base::Errc::timeout, "no answer"}};
    socklen_t bytes = sizeof error;
    if (::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  }
  if (error == EAGAIN) throw Passing{{base::Errc::timeout, "too many wait for it"}};   // of a Unix socket
  if (error == ENOENT) throw base::Error(base::Errc::not_found, words_of(error));
  if (error != 0) throw base::Error(error == EACCES || error == EPERM ? base::Errc::permission : base::Errc::io, words_of(error));
  return socket;
}

}  // namespace

class ControlClient::Link {
 public:
  Link(const std::string& address, const wire::Key& key, std::size_t message_bytes_max, Clock::time_point until);
  [[nodiscard]] static std::unique_ptr<Link> to_any(const std::vector<std::string>& addresses, const wire::Key& key,
                                                    std::size_t message_bytes_max, double deadline_seconds);
  [[nodiscard]] std::vector<Answer> ask_all(const std::vector<nlohmann::json>& requests, double deadline_seconds);
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] bool is_connected() {
    const std::scoped_lock lock(mutex_);
    return loss_.empty();
  }

 private:
  struct Said {
    ControlMessage::Kind kind{};
    std::string text;
    std::vector<std::byte> bytes;
  };

  void prove(Clock::time_point until);
  [[nodiscard]] Said wait_for_answer(std::unique_lock<std::mutex>& lock, std::uint64_t number, double deadline_seconds);
  void move_bytes();
  void send_some();
  void take(std::span<const std::byte> bytes);

  std::string address_;
  wire::Channel channel_;
  OwnedSocket socket_;

  std::mutex mutex_;   // of all that follows, and of the channel
  std::condition_variable changed_;
  bool is_polled_ = false;   // by one thread for all that wait
  std::string loss_;         // why there is no connection any more
  std::optional<base::Errc> refused_;   // if that is what the other side has said
  std::vector<std::byte> output_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::optional<Said>> asked_;
};

// --- the beginning

ControlClient::Link::Link(const std::string& address, const wire::Key& key, std::size_t message_bytes_max, Clock::time_point until)
    : address_(address), channel_(wire::Side::connects, key, message_bytes_max) {
  const auto endpoints = resolve(address);
  for (std::size_t i = 0; i < endpoints.size(); ++i) {   // of a host's name
    const bool is_last = i + 1 == endpoints.size();
    try {
      socket_ = connect_to(endpoints[i], is_last ? until : Clock::now() + (until - Clock::now()) / 2);
      prove(until);
      return;
    } catch (const base::Error&) {
      if (is_last || socket_.descriptor() >= 0) throw;
    } catch (const Passing&) {
      if (is_last || socket_.descriptor() >= 0) throw;
    }
  }
}

void ControlClient::Link::prove(Clock::time_point until) {
  for (;;) {
    move_bytes();
    if (channel_.is_open() && output_.empty()) return;
    if (refused_ == base::Errc::permission) {
      throw base::Error(*refused_, "it has another key", fmt::format("use the key file of that service, or its {}", wire::key_variable));
    }
    if (refused_) throw base::Error(*refused_, loss_);
    // A service that has too many strangers at the door sends the oldest away.
    if (!loss_.empty()) throw Passing{{base::Errc::io, loss_, "it may be too busy, or be for another user"}};
    const short events = output_.empty() ? POLLIN : POLLIN | POLLOUT;
    if (!wait_for(socket_.descriptor(), events, until)) throw Passing{{base::Errc::timeout, "it does not prove that it has the key"}};
  }
}

// Goes round while any of them may still answer. The time for one of several addresses grows from round to round: one may lead nowhere.
std::unique_ptr<ControlClient::Link> ControlClient::Link::to_any(const std::vector<std::string>& addresses, const wire::Key& key,
                                                                 std::size_t message_bytes_max, double deadline_seconds) {
  if (addresses.empty()) throw base::Error(base::Errc::invalid_argument, "a staging service without an address cannot be asked");
  const auto deadline = in(deadline_seconds);
  for (Clock::duration slice = first_slice;; slice *= 2) {
    std::string problems, hint;
    std::optional<base::Errc> code;
    bool may_pass = false;
    const auto note = [&](const std::string& address, const base::Error& error) {
      problems += fmt::format("{}{} ({})", problems.empty() ? "" : ", ", address, error.what());
      const bool is_first = !code || error.code() == base::Errc::permission;
      if (is_first) code = error.code(), hint = error.hint();
    };
    for (const std::string& address : addresses) {
      try {
        const auto until = addresses.size() == 1 ? deadline : std::min(deadline, Clock::now() + slice);
        return std::make_unique<Link>(address, key, message_bytes_max, until);
      } catch (const base::Error& error) {
        note(address, error);
      } catch (const Passing& passing) {
        note(address, passing.error);
        may_pass = true;
      }
    }
    const bool is_late = Clock::now() >= deadline;
    if (is_late && may_pass && code != base::Errc::permission) {
      throw base::Error(base::Errc::timeout,
                        fmt::format("after {:g} s there is no connection to the staging service: {}", deadline_seconds, problems), hint);
    }
    if (is_late || !may_pass) throw base::Error(*code, "no connection to the staging service: " + problems, hint);
    std::this_thread::sleep_until(std::min(deadline, Clock::now() + before_the_next_round));
  }
}

// --- questions

std::vector<Answer> ControlClient::Link::ask_all(const std::vector<nlohmann::json>& requests, double deadline_seconds) {
  std::vector<std::string> texts;
  for (const auto& request : requests) texts.push_back(to_text(request));
  std::unique_lock lock(mutex_);
  const std::uint64_t first = last_number_ + 1;
  last_number_ += texts.size();
  struct Forget {   // an answer that comes later is of no use
    std::map<std::uint64_t, std::optional<Said>>& asked;
    std::uint64_t begin, end;
    ~Forget() { asked.erase(asked.lower_bound(begin), asked.lower_bound(end)); }
  } const forget{asked_, first, last_number_ + 1};
  for (std::uint64_t number = first; number < first + texts.size(); ++number) {
    if (loss_.empty()) channel_.send(encode_control(ControlMessage::Kind::request, number, texts[number - first]));
    asked_.try_emplace(number);
  }
  const auto begin = Clock::now();
  std::vector<Answer> answers;
  for (std::uint64_t number = first; number < first + texts.size(); ++number) {
    const double gone = std::chrono::duration<double>(Clock::now() - begin).count();
    Said said = wait_for_answer(lock, number, number == first ? deadline_seconds : std::max(0.0, deadline_seconds - gone));
    if (said.kind == ControlMessage::Kind::error) throw error_from_text(said.text);
    answers.emplace_back(from_text(said.text), std::move(said.bytes));
  }
  return answers;
}

// Of several threads that wait one waits for the socket, and takes what comes for all.
ControlClient::Link::Said ControlClient::Link::wait_for_answer(std::unique_lock<std::mutex>& lock, std::uint64_t number,
                                                                 double deadline_seconds) {
  const auto deadline = in(deadline_seconds);
  for (send_some();;) {
    auto& answer = asked_.at(number);
    if (answer) return std::move(*answer);
    if (!loss_.empty()) {
      throw base::Error(base::Errc::io, fmt::format("the connection to the staging service at {} is lost: {}", address_, loss_));
    }
    if (Clock::now() >= deadline) {
      throw base::Error(base::Errc::timeout,
                        fmt::format("the staging service at {} has not answered in {:g} s", address_, deadline_seconds));
    }
    if (is_polled_) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    is_polled_ = true;
    const short events = output_.empty() ? POLLIN : POLLIN | POLLOUT;
    lock.unlock();
    wait_for(socket_.descriptor(), events, std::min(deadline, Clock::now() + poll_at_most));
    lock.lock();
    is_polled_ = false;
    move_bytes();
    changed_.notify_all();   // another thread has its answer, or polls next
  }
}

// What the kernel has, and has room for. Sets the loss.
void ControlClient::Link::move_bytes() {
  send_some();
  std::array<std::byte, 16 * 1024> buffer;
  while (loss_.empty()) {
    const ssize_t result = ::recv(socket_.descriptor(), buffer.data(), buffer.size(), 0);
    if (result > 0) {
      take(std::span(buffer).first(static_cast<std::size_t>(result)));
      if (channel_.has_output()) send_some();
    } else {
      if (result < 0 && is_for_later(errno)) return;
      loss_ = result == 0 ? "it has closed the connection" : words_of(errno);
    }
  }
}

void ControlClient::Link::send_some() {
  const auto more = channel_.take_output();
  output_.insert(output_.end(), more.begin(), more.end());
  std::size_t sent = 0;
  while (loss_.empty() && sent < output_.size()) {
    const ssize_t result = ::send(socket_.descriptor(), output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL);
    if (result >= 0) sent += static_cast<std::size_t>(result);
    else if (is_for_later(errno)) break;
    else loss_ = words_of(errno);
  }
  output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(sent));
}

void ControlClient::Link::take(std::span<const std::byte> bytes) {
  try {
    while (const auto message = channel_.receive(bytes)) {
      const ControlMessage answer = decode_control(*message);
      const auto found = asked_.find(answer.number);
      if (found != asked_.end()) found->second = Said{answer.kind, std::string(answer.text), {answer.bytes.begin(), answer.bytes.end()}};
    }
  } catch (const base::Error& error) {
    loss_ = error.what();
    refused_ = error.code();
  }
}

ControlClient::ControlClient(const std::vector<std::string>& addresses, const wire::Key& key, double deadline_seconds,
                             std::size_t message_bytes_max)
    : link_(Link::to_any(addresses, key, message_bytes_max, deadline_seconds)) {}
ControlClient::~ControlClient() = default;
nlohmann::json ControlClient::ask(const nlohmann::json& request, double deadline_seconds) {
  return std::move(link_->ask_all({request}, deadline_seconds).front().text);
}
std::vector<Answer> ControlClient::ask_all(const std::vector<nlohmann::json>& requests, double deadline_seconds) {
  return link_->ask_all(requests, deadline_seconds);
}
bool ControlClient::is_connected() const { return link_->is_connected(); }
const std::string& ControlClient::address() const { return link_->address(); }

}  // namespace glean::staging
