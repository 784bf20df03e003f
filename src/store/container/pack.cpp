// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/pack.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "store/container/container_writer.hpp"
#include "store/posix/file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {
namespace {

// New, under its working name, which goes unless the file is published.
class NewPhysicalFile {
 public:
  NewPhysicalFile(SystemCalls& calls, const std::string& path) : calls_(calls) {
    names_ = choose_names(path, base::Publish::rename, false, fmt::format("{}-{}", getpid(), base::now_ns()));
    const int descriptor = calls.open(names_.working_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw base::system_error(-descriptor, fmt::format("cannot create '{}'", path));
    calls.close(descriptor);
    try {
      hand_on_permissions(names_);
      file_ = std::make_unique<File>(calls, names_, base::DirectIo::off);
    } catch (...) {
      calls.unlink(names_.working_path.c_str());
      throw;
    }
  }
  ~NewPhysicalFile() {
    if (!is_published_) calls_.unlink(names_.working_path.c_str());
  }
  NewPhysicalFile(const NewPhysicalFile&) = delete;
  NewPhysicalFile& operator=(const NewPhysicalFile&) = delete;

  [[nodiscard]] File& file() { return *file_; }
  void publish() {
    remove_sidecar(calls_, names_.final_path);   // of the file that is replaced
    file_->publish();
    is_published_ = true;
  }

 private:
  SystemCalls& calls_;
  FileNames names_;
  std::unique_ptr<File> file_;
  bool is_published_ = false;
};

void check_sources(const std::vector<PackSource>& sources, const PackOptions& options) {
  std::vector<std::string> wrong;
  constexpr Bytes largest_block = base::GiB;
  if (sources.empty()) wrong.emplace_back("there are no files to pack");
  if (options.block_bytes == 0 || options.block_bytes > largest_block) wrong.emplace_back("a block has from 1 byte to 1 GiB");
  if (options.files == 0 || options.files > std::max<std::size_t>(1, sources.size())) {
    wrong.push_back(fmt::format("{} files cannot be packed into {}", sources.size(), options.files));
  }
  if (options.chunk_bytes && (*options.chunk_bytes == 0 || *options.chunk_bytes > 1024 * base::GiB)) {
    wrong.emplace_back("a chunk has from 1 byte to 1 TiB");
  }
  std::set<std::string> names;
  for (const PackSource& source : sources) {
    if (!is_safe_name(source.name)) wrong.push_back(fmt::format("'{}' cannot be a name in a container", source.name));
    else if (!names.insert(source.name).second) wrong.push_back(fmt::format("'{}' is given twice", source.name));
  }
  if (wrong.empty()) return;
  constexpr std::size_t shown = 20;
  std::string all;
  for (std::size_t i = 0; i < std::min(wrong.size(), shown); ++i) all += (i == 0 ? "" : "; ") + wrong[i];
  if (wrong.size() > shown) all += fmt::format("; and {} more", wrong.size() - shown);
  throw base::Error(base::Errc::invalid_argument, all, "names are relative and lead nowhere else: give the directory of the files with -C");
}

// From which source on each physical file has them, of about the same length; and the end.
std::vector<std::size_t> cut(const std::vector<Bytes>& sizes, std::uint32_t files) {
  Bytes all = 0;
  for (const Bytes each : sizes) all += each + 1;   // files without bytes are shared out too
  std::vector<std::size_t> begins{0};
  Bytes before = 0;
  for (std::size_t i = 0; i < sizes.size() && begins.size() < files; ++i) {
    before += sizes[i] + 1;
    const std::size_t sources_left = sizes.size() - (i + 1), files_left = files - begins.size();
    const bool has_its_part = static_cast<double>(before) >= static_cast<double>(all) / files * static_cast<double>(begins.size());
    if (has_its_part || sources_left == files_left) begins.push_back(i + 1);
  }
  begins.push_back(sizes.size());
  return begins;
}

// A file as TaskReader reads a task.
class FileReader {
 public:
  FileReader(SystemCalls& calls, const std::string& path) : input_(calls, path) {}
  [[nodiscard]] std::size_t read(std::span<std::byte> into, Bytes position) const { return input_.read(into, position); }
  [[nodiscard]] bool is_hole(Bytes position, Bytes bytes) const { return input_.is_hole({position, position + bytes}); }

 private:
  InputFile input_;
};

class Packing {
 public:
  Packing(SystemCalls& calls, const std::vector<PackSource>& sources, const PackOptions& options, const Progress& progress)
      : calls_(calls), sources_(sources), options_(options), progress_(progress), buffer_(container_piece_bytes) {
    for (const PackSource& source : sources) {
      sizes_.push_back(source.container != nullptr ? source.file.bytes : InputFile(calls, source.path).bytes());
    }
    begins_ = cut(sizes_, options.files);
  }

  Packed pack(const std::string& path) {
    std::vector<std::unique_ptr<NewPhysicalFile>> files;
    for (std::uint32_t file = 0; file < options_.files; ++file) {
      files.push_back(std::make_unique<NewPhysicalFile>(calls_, physical_path(path, file)));
      write(file, path, files.back()->file());
    }
    for (const auto& file : files) file->file().synchronize();
    for (auto file = files.rbegin(); file != files.rend(); ++file) (*file)->publish();
    packed_.tasks = sources_.size();
    return packed_;
  }

 private:
  void write(std::uint32_t file, const std::string& path, File& into) {
    ContainerHeader header;
    header.block_bytes = options_.block_bytes;
    header.files = options_.files;
    header.file = file;
    header.id = options_.id;
    header.prefix = path.substr(0, container_prefix_most);
    for (std::size_t i = begins_[file]; i < begins_[file + 1]; ++i) {
      header.global_ranks.push_back(i);
      header.chunk_bytes.push_back(chunk_bytes_for(options_.chunk_bytes.value_or(sizes_[i]), options_.block_bytes));
    }
    ContainerWriter writer(into, header);
    std::vector<LogicalFile> names;
    for (std::size_t i = begins_[file]; i < begins_[file + 1]; ++i) {
      names.push_back({sources_[i].name, i, 0, copy(i, writer, i - begins_[file])});
    }
    packed_.file_bytes += writer.finish(names, file == 0 ? mapping() : std::vector<TaskPlace>());
  }

  // Returns how many bytes there were.
  Bytes copy(std::size_t source, ContainerWriter& writer, std::size_t task) {
    if (const PackSource& from = sources_[source]; from.container != nullptr) {
      const TaskReader reader = from.container->reader(from.container->task(from.file.rank));
      return copy_from(reader, from.file.bytes, from.file.begin, writer, task);
    }
    const FileReader reader(calls_, sources_[source].path);
    return copy_from(reader, sizes_[source], 0, writer, task);
  }

  // A file may have got longer meanwhile.
  template <class Reader>
  Bytes copy_from(const Reader& input, Bytes bytes, Bytes begin, ContainerWriter& writer, std::size_t task) {
    Bytes done = 0;
    for (std::size_t there = 0;; done += there) {
      const Bytes rest = std::min<Bytes>(bytes - std::min(bytes, done), container_piece_bytes);
      const bool is_hole = rest > 0 && input.is_hole(begin + done, rest);
      there = is_hole ? static_cast<std::size_t>(rest) : input.read(part_for(input, rest), begin + done);
      if (there == 0) break;
      if (is_hole) writer.append_zeros(task, there);
      else writer.append(task, std::span(buffer_).first(there));
      packed_.bytes += there;
      progress_(packed_.bytes);
    }
    writer.close_task(task);
    return done;
  }

  // The next file of a container follows a part of it.
  [[nodiscard]] std::span<std::byte> part_for(const TaskReader&, Bytes rest) {
    return std::span(buffer_).first(static_cast<std::size_t>(rest));
  }
  [[nodiscard]] std::span<std::byte> part_for(const FileReader&, Bytes) { return buffer_; }

  // As SIONlib has it: in file 0 of several.
  [[nodiscard]] std::vector<TaskPlace> mapping() const {
    std::vector<TaskPlace> places;
    if (options_.files == 1) return places;
    for (std::uint32_t file = 0; file < options_.files; ++file) {
      for (std::size_t i = begins_[file]; i < begins_[file + 1]; ++i) {
        places.push_back({file, static_cast<std::uint32_t>(i - begins_[file])});
      }
    }
    return places;
  }

  SystemCalls& calls_;
  const std::vector<PackSource>& sources_;
  const PackOptions& options_;
  const Progress& progress_;
  std::vector<std::byte> buffer_;
  std::vector<Bytes> sizes_;
  std::vector<std::size_t> begins_;
  Packed packed_;
};

}  // namespace

bool is_safe_name(const std::string& name) {
  if (name.empty() || name.size() > 4095 || name.front() == '/' || name.back() == '/' || name.find('\0') != std::string::npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Packed pack(SystemCalls& calls, const std::string& path, const std::vector<PackSource>& sources, const PackOptions& options,
            const Progress& progress) {
  check_sources(sources, options);
  return Packing(calls, sources, options, progress).pack(path);
}

}  // namespace glean::store
