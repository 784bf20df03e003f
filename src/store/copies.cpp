// SPDX-License-Identifier: BSD-3-Clause
#include "store/copies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace glean::store {
namespace {

const char* name_of(base::CopyFormat format) {
  return format == base::CopyFormat::hdf5 ? "hdf5" : format == base::CopyFormat::vtkhdf ? "vtkhdf" : "netcdf";
}

const char* extension_of(base::CopyFormat format) {
  return format == base::CopyFormat::hdf5 ? ".h5" : format == base::CopyFormat::vtkhdf ? ".vtkhdf" : ".nc";
}

// Of several results of one name the second is called _2.
void make_unlike(Copy& copy, const std::vector<Copy>& others) {
  const std::string suffix = copy.suffix;
  const auto is_taken = [&](const Copy& other) { return other.suffix == copy.suffix && other.format == copy.format; };
  for (int number = 2; std::any_of(others.begin(), others.end(), is_taken); ++number) copy.suffix = fmt::format("{}_{}", suffix, number);
}

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
  if (!suffix.empty()) name += "_" + suffix;
  else if (!variables.empty()) name += "_plot";
  return final_path.substr(0, name_begin) + name + extension_of(format);
}

Copies Copies::of(const base::CopySettings& settings, const std::vector<base::AnalysisTable>& analyses) {
  Copies copies;
  if (!settings.any() && analyses.empty()) return copies;
  copies.semantics = settings.semantics;
  copies.instead = settings.format.has_value();
  if (settings.format) copies.each.push_back({*settings.format, {}, {}, {}});
  for (const base::CopyFormat format : settings.also) {
    if (format != settings.format) copies.each.push_back({format, {}, {}, {}});
  }
  if (!settings.plot_variables.empty()) copies.each.push_back({base::CopyFormat::hdf5, settings.plot_variables, {}, {}});
  for (const base::AnalysisTable& table : analyses) {
    Copy copy{table.format, table.variables, table.suffix, table.run};
    make_unlike(copy, copies.each);
    copies.each.push_back(std::move(copy));
  }
  return copies;
}

std::vector<std::string> Copies::words(const Copy& copy, const std::string& source, const std::string& path) const {
  std::vector<std::string> words = {"glean", "convert", "--to", name_of(copy.format), "--semantics", name_of(semantics)};
  if (!copy.variables.empty()) {
    if (copy.suffix.empty()) words.emplace_back("--single");
    words.insert(words.end(), {"--variables", fmt::format("{}", fmt::join(copy.variables, ","))});
  }
  for (const std::string& how : copy.operators) words.insert(words.end(), {"--run", how});
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
    out.text(copy.suffix);
    out.number(copy.operators.size());
    for (const std::string& how : copy.operators) out.text(how);
  }
}

Copies Copies::decode(base::Decoder& in) {
  Copies copies;
  copies.semantics = in.choice<base::Semantics>(3, "semantics");
  copies.instead = in.choice<std::uint8_t>(2, "place of a copy") == 1;
  copies.each.resize(in.count(1 + 8 + 8 + 8, "copies"));
  for (Copy& copy : copies.each) {
    copy.format = in.choice<base::CopyFormat>(3, "format of a copy");
    copy.variables.resize(in.count(8, "variables of a copy"));
    for (std::string& name : copy.variables) name = in.text();
    copy.suffix = in.text();
    copy.operators.resize(in.count(8, "operators of a copy"));
    for (std::string& how : copy.operators) how = in.text();
  }
  return copies;
}

}  // namespace glean::store
