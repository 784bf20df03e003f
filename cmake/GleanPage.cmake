# SPDX-License-Identifier: BSD-3-Clause
# Makes a source of the files of the view's page: cmake -DINTO=… -DHTML=… -DSTYLE=… -DICON=… -DSCRIPTS=a.js,b.js -P GleanPage.cmake
# The scripts become one file, in that order.

function(append_bytes name text)
  string(HEX "${text}" hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND source "constexpr char ${name}[] = {${bytes}};\n")
  set(source "${source}" PARENT_SCOPE)
endfunction()

set(source "// Made by GleanPage.cmake.\n#include \"view/page.hpp\"\n\nnamespace glean::view {\nnamespace {\n\n")
file(READ "${HTML}" html)
file(READ "${STYLE}" style)
file(READ "${ICON}" icon)
set(script "'use strict';\n")
string(REPLACE "," ";" scripts "${SCRIPTS}")
foreach(each IN LISTS scripts)
  file(READ "${each}" text)
  string(APPEND script "${text}")
endforeach()
append_bytes(html "${html}")
append_bytes(style "${style}")
append_bytes(icon "${icon}")
append_bytes(script "${script}")
string(APPEND source [[
constexpr PageFile files[] = {{"/", "text/html; charset=utf-8", {html, sizeof html}},
                              {"/view.css", "text/css; charset=utf-8", {style, sizeof style}},
                              {"/icon.svg", "image/svg+xml", {icon, sizeof icon}},
                              {"/view.js", "text/javascript; charset=utf-8", {script, sizeof script}}};

}  // namespace

std::span<const PageFile> page_files() { return files; }

}  // namespace glean::view
]])
file(WRITE "${INTO}" "${source}")
