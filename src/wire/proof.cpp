// SPDX-License-Identifier: BSD-3-Clause
#include "wire/proof.hpp"

#include <sodium.h>

#include <vector>

namespace glean::wire {
namespace {

unsigned char* raw(std::array<std::byte, 32>& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* raw(const std::array<std::byte, 32>& bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
static_assert(sizeof(Proof) == crypto_auth_BYTES && sizeof(Key) == crypto_auth_KEYBYTES);
static_assert(sizeof(Key) == crypto_kdf_KEYBYTES && sizeof(Key) <= crypto_generichash_KEYBYTES_MAX);

constexpr char kdf_context[] = "GLEANctl";
static_assert(sizeof kdf_context == crypto_kdf_CONTEXTBYTES + 1);

std::vector<unsigned char> said_text(std::string_view about, const Hellos& hellos) {
  std::vector<unsigned char> text(about.begin(), about.end());
  for (const auto hello : {hellos.connecting, hellos.accepting}) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(hello.data());
    text.insert(text.end(), bytes, bytes + hello.size());
  }
  return text;
}

std::string_view name_of(Side side) { return side == Side::connects ? "connects" : "accepts."; }

}  // namespace

Nonce make_nonce() {
  Nonce nonce;
  fill_randomly(nonce);
  return nonce;
}

Proof prove(Side side, const Hellos& hellos, const Key& key) {
  const auto text = said_text(name_of(side), hellos);
  Proof proof;
  crypto_auth(raw(proof), text.data(), text.size(), raw(key));
  return proof;
}

bool is_proved(const Proof& proof, Side side, const Hellos& hellos, const Key& key) {
  const auto text = said_text(name_of(side), hellos);
  return crypto_auth_verify(raw(proof), text.data(), text.size(), raw(key)) == 0;
}

Key connection_key(Side sender, const Hellos& hellos, const Key& key) {
  const auto text = said_text("sessions", hellos);
  Key of_both, of_sender;
  crypto_generichash(raw(of_both), of_both.size(), text.data(), text.size(), raw(key), key.size());
  crypto_kdf_derive_from_key(raw(of_sender), of_sender.size(), sender == Side::connects ? 1 : 2, kdf_context, raw(of_both));
  sodium_memzero(of_both.data(), of_both.size());
  return of_sender;
}

}  // namespace glean::wire
