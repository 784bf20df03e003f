// SPDX-License-Identifier: BSD-3-Clause
//
// What a client asks a stager about files that it may not see itself, and the answers: docs/formats/staging-control.md, "Files".
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace glean::staging {

// Bytes of one answer at most: a message has room for them.
inline constexpr std::size_t read_bytes_max = 960 * 1024;

struct FileStatus {
  enum class Kind : std::uint8_t { none, file, directory, other };   // none: there is nothing of that name
  Kind kind = Kind::none;
  std::string path;             // symbolic links followed: what the file is called where it is
  std::uint64_t bytes = 0;
  std::int64_t modified_seconds = 0, modified_nanoseconds = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;       // as stat(2) has it
  // A job of the service has closed an output of that name, which is not published yet: what is told of the file is of one before it.
  bool is_draining = false;
};

struct StatusRequest {
  std::string path;
};
// Paths that match a pattern, in the order of their bytes; those behind `after`.
struct ListRequest {
  std::string pattern, after;
};
struct ListAnswer {
  std::vector<FileStatus> files;   // `path` as the pattern has found them, none followed
  bool has_more = false;           // ask again, after the last one
};
// Of the file that a status was of: it may have another name by now, or none.
struct ReadRequest {
  std::string path;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0, bytes = 0;   // fewer come at the end of the file only
};
struct RemoveRequest {
  std::string path;
};
struct RenameRequest {
  std::string from, to;
};

[[nodiscard]] nlohmann::json to_json(const FileStatus& status);
[[nodiscard]] nlohmann::json to_json(const ListAnswer& answer);
[[nodiscard]] nlohmann::json to_json(const StatusRequest& request);
[[nodiscard]] nlohmann::json to_json(const ListRequest& request);
[[nodiscard]] nlohmann::json to_json(const ReadRequest& request);
[[nodiscard]] nlohmann::json to_json(const RemoveRequest& request);
[[nodiscard]] nlohmann::json to_json(const RenameRequest& request);
// Asks for the directories of a service, as clients may call them.
[[nodiscard]] nlohmann::json directories_request();
// All throw base::Error(invalid_argument) when something is missing or cannot be.
[[nodiscard]] std::vector<std::string> directories_from(const nlohmann::json& answer);
[[nodiscard]] FileStatus file_status_from(const nlohmann::json& json);
[[nodiscard]] ListAnswer list_answer_from(const nlohmann::json& json);
[[nodiscard]] StatusRequest status_request_from(const nlohmann::json& json);
[[nodiscard]] ListRequest list_request_from(const nlohmann::json& json);
[[nodiscard]] ReadRequest read_request_from(const nlohmann::json& json);
[[nodiscard]] RemoveRequest remove_request_from(const nlohmann::json& json);
[[nodiscard]] RenameRequest rename_request_from(const nlohmann::json& json);

}  // namespace glean::staging
