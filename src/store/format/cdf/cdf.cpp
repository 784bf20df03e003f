// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/cdf.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/format/cdf/name.hpp"

namespace glean::store {
namespace {

constexpr std::string_view version_names[] = {"cdf1", "cdf2", "cdf5"};
constexpr std::string_view version_magics[] = {"CDF\1", "CDF\2", "CDF\5"};
constexpr Bytes records_offset = 4;

// PnetCDF never pads: not after the last record, not after a variable that was put in part (measured with 1.12.3; ../README.md).
Bytes cdf_size(const FileLayout& layout, const Written& written) {
  Bytes end = std::max(layout.header_bytes, written.highest_end);
  for (const VariableLayout& variable : layout.variables) {
    const std::uint64_t filled = !variable.fill ? 0 : variable.per_step() ? written.records : 1;
    if (filled == 0 || variable.record_bytes() == 0) continue;
    if (!variable.has_room_for(filled - 1)) return base::largest_offset;
    end = std::max(end, variable.record_begin_bytes(filled - 1) + variable.record_bytes());
  }
  return end;
}

class CdfFormat final : public Format {
 public:
  CdfFormat(CdfVersion version, MakeCdfImage make) : version_(version), make_(std::move(make)) {}

  [[nodiscard]] std::string_view name() const override { return name_of(version_); }
  [[nodiscard]] std::string flaw_of_name(std::string_view name) const override { return flaw_of_cdf_name(name); }

  [[nodiscard]] FileImage image(const mesh::Definitions& definitions, base::RangeRule range) const override {
    if (!make_) throw base::Error(base::Errc::unsupported, "this process cannot make NetCDF headers: it is without PnetCDF");
    return make_(version_, definitions, range);
  }

  [[nodiscard]] Finished finish(const FileImage& image, const Written& written) const override {
    Finished finished{{}, std::max(written.earlier.bytes, cdf_size(image.layout, written))};
    const std::uint64_t records = written.earlier.records + written.records;
    Patch& patch = finished.patches.emplace_back(Patch{records_offset, std::vector<std::byte>(records_bytes())});
    for (std::size_t i = 0; i < patch.bytes.size(); ++i) {
      patch.bytes[i] = static_cast<std::byte>(records >> (8 * (patch.bytes.size() - 1 - i)));
    }
    return finished;
  }

  [[nodiscard]] std::optional<std::uint64_t> take_records(const FileLayout&, std::span<std::byte> header) const override {
    const auto magic = std::as_bytes(std::span(version_magics[static_cast<std::size_t>(version_)]));
    if (header.size() < records_offset + 8 || !std::equal(magic.begin(), magic.end(), header.begin())) return std::nullopt;
    std::uint64_t records = 0;
    for (std::byte& each : header.subspan(records_offset, records_bytes())) {
      records = records << 8 | std::to_integer<std::uint64_t>(std::exchange(each, std::byte{0}));
    }
    return records;
  }

 private:
  [[nodiscard]] std::size_t records_bytes() const { return version_ == CdfVersion::cdf5 ? 8 : 4; }

  CdfVersion version_;
  MakeCdfImage make_;
};

}  // namespace

std::string_view name_of(CdfVersion version) { return version_names[static_cast<std::size_t>(version)]; }

Stored stored_in(CdfVersion version) { return {ByteOrder::big, version != CdfVersion::cdf5}; }

std::unique_ptr<const Format> make_cdf_format(CdfVersion version, MakeCdfImage make) {
  return std::make_unique<CdfFormat>(version, std::move(make));
}

}  // namespace glean::store
