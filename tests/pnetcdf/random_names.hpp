// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "values.hpp"

// What programs do with a file that they have just closed: it, or another one, is renamed, replaced or removed. `names` draws it, so
// that the rest of a program does not depend on it; `say` gets what every call returns. Returns where the file is. Collective.
std::string rename_or_remove(Random& names, const std::string& path, int rank, int ranks,
                             void (*say)(const char* what, long long value));
