// SPDX-License-Identifier: BSD-3-Clause
#include "session/task_file.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/encoding.hpp"
#include "session/agreement.hpp"
#include "session/messages.hpp"
#include "session/translated.hpp"
#include "store/container/pack.hpp"

namespace glean {

namespace {

template <class Impl, class Call>
auto task_call(Impl* impl, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this task of a container was moved from");
  return session::translated([&] {
    const session::Blocked blocked(impl->core());
    return call(*impl);
  });
}

store::TaskChunks chunks_of(const TaskFile::Impl::Layout& layout) {
  const store::ContainerHeader& header = layout.headers[layout.place.file];
  store::TaskChunks mine{store::container_data_begin(header.tasks(), header.block_bytes), header.chunk_bytes[layout.place.local],
                         header.stride(), header.trailer_bytes()};
  for (std::size_t before = 0; before < layout.place.local; ++before) mine.begin += header.chunk_bytes[before];
  return mine;
}

std::uint64_t rank_of(const TaskFile::Impl::Layout& layout) {
  return layout.headers[layout.place.file].global_ranks[layout.place.local];
}

void check_name(std::string_view name) {
  if (store::is_safe_name(std::string(name))) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' cannot be the name of a logical file", name),
                    "names are relative, without \"..\" and empty parts, of 4095 bytes at most");
}

// What of one rank gets into the index.
struct UsedByRank {
  std::vector<store::Bytes> chunks;
  std::vector<store::LogicalFile> names;
};

UsedByRank decode_used(std::span<const std::byte> bytes, std::uint64_t rank) {
  base::Decoder in(bytes, "what a rank has used of the container");
  UsedByRank used;
  used.chunks.resize(in.count(8, "chunks"));
  for (store::Bytes& each : used.chunks) each = in.number();
  used.names.resize(in.count(8, "names"));
  for (store::LogicalFile& file : used.names) {
    file.begin = in.number();
    file.bytes = in.number();
    file.name = in.text();
    file.rank = rank;
  }
  return used;
}

// Ranks know only their own.
void check_names(const std::vector<UsedByRank>& used) {
  std::map<std::string_view, std::uint64_t> known;
  for (const UsedByRank& rank : used) {
    for (const store::LogicalFile& file : rank.names) {
      const auto [other, is_new] = known.emplace(file.name, file.rank);
      if (is_new) continue;
      throw base::Error(base::Errc::invalid_argument,
                        fmt::format("ranks {} and {} have both written a file '{}'", other->second, file.rank, file.name),
                        "each logical file of a container has a name of its own: put the rank into it");
    }
  }
}

}  // namespace

TaskFile::Impl::Impl(std::shared_ptr<session::Core> core, std::shared_ptr<session::ContainerFiles> files, Layout layout,
                     const std::string& name)
    : core_(std::move(core)), files_(std::move(files)), layout_(std::move(layout)), rank_(rank_of(layout_)),
      writer_(chunks_of(layout_), *layout_.headers.front().id, rank_),
      write_([this](std::span<const std::byte> bytes, store::Bytes offset) { files_->append(bytes, offset); }) {
  if (core_->is_root()) write_header();
  else layout_.headers = {};   // as many numbers as there are ranks
  if (!name.empty()) begin_file(name);
}

// An exception of the program takes it along, and then the others wait no longer than until this rank has left the session.
TaskFile::Impl::~Impl() {
  if (!closed_) files_->abandon();
}

void TaskFile::Impl::require_open(const char* call) const {
  if (closed_) throw base::Error(base::Errc::invalid_state, fmt::format("{} of '{}', which is closed", call, layout_.path));
  if (files_->are_open()) return;
  throw base::Error(base::Errc::invalid_state, fmt::format("{} of '{}': the session is closed", call, layout_.path));
}

// As that of a container that was cut off, so that it can be read by the trailers of its chunks.
void TaskFile::Impl::write_header() {
  for (const store::ContainerHeader& header : layout_.headers) files_->write(header.file, encode_container_header(header), 0);
}

template <class Action>
void TaskFile::Impl::poisoning(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    fail(error);
    throw;
  }
}

void TaskFile::Impl::end_file() {
  if (has_file_) names_.back().bytes = writer_.bytes() - names_.back().begin;
  has_file_ = false;
}

void TaskFile::Impl::fail(const base::Error& error) {
  if (!failure_) failure_ = error;
}

void TaskFile::Impl::begin_file(std::string_view name) {
  require_open("begin_file");
  poisoning([&] {
    check_name(name);
    if (known_names_.emplace(name).second) return;
    throw base::Error(base::Errc::invalid_argument, fmt::format("this rank has written a file '{}' before", name));
  });
  end_file();
  names_.push_back({std::string(name), rank_, writer_.bytes(), 0});
  has_file_ = true;
}

void TaskFile::Impl::write(std::span<const std::byte> bytes) {
  require_open("write");
  poisoning([&] { writer_.append(bytes, write_); });
}

void TaskFile::Impl::ensure_free_space(std::uint64_t bytes) {
  require_open("ensure_free_space");
  writer_.ensure_free_space(bytes);
}

void TaskFile::Impl::wait(Level level) {
  core_->require_usable("wait");
  const session::InCall in_call(core_->collective(), session::Call::wait, layout_.path);
  const auto failed = session::caught([&] {
    if (failure_) throw base::Error(*failure_);
    if (closed_) return level == Level::durable ? files_->wait_until_published() : void();
    require_open("wait");
    poisoning([&] { files_->wait(level); });
  });
  session::agree(core_->comm(), failed);
}

std::vector<std::byte> TaskFile::Impl::encode_used() const {
  base::Encoder out;
  const std::vector<store::Bytes> used = writer_.used();
  out.number(used.size());
  for (const store::Bytes each : used) out.number(each);
  out.number(names_.size());
  for (const store::LogicalFile& file : names_) {
    out.number(file.begin);
    out.number(file.bytes);
    out.text(file.name);
  }
  return out.take();
}

void TaskFile::Impl::write_ends(const std::vector<std::vector<std::byte>>& of_ranks) {
  std::vector<UsedByRank> used;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) used.push_back(decode_used(of_ranks[rank], rank));
  check_names(used);
  for (const store::ContainerHeader& header : layout_.headers) {
    std::vector<std::vector<store::Bytes>> chunks;
    std::vector<store::LogicalFile> names;
    for (const std::uint64_t rank : header.global_ranks) {
      chunks.push_back(std::move(used[rank].chunks));
      names.insert(names.end(), used[rank].names.begin(), used[rank].names.end());
    }
    store::check_index_length(chunks);
    store::ContainerIndex index = store::make_container_index(chunks);
    if (header.file == 0) index.mapping = store::mapping_of(layout_.headers);
    const store::ContainerEnds ends = close_container(header, index, names);
    files_->write(header.file, ends.end, ends.end_offset);
    files_->write(header.file, ends.begin, 0);
  }
}

void TaskFile::Impl::close() {
  if (closed_) return;
  core_->require_usable("close");
  close_together();
  if (layout_.closes_durable) wait(Level::durable);
}

void TaskFile::Impl::close_together() {
  session::InCall in_call(core_->collective(), session::Call::close_output, layout_.path);
  std::vector<std::byte> mine;
  std::optional<base::Error> failed = session::caught([&] {
    if (failure_) throw base::Error(*failure_);
    require_open("close");
    end_file();
    writer_.close(write_);
    files_->write_collected();
    files_->check();
    mine = encode_used();
  });
  closed_ = true;
  failed = session::caught([&] {
    session::agree(core_->comm(), failed);
    const auto all = session::gather_messages(core_->comm(), mine);
    in_call.set_busy(core_->is_root());
    std::optional<base::Error> of_root;
    if (core_->is_root()) of_root = session::caught([&] { write_ends(all); });
    in_call.set_busy(false);
    session::agree(core_->comm(), of_root);
    files_->close();
  });
  if (!failed) return;
  fail(*failed);   // wait() says so, too
  files_->abandon();
  throw base::Error(*failed);
}

// --- the public class

TaskFile::TaskFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TaskFile::TaskFile(TaskFile&&) noexcept = default;
TaskFile& TaskFile::operator=(TaskFile&&) noexcept = default;
TaskFile::~TaskFile() = default;

void TaskFile::begin_file(std::string_view name) {
  task_call(impl_.get(), [&](Impl& impl) { impl.begin_file(name); });
}

void TaskFile::write_bytes(const void* data, std::size_t bytes) {
  task_call(impl_.get(), [&](Impl& impl) { impl.write({static_cast<const std::byte*>(data), bytes}); });
}

void TaskFile::fail(const Error& error) {
  const std::string what = error.what();   // with the hint
  task_call(impl_.get(), [&](Impl& impl) { impl.fail(base::Error(static_cast<base::Errc>(error.code()), what)); });
}

void TaskFile::ensure_free_space(std::uint64_t bytes) {
  task_call(impl_.get(), [&](Impl& impl) { impl.ensure_free_space(bytes); });
}

std::uint64_t TaskFile::bytes_avail_in_block() const {
  return task_call(impl_.get(), [](Impl& impl) { return impl.free_in_chunk(); });
}

std::uint64_t TaskFile::position() const {
  return task_call(impl_.get(), [](Impl& impl) { return impl.position(); });
}

void TaskFile::wait(Level level) {
  task_call(impl_.get(), [&](Impl& impl) { impl.wait(level); });
}

void TaskFile::close() {
  task_call(impl_.get(), [](Impl& impl) { impl.close(); });
}

void TaskFile::close(Level level) {
  close();
  wait(level);
}

}  // namespace glean
