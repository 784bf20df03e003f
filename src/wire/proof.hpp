// SPDX-License-Identifier: BSD-3-Clause
//
// How two sides prove to each other that they have the same key, without sending it. Each side says a hello with a nonce, 32 random bytes,
// in it; a proof is a MAC over both hellos, so one that was recorded fits no other connection. Pure: no sockets.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "wire/key.hpp"

namespace glean::wire {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

// Each side proves under a name of its own, so that no side can be answered with what it has said itself.
enum class Side { connects, accepts };

// Both hellos as they went over the wire.
struct Hellos {
  std::span<const std::byte> connecting, accepting;
};

[[nodiscard]] Nonce make_nonce();
[[nodiscard]] Proof prove(Side side, const Hellos& hellos, const Key& key);
// Takes as long whatever the proof is.
[[nodiscard]] bool is_proved(const Proof& proof, Side side, const Hellos& hellos, const Key& key);

// A key for what `sender` says on the connection that began with these hellos: no other connection and no other direction has it.
[[nodiscard]] Key connection_key(Side sender, const Hellos& hellos, const Key& key);

}  // namespace glean::wire
