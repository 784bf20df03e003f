// SPDX-License-Identifier: BSD-3-Clause
//
// What was found out of an output, step by step: on one node, joined with what others have found, and as tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/histogram.hpp"
#include "analysis/request.hpp"
#include "analysis/statistics.hpp"
#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "mesh/type.hpp"

namespace glean::analysis {

// Elements of a box of a variable that follow each other, in row-major order of the box.
struct Piece {
  const mesh::Shape& shape;      // of the variable
  const mesh::Box& box;
  std::uint64_t first = 0;       // which element of the box is the first one
  mesh::Type type = mesh::Type::float64;
  bool is_big_endian = false;
  std::span<const std::byte> bytes{};
};

class VariableResult {
 public:
  explicit VariableResult(const Request& request);

  void add(const Piece& piece);
  void merge(const VariableResult& other);
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  [[nodiscard]] const std::optional<Histogram>& histogram() const { return histogram_; }

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static VariableResult decode(base::Decoder& in);
  friend bool operator==(const VariableResult&, const VariableResult&) = default;

 private:
  VariableResult() = default;
  // Some that are not finite are among them. Returns those that are, in `finite`.
  std::span<const double> sort_out(std::span<const double> values, const Piece& piece, std::uint64_t first, std::span<double> finite);

  Statistics statistics_;
  std::optional<Histogram> histogram_;
};

// What a program of the user's has found out of a step: numbers with names.
struct ProgramResult {
  // How those of several nodes become one. none: they do not.
  enum class Join : std::uint8_t { none, sum, least, greatest };
  struct Value {
    Join join = Join::none;
    double value = 0;
    friend bool operator==(const Value&, const Value&) = default;
  };
  static constexpr std::uint64_t all_nodes = ~std::uint64_t{0};
  std::map<std::pair<std::string, std::uint64_t>, Value> values{};   // by name and node
  std::string left_out{};   // why a node's part of the step was not looked at; empty: all of it was

  // A number that a node has found. One of its name that is there is replaced.
  void add(const std::string& name, std::uint64_t node, const Value& value);
  void merge(const ProgramResult& other);
  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static ProgramResult decode(base::Decoder& in);
  friend bool operator==(const ProgramResult&, const ProgramResult&) = default;
};

struct StepResult {
  std::map<std::string, VariableResult> variables{};
  std::string left_out{};   // why nothing was found out of it, or not all; empty: all was
  std::map<std::string, ProgramResult> programs{};   // by the names of their tables
  friend bool operator==(const StepResult&, const StepResult&) = default;
};

class OutputResults {
 public:
  // A step that is there is joined with it.
  void add(std::uint64_t step, StepResult result);
  void merge(const OutputResults& other);
  // What a part of the ranks has put was not seen, and of no step it is known which: none of them is a result of the output.
  void lose(std::string why) { lost_ = std::move(why); }
  [[nodiscard]] const std::string& lost() const { return lost_; }   // empty: nothing is
  [[nodiscard]] const std::map<std::uint64_t, StepResult>& steps() const { return steps_; }
  [[nodiscard]] bool empty() const { return steps_.empty() && lost_.empty(); }
  // About what it takes in memory, and on its way to another node.
  [[nodiscard]] base::Bytes bytes() const;

  // Tables with a line of names, as CSV (RFC 4180): a line for each step and variable, or for each bin. Of a step of which not all was
  // found out there is none.
  [[nodiscard]] std::string statistics_table() const;
  [[nodiscard]] std::string histogram_table() const;
  // The same of a program: a line for each number of each step, and for each node where they are not joined.
  [[nodiscard]] std::string program_table(const std::string& name) const;

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static OutputResults decode(std::span<const std::byte> bytes);
  friend bool operator==(const OutputResults&, const OutputResults&) = default;

 private:
  std::map<std::uint64_t, StepResult> steps_;
  std::string lost_;
};

// "statistics" of "dir/plt_1.nc" is "dir/plt_1.nc.statistics.csv".
[[nodiscard]] std::string table_path(const std::string& final_path, const std::string& table);

}  // namespace glean::analysis
