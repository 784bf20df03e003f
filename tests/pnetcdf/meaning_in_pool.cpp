// SPDX-License-Identifier: BSD-3-Clause
//
// Looks into the pool of a running job: says of each put that is in it which box of which variable it is, as far as the pool says so, and
// how many of its values are those that pnetcdf_meaning puts.
//
//   pnetcdf_meaning_in_pool PROCESS, of rank 0
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "pool/description.hpp"
#include "pool/journal.hpp"
#include "store/meaning.hpp"

namespace {

using namespace glean;   // NOLINT: a program of one file

template <class Bits, class Number>
double big_endian(const std::byte* bytes) {
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) bits = static_cast<Bits>(bits << 8) | std::to_integer<Bits>(bytes[i]);
  return static_cast<double>(std::bit_cast<Number>(bits));
}

void say(const pool::Pool& pool, const pool::Record& record, const store::Meaning& meaning) {
  const auto name = store::Meaning::Name::of(record.variable);
  if (!name || name->count != meaning.count) return static_cast<void>(std::printf("bytes\n"));
  const store::VariableLayout& variable = meaning.layout.variables.at(name->variable);
  const auto pattern = mesh::Pattern::decode({record.box(), 2 * std::size_t{record.dimensions}});
  const auto put = pattern ? store::box_of(variable, *pattern) : std::nullopt;
  if (!put) return static_cast<void>(std::printf("%s no box\n", variable.name.c_str()));
  const Bytes element = mesh::size_of(variable.external);
  std::uint64_t right = 0;
  for (std::uint64_t i = 0; i < record.elements / element; ++i) {   // the payload is the whole put: it is small
    const std::byte* const at = pool.at(record.payload_offset) + i * element;
    const double value = element == 8 ? big_endian<std::uint64_t, double>(at) : big_endian<std::uint32_t, float>(at);
    const std::uint64_t y = put->box.start[0] + i / put->box.count[1], x = put->box.start[1] + i % put->box.count[1];
    right += value == static_cast<double>(10000 * name->variable + 1000 * put->first_record + y * variable.shape[1] + x) ? 1 : 0;
  }
  std::printf("%s %llu %s %llu right\n", variable.name.c_str(), static_cast<unsigned long long>(put->first_record),
              mesh::to_string(put->box).c_str(), static_cast<unsigned long long>(right));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string begin = "glean." + std::to_string(getuid()) + "." + (argc > 1 ? argv[1] : "") + ".";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (!entry.path().filename().string().starts_with(begin)) continue;
    pool::Pool pool = pool::Pool::attach("/" + entry.path().filename().string(), pool::Pool::Access::look);
    for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
      const pool::OutputSlot& slot = pool.slot(index);
      if (slot.state.load() != pool::OutputState::open) continue;
      const auto meaning = store::Meaning::decode(pool::read_meaning(pool, {index, slot.generation.load()}).bytes);
      for (const auto& attribute : meaning.definitions.attributes) {
        std::printf("attribute %s of %s\n", attribute.name.c_str(),
                    meaning.definitions.variables.at(static_cast<std::size_t>(attribute.variable)).name.c_str());
      }
      for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
        pool::JournalReader journal(pool, rank, pool::JournalReader::Purpose::look);
        for (; const pool::Record* record = journal.peek(); journal.advance()) {
          if (record->slot == index && record->state == pool::RecordState::live) say(pool, *record, meaning);
        }
      }
    }
  }
}
