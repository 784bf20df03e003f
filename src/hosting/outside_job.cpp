// SPDX-License-Identifier: BSD-3-Clause
#include "hosting/outside_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

extern char** environ;

namespace glean::hosting {
namespace {

bool is_of_the_job(std::string_view variable) {
  constexpr std::array<std::string_view, 7> begins = {"LD_PRELOAD=", "GLEAN_", "OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_"};
  return std::any_of(begins.begin(), begins.end(), [&](std::string_view each) { return variable.starts_with(each); });
}

}  // namespace

std::vector<std::string> environment_outside_job() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!is_of_the_job(*each)) variables.emplace_back(*each);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& each : texts) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace glean::hosting
