// SPDX-License-Identifier: BSD-3-Clause
#include "staging/address_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "staging/endpoint.hpp"
#include "wire/key.hpp"
#include "wire/private_file.hpp"

namespace glean::staging {
namespace {

constexpr int address_file_version = 1;
constexpr std::size_t address_file_bytes_max = 16 << 20;   // of thousands of stagers
constexpr const char* version_key = "glean_staging";

Stager stager_from(const nlohmann::json& value) {
  Stager stager{value.at("identity").get<std::string>(), value.at("host").get<std::string>(), value.at("pid").get<std::int64_t>(),
                value.at("started").get<std::int64_t>(), value.at("addresses").get<std::vector<std::string>>()};
  const bool has_identity = stager.identity.size() == 32 && stager.identity.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!has_identity || stager.addresses.empty()) throw base::Error(base::Errc::invalid_argument, "a stager has no identity or no address");
  return stager;
}

bool is_of(const std::vector<Stager>& stagers, const std::string& identity) {
  return std::any_of(stagers.begin(), stagers.end(), [&](const Stager& each) { return each.identity == identity; });
}

}  // namespace

std::string make_identity() {
  std::array<std::byte, 16> identity{};
  wire::fill_randomly(identity);
  return wire::to_hex(identity);
}

Stager this_stager(std::vector<std::string> addresses) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {make_identity(), host.data(), ::getpid(), std::chrono::duration_cast<std::chrono::seconds>(now).count(), std::move(addresses)};
}

void write_address_file(const std::string& path, const std::vector<Stager>& stagers) {
  nlohmann::ordered_json value = {{version_key, address_file_version}, {"stagers", nlohmann::ordered_json::array()}};
  for (const Stager& each : stagers) {
    value["stagers"].push_back({{"identity", each.identity}, {"host", each.host}, {"pid", each.pid}, {"started", each.started},
                                {"addresses", each.addresses}});
  }
  wire::write_private_file(path, value.dump(2) + '\n', wire::IfItExists::is_replaced);
}

std::vector<Stager> read_address_file(const std::string& path) {
  const std::string text = wire::read_private_file(path, "the address file", address_file_bytes_max,
                                                   "start the staging service, or name the address file that it writes");
  try {
    const auto value = nlohmann::json::parse(text);
    const int version = value.at(version_key).get<int>();
    if (version != address_file_version) {
      throw base::Error(base::Errc::unsupported,
                        fmt::format("the address file '{}' has version {}, this program reads {}", path, version, address_file_version),
                        "use the same version of GLEAN for the staging service and its clients");
    }
    std::vector<Stager> stagers;
    for (const auto& each : value.at("stagers")) stagers.push_back(stager_from(each));
    if (!stagers.empty()) return stagers;
  } catch (const nlohmann::json::exception&) {
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::unsupported) throw;
  }
  throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' is no address file of a staging service", path),
                    "name the address file that the staging service writes");
}

// Renamed first, so that what is looked at is what is removed.
bool remove_address_file(const std::string& path, const std::string& identity) {
  const auto is_mine = [&](const std::string& file) {
    try {
      return is_of(read_address_file(file), identity);
    } catch (const base::Error&) {
      return false;
    }
  };
  if (!is_mine(path)) return false;
  const std::string aside = fmt::format("{}.{}.gone", path, identity);
  if (::rename(path.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return false;
    throw base::system_error(errno, fmt::format("cannot remove the address file '{}'", path));
  }
  const bool was_mine = is_mine(aside);
  if (!was_mine) static_cast<void>(::link(aside.c_str(), path.c_str()));   // fails if there is a newer one
  ::unlink(aside.c_str());
  return was_mine;
}

}  // namespace glean::staging
