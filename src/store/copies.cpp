// SPDX-License-Identifier: BSD-3-Clause
#include "store/copies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <string_view>

namespace glean::store {
namespace {

const char* name_of(base::CopyFormat format) { return format == base::CopyFormat::hdf5 ? "hdf5" : "vtkhdf"; }

const char* name_of(base::Semantics semantics) {
  return semantics == base::Semantics::flash ? "flash" : semantics == base::Semantics::none ? "none" : "auto";
}

}  // namespace

std::string Copy::path(const std::string& final_path) const {
  const std::size_t name_begin = final_path.rfind('/') + 1;   // 0 where there is none
  std::string name = final_path.substr(name_begin);
  // Other endings may be all that two files differ in, as flame.1.000E-06 and flame.1.200E-06.
  for (const std::string_view extension : {".nc", ".nc4", ".cdf", ".netcdf"}) {
    if (name.size() <= extension.size() || !name.ends_with(extension)) continue;
    name.resize(name.size() - extension.size());
    break;
  }
  if (!variables.empty()) name += "_plot";
  return final_path.substr(0, name_begin) + name + (format == base::CopyFormat::hdf5 ? ".h5" : ".vtkhdf");
}

Copies Copies::of(const base::CopySettings& settings) {
  Copies copies;
  if (!settings.any()) return copies;
  copies.semantics = settings.semantics;
  copies.instead = settings.format.has_value();
  if (settings.format) copies.each.push_back({*settings.format, {}});
  for (const base::CopyFormat format : settings.also) {
    if (format != settings.format) copies.each.push_back({format, {}});
  }
  if (!settings.plot_variables.empty()) copies.each.push_back({base::CopyFormat::hdf5, settings.plot_variables});
  return copies;
}

std::vector<std::string> Copies::words(const Copy& copy, const std::string& source, const std::string& path) const {
  std::vector<std::string> words = {"glean", "convert", "--to", name_of(copy.format), "--semantics", name_of(semantics)};
  if (!copy.variables.empty()) {
    words.insert(words.end(), {"--single", "--variables", fmt::format("{}", fmt::join(copy.variables, ","))});
  }
  if (instead && &copy == &each.front()) words.emplace_back("--complete");
  words.insert(words.end(), {"--drain", std::to_string(getpid()), "-o", path, source});
  return words;
}

void Copies::encode(base::Encoder& out) const {
  out.byte(static_cast<std::uint8_t>(semantics));
  out.byte(instead ? 1 : 0);
  out.number(each.size());
  for (const Copy& copy : each) {
    out.byte(static_cast<std::uint8_t>(copy.format));
    out.number(copy.variables.size());
    for (const std::string& name : copy.variables) out.text(name);
  }
}

Copies Copies::decode(base::Decoder& in) {
  Copies copies;
  copies.semantics = in.choice<base::Semantics>(3, "semantics");
  copies.instead = in.choice<std::uint8_t>(2, "place of a copy") == 1;
  copies.each.resize(in.count(1 + 8, "copies"));
  for (Copy& copy : copies.each) {
    copy.format = in.choice<base::CopyFormat>(2, "format of a copy");
    copy.variables.resize(in.count(8, "variables of a copy"));
    for (std::string& name : copy.variables) name = in.text();
  }
  return copies;
}

}  // namespace glean::store
