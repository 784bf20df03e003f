// SPDX-License-Identifier: BSD-3-Clause
//
// The text of host.py, so that it is wherever GLEAN is.
#pragma once

namespace glean::hosting {

extern const char* const host_script;

}  // namespace glean::hosting
