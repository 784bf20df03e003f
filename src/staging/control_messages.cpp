// SPDX-License-Identifier: BSD-3-Clause
#include "staging/control_messages.hpp"

#include <array>
#include <string>

#include "base/encoding.hpp"

namespace glean::staging {
namespace {

constexpr int depth_max = 64;

// By name, so that the order of the enumeration is free to change.
struct NamedCode {
  base::Errc code;
  const char* name;
};
constexpr std::array<NamedCode, 12> codes = {{
    {base::Errc::invalid_argument, "invalid_argument"},
    {base::Errc::invalid_state, "invalid_state"},
    {base::Errc::invalid_config, "invalid_config"},
    {base::Errc::overlap, "overlap"},
    {base::Errc::out_of_range, "out_of_range"},
    {base::Errc::timeout, "timeout"},
    {base::Errc::no_space, "no_space"},
    {base::Errc::permission, "permission"},
    {base::Errc::exists, "exists"},
    {base::Errc::not_found, "not_found"},
    {base::Errc::io, "io"},
    {base::Errc::unsupported, "unsupported"},
}};

}  // namespace

std::vector<std::byte> encode_control(ControlMessage::Kind kind, std::uint64_t number, std::string_view text,
                                      std::span<const std::byte> bytes) {
  base::Encoder encoder;
  encoder.byte(static_cast<std::uint8_t>(kind));
  encoder.number(number);
  if (kind == ControlMessage::Kind::answer_with_bytes) encoder.number(text.size());
  encoder.raw(std::as_bytes(std::span(text)));
  encoder.raw(bytes);
  return encoder.take();
}

ControlMessage decode_control(std::span<const std::byte> bytes) {
  base::Decoder decoder(bytes, "a message");
  const auto kind = decoder.choice<ControlMessage::Kind>(4, "kind of message");
  const auto number = decoder.number();
  const bool has_bytes = kind == ControlMessage::Kind::answer_with_bytes;
  const auto text = has_bytes ? decoder.bytes() : decoder.rest();
  return {kind, number, {reinterpret_cast<const char*>(text.data()), text.size()},
          has_bytes ? decoder.rest() : std::span<const std::byte>()};
}

std::string to_text(const nlohmann::json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::exception&) {
    throw base::Error(base::Errc::invalid_argument, "a message has text that is not UTF-8");
  }
}

nlohmann::json from_text(std::string_view text) {
  const auto is_shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > depth_max) throw base::Error(base::Errc::invalid_argument, "a message is nested too deeply");
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), is_shallow);
  } catch (const nlohmann::json::exception&) {
    throw base::Error(base::Errc::invalid_argument, "a message is no JSON");
  }
}

std::string text_of(const base::Error& error) {
  const char* name = "io";
  for (const auto& each : codes) {
    if (each.code == error.code()) name = each.name;
  }
  const nlohmann::json value = {{"code", name}, {"what", error.what()}, {"hint", error.hint()}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);   // names of files may be anything
}

base::Error error_from_text(std::string_view text) {
  auto code = base::Errc::io;
  try {
    const auto value = from_text(text);
    for (const auto& each : codes) {
      if (value.at("code") == each.name) code = each.code;
    }
    return {code, value.at("what").get<std::string>(), value.at("hint").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return {code, "the staging service does not say what has failed"};
  }
}

}  // namespace glean::staging
