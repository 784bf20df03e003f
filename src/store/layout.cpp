// SPDX-License-Identifier: BSD-3-Clause
#include "store/layout.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace glean::store {

namespace {

// "GLEANFL" and the version of what follows, all numbers little-endian.
constexpr std::array<char, 7> magic = {'G', 'L', 'E', 'A', 'N', 'F', 'L'};
constexpr std::uint8_t version = 1;
constexpr Bytes file_limit = std::numeric_limits<std::int64_t>::max();

class Encoder {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  void text(const std::string& value) {
    number(value.size());
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

[[noreturn]] void reject(const std::string& why) {
  throw base::Error(base::Errc::io, "the description of a file's layout is damaged: " + why);
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] std::uint8_t byte() {
    if (rest_.empty()) reject("it ends too early");
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8) value |= static_cast<std::uint64_t>(byte()) << shift;
    return value;
  }
  // A number of things that take at least `bytes_each` each, so that memory is never asked for in vain.
  [[nodiscard]] std::size_t count(std::size_t bytes_each, const char* of) {
    const std::uint64_t value = number();
    if (value > rest_.size() / bytes_each) reject(std::string("more ") + of + " than there can be");
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] std::string text() {
    std::string value(count(1, "characters"), '\0');
    for (char& c : value) c = static_cast<char>(byte());
    return value;
  }
  template <class Enum>
  [[nodiscard]] Enum choice(int choices, const char* what) {
    const std::uint8_t value = byte();
    if (value >= choices) reject(std::string("no such ") + what);
    return static_cast<Enum>(value);
  }
  [[nodiscard]] bool finished() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

void encode_variable(Encoder& out, const VariableLayout& variable) {
  out.text(variable.name);
  out.byte(static_cast<std::uint8_t>(variable.external));
  out.number(variable.shape.size());
  for (const std::uint64_t extent : variable.shape) out.number(extent);
  out.number(variable.begin_bytes);
  out.number(variable.record_stride_bytes);
  out.byte(variable.fill ? 1 : 0);
  for (const std::byte b : variable.fill_value) out.byte(static_cast<std::uint8_t>(b));
}

// The offset arithmetic of VariableLayout must not overflow, whatever the bytes say.
void check_sizes(const VariableLayout& variable) {
  constexpr auto limit = file_limit;
  std::uint64_t bytes = mesh::size_of(variable.external);
  for (const std::uint64_t extent : variable.shape) {
    if (extent != 0 && bytes > limit / extent) reject("variable '" + variable.name + "' is larger than any file");
    bytes *= extent;
  }
  if (variable.begin_bytes > limit - bytes) reject("variable '" + variable.name + "' lies outside any file");
  if (variable.record_stride_bytes > limit) reject("the records of '" + variable.name + "' lie outside any file");
}

VariableLayout decode_variable(Decoder& in) {
  VariableLayout variable;
  variable.name = in.text();
  variable.external = in.choice<mesh::Type>(mesh::type_count, "type");
  variable.shape.resize(in.count(8, "dimensions"));
  for (std::uint64_t& extent : variable.shape) extent = in.number();
  variable.begin_bytes = in.number();
  variable.record_stride_bytes = in.number();
  variable.fill = in.choice<std::uint8_t>(2, "fill mode") == 1;
  for (std::byte& b : variable.fill_value) b = static_cast<std::byte>(in.byte());
  check_sizes(variable);
  return variable;
}

}  // namespace

std::vector<std::byte> FileLayout::encode() const {
  Encoder out;
  for (const char c : magic) out.byte(static_cast<std::uint8_t>(c));
  out.byte(version);
  out.byte(static_cast<std::uint8_t>(format));
  out.byte(static_cast<std::uint8_t>(range));
  out.number(header_bytes);
  out.number(variables.size());
  for (const VariableLayout& variable : variables) encode_variable(out, variable);
  return out.take();
}

FileLayout FileLayout::decode(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  for (const char c : magic) {
    if (in.byte() != static_cast<std::uint8_t>(c)) reject("it does not begin like one");
  }
  if (const int found = in.byte(); found != version) reject("its version is " + std::to_string(found));
  FileLayout layout;
  layout.format = in.choice<Format>(3, "format");
  layout.range = in.choice<base::RangeRule>(2, "range rule");
  layout.header_bytes = in.number();
  if (layout.header_bytes > file_limit) reject("the header is larger than any file");
  constexpr std::size_t smallest_variable = 8 + 1 + 8 + 8 + 8 + 1 + 8;
  layout.variables.resize(in.count(smallest_variable, "variables"));
  for (VariableLayout& variable : layout.variables) variable = decode_variable(in);
  if (!in.finished()) reject("something follows its end");
  return layout;
}

bool VariableLayout::has_room_for(std::uint64_t record) const {
  return !per_step() || record <= (file_limit - begin_bytes - record_bytes()) / record_stride_bytes;
}

Bytes final_size(const FileLayout& layout, std::uint64_t records, Bytes put_end_bytes) {
  Bytes end = std::max(layout.header_bytes, put_end_bytes);
  for (const VariableLayout& variable : layout.variables) {
    const std::uint64_t filled = !variable.fill ? 0 : variable.per_step() ? records : 1;
    if (filled == 0 || variable.record_bytes() == 0) continue;
    if (!variable.has_room_for(filled - 1)) return file_limit;
    end = std::max(end, variable.record_begin_bytes(filled - 1) + variable.record_bytes());
  }
  return end;
}

Bytes whole_size(FileLayout layout, std::uint64_t records) {
  for (VariableLayout& variable : layout.variables) variable.fill = true;
  return final_size(layout, records, 0);
}

HeaderPatch record_count_patch(Format format, std::uint64_t records) {
  HeaderPatch patch;
  patch.size = format == Format::cdf5 ? 8 : 4;
  for (std::size_t i = 0; i < patch.size; ++i) {
    patch.bytes[i] = static_cast<std::byte>(records >> (8 * (patch.size - 1 - i)));
  }
  return patch;
}

}  // namespace glean::store
