// SPDX-License-Identifier: BSD-3-Clause
//
// The file formats of a session, with the libraries that make their metadata. Nothing else in the session names one.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>

#include "glean/glean.hpp"
#include "session/grids/convention.hpp"
#include "store/format/formats.hpp"
#include "store/input/file_reader.hpp"
#include "store/pnetcdf/passthrough.hpp"

namespace glean::session {

// All that can be written. Made once.
[[nodiscard]] const store::Formats& formats();
[[nodiscard]] const store::Format& format_of(Format format);
// How its files say what grids mean.
[[nodiscard]] std::unique_ptr<Convention> convention_of(Format format);
// Throws unsupported where an output of the format would become several files, and cannot.
void require_one_file(std::string_view path, Format format, int files);

// Reads a file that is there.
using Reader = store::FileReader;
// Throws what its constructor throws, naming the path. Local, blocks.
[[nodiscard]] std::unique_ptr<Reader> open_reader(const std::string& path);
// Of a file that this host does not see, which is called `path` where it is.
[[nodiscard]] std::unique_ptr<Reader> open_reader(std::unique_ptr<store::FileSource> source, const std::string& path);
// Writes with the format's own library, collectively.
using DirectFile = store::PassthroughFile;

// Throws unsupported for formats that have no parallel library; what the library throws. Collective.
[[nodiscard]] std::unique_ptr<DirectFile> create_directly(MPI_Comm comm, const std::string& path, const store::Format& format,
                                                          const mesh::Definitions& definitions, const store::Tuning& tuning);

}  // namespace glean::session
