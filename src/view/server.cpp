// SPDX-License-Identifier: BSD-3-Clause
//
// One thread runs the event loop and has all connections to itself; the desk's thread makes the answers.
#include "view/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "view/door.hpp"
#include "view/page.hpp"

namespace glean::view {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Tcp = net::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::uint32_t header_bytes_max = 8 * 1024;
constexpr std::chrono::milliseconds without_descriptors{200};

std::chrono::steady_clock::duration in_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

// Nothing of elsewhere is loaded, shown in or sent to; nothing of here is kept or told.
void set_rules(Response& response, std::string_view host) {
  response.set("Content-Security-Policy",
               fmt::format("default-src 'self'; connect-src 'self' ws://{}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                           host));
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cache-Control", "no-store");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
}

Response text_response(http::status status, std::string text, std::string_view type = "text/plain; charset=utf-8") {
  Response response(status, 11);
  response.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response.keep_alive(false);
  response.body() = std::move(text);
  return response;
}

std::string with_token(std::string_view text, const std::string& token) {
  constexpr std::string_view mark = "@TOKEN@";
  std::string filled;
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark)) {
    filled.append(text.substr(0, at)).append(token);
    text.remove_prefix(at + mark.size());
  }
  return filled.append(text);
}

}  // namespace

// All members but wake() and counts() belong to the thread of the loop.
class Server::Service {
 public:
  Service(const Options& options, Source& source);
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  [[nodiscard]] const std::string& url() const { return url_; }
  void wake() { desk_->wake(); }
  [[nodiscard]] Counts counts() const { return {viewer_count_, stranger_count_, refused_count_, desk_->answers_bytes()}; }
  void stop();

 private:
  struct Stranger {
    explicit Stranger(Tcp::socket socket) : stream(std::move(socket)) { parser.header_limit(header_bytes_max); }
    beast::tcp_stream stream;
    beast::flat_buffer buffer{header_bytes_max};
    http::request_parser<http::empty_body> parser;
    Response response;
  };
  struct Viewer {
    Viewer(std::uint64_t its_number, Tcp::socket socket) : number(its_number), stream(std::move(socket)), deadline(stream.get_executor()) {}
    const std::uint64_t number;
    websocket::stream<beast::tcp_stream> stream;
    net::steady_timer deadline;   // for what is sent
    beast::flat_buffer buffer;
    std::vector<std::byte> message;
    Request request;
  };
  using StrangerPtr = std::shared_ptr<Stranger>;
  using ViewerPtr = std::shared_ptr<Viewer>;

  void listen();
  void accept();
  void admit(Tcp::socket socket);
  void hear(const StrangerPtr& stranger);
  [[nodiscard]] std::optional<Response> refusal_of(const Request& request) const;
  [[nodiscard]] Response page_for(const Request& request) const;
  void respond(const StrangerPtr& stranger, Response response);
  void leave(const StrangerPtr& stranger);
  void upgrade(const StrangerPtr& stranger);
  void read(const ViewerPtr& viewer);
  void send(std::uint64_t number, std::vector<std::byte> message);
  void drop(const ViewerPtr& viewer);

  const Options options_;
  const ListenAddress address_;
  const std::string token_;
  std::string url_;
  net::io_context loop_{1};
  net::executor_work_guard<net::io_context::executor_type> work_{loop_.get_executor()};
  Tcp::acceptor acceptor_{loop_};
  net::steady_timer pause_{loop_};
  std::map<Stranger*, StrangerPtr> strangers_;
  std::map<std::uint64_t, ViewerPtr> viewers_;
  std::uint64_t last_number_ = 0;
  std::atomic<std::size_t> viewer_count_{0}, stranger_count_{0}, refused_count_{0};
  std::unique_ptr<Desk> desk_;
  std::thread thread_;
};

Server::Service::Service(const Options& options, Source& source)
    : options_(options), address_(parse_listen_address(options.listen)), token_(options.token.empty() ? make_token() : options.token) {
  listen();
  desk_ = std::make_unique<Desk>(source, options_.desk, [this](std::uint64_t viewer, std::vector<std::byte> message) {
    net::post(loop_, [this, viewer, message = std::move(message)]() mutable { send(viewer, std::move(message)); });
  });
  accept();
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { loop_.run(); });
}

void Server::Service::listen() {
  try {
    const Tcp::endpoint endpoint(net::ip::make_address(address_.host), address_.port);
    acceptor_.open(endpoint.protocol());
    fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor_.set_option(net::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
  } catch (const boost::system::system_error& error) {
    throw base::system_error(error.code().value(), "the view cannot listen at '" + options_.listen + "'");
  }
  const Tcp::endpoint bound = acceptor_.local_endpoint();
  std::string host = bound.address().is_v6() ? "[" + bound.address().to_string() + "]" : bound.address().to_string();
  if (bound.address().is_unspecified()) {
    std::array<char, 256> name{};
    host = gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
  }
  url_ = fmt::format("http://{}:{}/?token={}", host, bound.port(), token_);
}

// --- strangers

void Server::Service::accept() {
  acceptor_.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) admit(std::move(socket));
    if (error != boost::system::errc::too_many_files_open && error != boost::system::errc::too_many_files_open_in_system) return accept();
    pause_.expires_after(without_descriptors);
    pause_.async_wait([this](const ErrorCode& cancelled) {
      if (!cancelled) accept();
    });
  });
}

void Server::Service::admit(Tcp::socket socket) {
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  if (strangers_.size() >= options_.strangers_max) {
    ++refused_count_;
    return;   // which closes it
  }
  ErrorCode ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  const auto stranger = std::make_shared<Stranger>(std::move(socket));
  strangers_.emplace(stranger.get(), stranger);
  stranger_count_ = strangers_.size();
  stranger->stream.expires_after(in_seconds(options_.stranger_seconds));
  hear(stranger);
}

void Server::Service::hear(const StrangerPtr& stranger) {
  http::async_read(stranger->stream, stranger->buffer, stranger->parser, [this, stranger](const ErrorCode& error, std::size_t) {
    if (error) return leave(stranger);   // no HTTP, too long, too late, or gone
    const Request& request = stranger->parser.get();
    if (auto refusal = refusal_of(request)) {
      ++refused_count_;
      return respond(stranger, std::move(*refusal));
    }
    if (websocket::is_upgrade(request)) return upgrade(stranger);
    respond(stranger, page_for(request));
  });
}

// What all requests must have, whatever they ask for. The answers tell nothing of what is here.
std::optional<Response> Server::Service::refusal_of(const Request& request) const {
  const std::string_view host = view_of(request[http::field::host]);
  if (request.count(http::field::host) != 1 || !is_own_host(host, options_.host)) {
    return text_response(http::status::forbidden, "this server is not reached by that name\n");
  }
  const auto token = query_value(view_of(request.target()), "token");
  if (!token || !same_token(*token, token_)) {
    return text_response(http::status::forbidden, "the token is missing or wrong: open the URL that glean view has printed\n");
  }
  if (request.method() != http::verb::get) return text_response(http::status::method_not_allowed, "only GET\n");
  return std::nullopt;
}

Response Server::Service::page_for(const Request& request) const {
  const std::string_view path = path_of(view_of(request.target()));
  for (const PageFile& file : page_files()) {
    if (file.path != path) continue;
    Response response = text_response(http::status::ok, with_token(file.text, token_), file.type);
    set_rules(response, view_of(request[http::field::host]));
    return response;
  }
  return text_response(http::status::not_found, "there is no such file\n");
}

void Server::Service::respond(const StrangerPtr& stranger, Response response) {
  stranger->response = std::move(response);
  stranger->response.prepare_payload();
  http::async_write(stranger->stream, stranger->response, [this, stranger](const ErrorCode&, std::size_t) {
    ErrorCode ignored;
    stranger->stream.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    leave(stranger);
  });
}

void Server::Service::leave(const StrangerPtr& stranger) {
  strangers_.erase(stranger.get());
  stranger_count_ = strangers_.size();
}

// --- viewers

void Server::Service::upgrade(const StrangerPtr& stranger) {
  const Request& request = stranger->parser.get();
  const bool is_own = request.count(http::field::origin) <= 1 &&
                      is_own_origin(view_of(request[http::field::origin]), view_of(request[http::field::host]));
  if (!is_own || path_of(view_of(request.target())) != "/socket") {
    ++refused_count_;
    return respond(stranger, text_response(http::status::forbidden, "another page cannot open this view\n"));
  }
  if (viewers_.size() >= options_.viewers_max) {
    ++refused_count_;
    return respond(stranger, text_response(http::status::service_unavailable,
                                           fmt::format("there are {} viewers already, as many as there can be\n", viewers_.size())));
  }
  stranger->stream.expires_never();
  const auto viewer = std::make_shared<Viewer>(++last_number_, stranger->stream.release_socket());
  viewer->request = stranger->parser.release();
  leave(stranger);
  viewers_.emplace(viewer->number, viewer);
  viewer_count_ = viewers_.size();
  websocket::stream_base::timeout limits{};
  limits.handshake_timeout = in_seconds(options_.stranger_seconds);
  limits.idle_timeout = in_seconds(options_.idle_seconds);
  limits.keep_alive_pings = true;
  viewer->stream.set_option(limits);
  viewer->stream.read_message_max(options_.request_bytes_max);
  viewer->stream.auto_fragment(false);
  viewer->stream.binary(true);
  viewer->stream.async_accept(viewer->request, [this, viewer](const ErrorCode& error) { error ? drop(viewer) : read(viewer); });
}

void Server::Service::read(const ViewerPtr& viewer) {
  viewer->stream.async_read(viewer->buffer, [this, viewer](const ErrorCode& error, std::size_t) {
    if (error) return drop(viewer);
    const auto data = viewer->buffer.cdata();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    if (!viewer->stream.got_text() || !desk_->ask(viewer->number, text)) {
      ++refused_count_;
      return drop(viewer);
    }
    viewer->buffer.consume(data.size());
    read(viewer);
  });
}

void Server::Service::send(std::uint64_t number, std::vector<std::byte> message) {
  const auto found = viewers_.find(number);
  if (found == viewers_.end()) return;
  const ViewerPtr viewer = found->second;
  viewer->message = std::move(message);
  viewer->deadline.expires_after(in_seconds(options_.take_seconds));
  viewer->deadline.async_wait([this, viewer](const ErrorCode& cancelled) {
    if (!cancelled) drop(viewer);
  });
  viewer->stream.async_write(net::buffer(viewer->message), [this, viewer](const ErrorCode& error, std::size_t) {
    viewer->deadline.cancel();
    viewer->message = {};
    error ? drop(viewer) : desk_->taken(viewer->number);
  });
}

void Server::Service::drop(const ViewerPtr& viewer) {
  if (viewers_.erase(viewer->number) == 0) return;
  viewer_count_ = viewers_.size();
  desk_->leave(viewer->number);
  viewer->deadline.cancel();
  beast::get_lowest_layer(viewer->stream).close();
}

void Server::Service::stop() {
  if (!thread_.joinable()) return;
  desk_->stop();
  net::post(loop_, [this] {
    ErrorCode ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& [key, stranger] : strangers_) stranger->stream.close();
    while (!viewers_.empty()) drop(viewers_.begin()->second);
    work_.reset();
  });
  thread_.join();
}

Server::Server(const Options& options, Source& source) : service_(std::make_unique<Service>(options, source)) {}
Server::~Server() = default;
const std::string& Server::url() const { return service_->url(); }
void Server::wake() { service_->wake(); }
Server::Counts Server::counts() const { return service_->counts(); }
void Server::stop() { service_->stop(); }

}  // namespace glean::view
