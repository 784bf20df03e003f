// SPDX-License-Identifier: BSD-3-Clause
//
// Where Boost.Beast is not there when this is built.
#include "base/error.hpp"
#include "view/server.hpp"

namespace glean::view {

class Server::Service {};

Server::Server(const Options&, Source&) {
  throw base::Error(base::Errc::unsupported, "no view can be served: this GLEAN was built without Boost",
                    "install Boost's headers (libboost-dev) and build it again");
}
Server::~Server() = default;
const std::string& Server::url() const {
  static const std::string none;
  return none;
}
void Server::wake() {}
Server::Counts Server::counts() const { return {}; }
void Server::stop() {}

}  // namespace glean::view
