// SPDX-License-Identifier: BSD-3-Clause
#include "staging/file_requests.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include "base/error.hpp"

namespace glean::staging {
namespace {

constexpr std::array kinds{"none", "file", "directory", "other"};   // as FileStatus::Kind
constexpr std::size_t pattern_max = 2 * PATH_MAX;

[[noreturn]] void refuse(const std::string& why) { throw base::Error(base::Errc::invalid_argument, "a request about files: " + why); }

template <class Value>
Value member(const nlohmann::json& json, const char* key) {
  try {
    return json.at(key).get<Value>();
  } catch (const nlohmann::json::exception&) {
    refuse(std::string("there is no usable '") + key + "'");
  }
}

// JSON has signed numbers, and get() wraps them.
std::uint64_t number_in(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_unsigned()) {
    refuse(std::string("there is no usable '") + key + "'");
  }
  return json[key].get<std::uint64_t>();
}

std::string bounded_text(const nlohmann::json& json, const char* key, std::size_t most) {
  auto text = member<std::string>(json, key);
  if (text.size() >= most) refuse(std::string("'") + key + "' is too long");
  if (text.find('\0') != text.npos) refuse(std::string("'") + key + "' has a zero byte");
  return text;
}

std::string path_in(const nlohmann::json& json, const char* key, std::size_t most = PATH_MAX) {
  auto path = bounded_text(json, key, most);
  if (!path.starts_with('/')) refuse(std::string("'") + key + "' is no absolute path");
  return path;
}

}  // namespace

nlohmann::json to_json(const FileStatus& status) {
  return {{"kind", kinds.at(static_cast<std::size_t>(status.kind))}, {"path", status.path}, {"bytes", status.bytes},
          {"modified", {status.modified_seconds, status.modified_nanoseconds}}, {"inode", status.inode}, {"mode", status.mode},
          {"draining", status.is_draining}};
}

nlohmann::json to_json(const ListAnswer& answer) {
  nlohmann::json files = nlohmann::json::array();
  for (const FileStatus& each : answer.files) files.push_back(to_json(each));
  return {{"files", std::move(files)}, {"more", answer.has_more}};
}

nlohmann::json to_json(const StatusRequest& request) { return {{"ask", "file_status"}, {"path", request.path}}; }

nlohmann::json to_json(const ListRequest& request) {
  return {{"ask", "list_files"}, {"pattern", request.pattern}, {"after", request.after}};
}

nlohmann::json to_json(const ReadRequest& request) {
  return {{"ask", "read_file"}, {"path", request.path}, {"inode", request.inode}, {"offset", request.offset}, {"bytes", request.bytes}};
}

nlohmann::json to_json(const RemoveRequest& request) { return {{"ask", "remove_file"}, {"path", request.path}}; }

nlohmann::json to_json(const RenameRequest& request) { return {{"ask", "rename_file"}, {"from", request.from}, {"to", request.to}}; }

nlohmann::json directories_request() { return {{"ask", "directories"}}; }

std::vector<std::string> directories_from(const nlohmann::json& answer) { return member<std::vector<std::string>>(answer, "directories"); }

FileStatus file_status_from(const nlohmann::json& json) {
  FileStatus status;
  const auto kind = std::find(kinds.begin(), kinds.end(), member<std::string>(json, "kind"));
  if (kind == kinds.end()) refuse("there is no such kind of file");
  status.kind = static_cast<FileStatus::Kind>(kind - kinds.begin());
  status.path = member<std::string>(json, "path");
  status.bytes = number_in(json, "bytes");
  const auto modified = member<std::array<std::int64_t, 2>>(json, "modified");
  status.modified_seconds = modified[0];
  status.modified_nanoseconds = modified[1];
  status.inode = number_in(json, "inode");
  status.mode = static_cast<std::uint32_t>(number_in(json, "mode"));
  status.is_draining = member<bool>(json, "draining");
  return status;
}

ListAnswer list_answer_from(const nlohmann::json& json) {
  ListAnswer answer;
  for (const auto& each : member<nlohmann::json::array_t>(json, "files")) answer.files.push_back(file_status_from(each));
  answer.has_more = member<bool>(json, "more");
  return answer;
}

StatusRequest status_request_from(const nlohmann::json& json) { return {path_in(json, "path")}; }

ListRequest list_request_from(const nlohmann::json& json) {
  return {path_in(json, "pattern", pattern_max), bounded_text(json, "after", PATH_MAX)};
}

ReadRequest read_request_from(const nlohmann::json& json) {
  ReadRequest request{path_in(json, "path"), number_in(json, "inode"), number_in(json, "offset"), number_in(json, "bytes")};
  if (request.bytes > read_bytes_max) refuse("an answer has " + std::to_string(read_bytes_max) + " bytes of a file at most");
  if (request.offset > static_cast<std::uint64_t>(INT64_MAX) - read_bytes_max) refuse("no file is so long");
  return request;
}

RemoveRequest remove_request_from(const nlohmann::json& json) { return {path_in(json, "path")}; }

RenameRequest rename_request_from(const nlohmann::json& json) { return {path_in(json, "from"), path_in(json, "to")}; }

}  // namespace glean::staging
