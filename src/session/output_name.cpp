// SPDX-License-Identifier: BSD-3-Clause
#include "session/output_name.hpp"

#include <filesystem>
#include <utility>

#include "base/error.hpp"

namespace glean::session {

OutputName::OutputName(std::string path, base::Publish publish, std::string unique,
                       std::optional<store::FileNames> files)
    : path_(std::move(path)), publish_(publish), unique_(std::move(unique)), files_(std::move(files)) {
  if (!files_) absolute_ = std::filesystem::absolute(path_).string();
}

const store::FileNames& OutputName::files() const {
  if (!files_) {
    const std::string final_path = store::resolved_path(absolute_);
    files_ = {store::working_path(final_path, publish_, unique_), final_path};
  }
  return *files_;
}

bool OutputName::leads_to(const std::string& final_path) const {
  try {
    return files().final_path == final_path;
  } catch (const base::Error&) {
    return false;
  }
}

store::FileNames names_at_stagers(const std::string& path, base::Publish publish, const std::string& unique) {
  const std::string final_path = std::filesystem::absolute(path).lexically_normal().string();
  return {store::working_path(final_path, publish, unique), final_path};
}

}  // namespace glean::session
