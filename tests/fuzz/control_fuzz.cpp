// SPDX-License-Identifier: BSD-3-Clause
//
// What a client with the key can say to a staging service, and a service to its client: messages that may be anything, and the requests
// and answers in them. What is accepted is the same when it is written down and read again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "base/error.hpp"
#include "staging/control_messages.hpp"
#include "staging/file_requests.hpp"
#include "staging/job_requests.hpp"

namespace glean::fuzz {
namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Nothing: it is refused.
template <class Read>
void expect_the_same(const nlohmann::json& json, Read read) {
  nlohmann::json written;
  try {
    written = staging::to_json(read(json));
  } catch (const base::Error&) {
    return;
  }
  const nlohmann::json again = staging::from_text(staging::to_text(written));
  expect(staging::to_json(read(again)) == written, "a request changes when it is written down and read again");
}

void read_text(std::string_view text) {
  nlohmann::json json;
  try {
    json = staging::from_text(text);
  } catch (const base::Error&) {
    return;
  }
  expect_the_same(json, staging::file_status_from);
  expect_the_same(json, staging::list_answer_from);
  expect_the_same(json, staging::status_request_from);
  expect_the_same(json, staging::list_request_from);
  expect_the_same(json, staging::read_request_from);
  expect_the_same(json, staging::remove_request_from);
  expect_the_same(json, staging::rename_request_from);
  expect_the_same(json, staging::join_request_from);
  expect_the_same(json, staging::begin_request_from);
  try {
    static_cast<void>(staging::directories_from(json));
  } catch (const base::Error&) {
  }
}

}  // namespace

void read(std::span<const std::uint8_t> bytes) {
  const auto message_bytes = std::as_bytes(bytes);
  try {
    const staging::ControlMessage message = staging::decode_control(message_bytes);
    const auto again = staging::encode_control(message.kind, message.number, message.text, message.bytes);
    const bool is_same = std::equal(again.begin(), again.end(), message_bytes.begin(), message_bytes.end());
    expect(is_same, "a message changes when it is written again");
    static_cast<void>(staging::error_from_text(message.text));
    read_text(message.text);
  } catch (const base::Error&) {
  }
}

}  // namespace glean::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glean::fuzz::read({data, size});
  return 0;
}
