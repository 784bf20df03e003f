// SPDX-License-Identifier: BSD-3-Clause
//
// Files whose stripes are asked for. The MPI library makes them, because it knows the file systems that have stripes; what is written later
// goes past it.
#pragma once

#include <map>
#include <string>

#include "base/settings.hpp"

namespace glean::session {

class Core;

// The hints of MPI-IO that say how a new file is striped.
inline constexpr const char* striping_names[] = {"striping_factor", "striping_unit", "start_iodevice"};

// Name → value. None but those.
using StripingHints = std::map<std::string, std::string>;

// The hints of a new file: each of them as the settings say, or else as the program does. Pure.
[[nodiscard]] StripingHints striping_hints(const base::Striping& settings, const StripingHints& of_program = {});

// Whether a new file in the directory of `path` gets stripes by these hints, as far as its file system is known. Local, one system call.
[[nodiscard]] bool has_stripes(const std::string& path);

// What of the hints the file has not got, in words; empty where it has all, or has no layout of Lustre's that could be asked for. Local.
[[nodiscard]] std::string missed_stripes(const std::string& path, const StripingHints& hints);

// Says once that hints have no effect where the file system has no stripes: as a warning if there are any in the settings. Local.
void tell_where_none_are(Core& core, const std::string& path, const base::Striping& settings);

// Makes the file, which is empty, with striping_hints(), and says where they have no effect. False where it is to be made without, though
// it may be there: there are no hints, it exists already, or the MPI library cannot, which the log says once for each reason. Local, one
// MPI_File_open on this rank alone.
[[nodiscard]] bool make_striped_file(Core& core, const std::string& path, const base::Striping& settings,
                                     const StripingHints& of_program = {});

}  // namespace glean::session
