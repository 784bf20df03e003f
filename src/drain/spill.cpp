// SPDX-License-Identifier: BSD-3-Clause
#include "drain/spill.hpp"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"

namespace glean::drain {

using pool::SpillBlock;

DamagedSpill lost_payload(const DamagedSpill& error, const std::string& variable, const std::string& path, std::uint64_t step) {
  return {error.code(), "'" + variable + "' of '" + path + "' in step " + std::to_string(step) + " is lost: " + error.what()};
}

SpillFiles::SpillFiles(pool::Pool& pool, store::SystemCalls& calls)
    : pool_(pool), calls_(calls), descriptors_(pool.header().journals, -1) {}

SpillFiles::~SpillFiles() {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) calls_.close(descriptor);
  }
}

int SpillFiles::descriptor(int rank) {
  const std::lock_guard lock(mutex_);
  int& descriptor = descriptors_[static_cast<std::size_t>(rank)];
  if (descriptor >= 0) return descriptor;
  const std::string path = pool::spill_path(pool_, rank);
  if (path.empty()) throw DamagedSpill(base::Errc::io, "a record says that it was spilled, but its pool spills nothing");
  const int opened = calls_.open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (opened < 0) throw base::system_error(-opened, "cannot open the spill file '" + path + "'");
  posix_fadvise(opened, 0, 0, POSIX_FADV_RANDOM);   // what lies behind is still being written
  return descriptor = opened;
}

const std::byte* SpillFiles::read(const pool::Record& record, int rank, std::vector<std::byte>& buffer) {
  const std::string where = "the spill file '" + pool::spill_path(pool_, rank) + "' at byte " +
                            std::to_string(record.payload_offset);
  const auto refuse = [&](const char* why) { throw DamagedSpill(base::Errc::io, where + " is damaged: " + why); };
  const Bytes bytes = sizeof(SpillBlock) + record.payload_bytes;
  if (record.payload_bytes > pool_.header().chunk_bytes) refuse("no block is so large");
  const int descriptor = this->descriptor(rank);
  if (buffer.size() < bytes) buffer.resize(sizeof(SpillBlock) + pool_.header().chunk_bytes);
  for (Bytes done = 0; done < bytes;) {
    const ssize_t result =
        calls_.pread(descriptor, buffer.data() + done, bytes - done, static_cast<off_t>(record.payload_offset + done));
    if (result == 0) refuse("it ends there");
    if (result < 0 && result != -EINTR) throw base::system_error(static_cast<int>(-result), "cannot read " + where);
    done += static_cast<Bytes>(std::max<ssize_t>(result, 0));
  }
  SpillBlock block{};
  std::memcpy(&block, buffer.data(), sizeof block);
  if (block.magic != pool::spill_block_magic || block.checksum != pool::checksum_of(block)) refuse("there is no block");
  if (block.payload_bytes != record.payload_bytes || block.slot != record.slot || block.generation != record.generation ||
      block.step != record.step || block.first_element != record.first_element || block.variable != record.variable ||
      block.rank != static_cast<std::uint32_t>(rank)) {
    refuse("the block is of another put");
  }
  const std::byte* payload = buffer.data() + sizeof block;
  if (XXH3_64bits(payload, block.payload_bytes) != block.payload_checksum) refuse("its checksum differs");
  return payload;
}

void SpillFiles::release(int rank, Bytes offset, Bytes payload_bytes) {
  const Bytes bytes = pool::spill_bytes(payload_bytes);
  int result = 0;
  try {
    result = calls_.punch_hole(descriptor(rank), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } catch (const base::Error&) {
    result = -ENOENT;   // it takes no room any more
  }
  // Room that the storage keeps stays in the budget: it bounds what is there, not what is needed.
  if (result == 0 || result == -ENOENT) return pool::return_spill_budget(pool_.header(), bytes);
  if (std::exchange(has_warned_, true)) return;
  base::log(base::LogLevel::warning, "room in '{}' comes back only when the session ends: {}", pool::spill_path(pool_, rank),
            base::system_error(-result, "cannot punch holes").what());
}

void SpillFiles::give_payload_back(const pool::Record& record, pool::JournalReader& journal) {
  const bool spilled = record.place == pool::PayloadPlace::spill && record.state == pool::RecordState::live;
  journal.give_payload_back(record);
  // After the record: killed in between, the room is lost, but nothing is read that is not there.
  if (spilled) release(journal.rank(), record.payload_offset, record.payload_bytes);
}

void SpillFiles::retire(const pool::Record& record, pool::JournalReader& journal) {
  const bool spilled = record.place == pool::PayloadPlace::spill && record.state == pool::RecordState::live;
  const Bytes offset = record.payload_offset, bytes = record.payload_bytes;
  journal.retire(record);
  if (spilled) release(journal.rank(), offset, bytes);
}

}  // namespace glean::drain
