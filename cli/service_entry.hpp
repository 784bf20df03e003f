// SPDX-License-Identifier: BSD-3-Clause
//
// The entry of a staging service's process in the address file, which may be that of several.
#pragma once

#include <string>

#include "staging/address_file.hpp"
#include "wire/key.hpp"

namespace glean::cli {

class ServiceEntry {
 public:
  // Others that are in the file and answer: processes of the same service, or another service, to which the file belongs.
  enum class Others { of_this_service, of_another };
  // Adds the stager to the file; entries of processes that are gone go. One process at a time does so, on whatever node. Throws
  // base::Error: exists if another service has the file; what reading and writing it comes to. Blocks while others are asked.
  ServiceEntry(std::string path, staging::Stager stager, const wire::Key& key, Others others);
  // Takes it out again, and the file with the last one.
  ~ServiceEntry();
  ServiceEntry(const ServiceEntry&) = delete;
  ServiceEntry& operator=(const ServiceEntry&) = delete;

  void remove() noexcept;

 private:
  const std::string path_;
  const std::string identity_;
  bool is_there_ = false;
};

}  // namespace glean::cli
