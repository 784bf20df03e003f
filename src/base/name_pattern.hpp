// SPDX-License-Identifier: BSD-3-Clause
//
// Names of files by which a program numbers them: "restart.{rank}", "rst.{rank}.{step}".
//
// `{rank}` and `{step}` stand for digits, any other field for any text; `*`, `?` and `[…]` are the shell's, and the n-th `*` is field n.
// Nothing stands for a slash. A pattern without a slash is that of a file name, one with slashes that of so many last parts of a path.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glean::base {

class NamePattern {
 public:
  // Any text is a pattern: a brace that does not begin a field stands for itself.
  explicit NamePattern(std::string_view text);

  // How many slashes what it matches has; of an absolute pattern, all.
  [[nodiscard]] std::size_t slashes() const { return slashes_; }
  [[nodiscard]] bool is_absolute() const { return !text_.empty() && text_.front() == '/'; }
  [[nodiscard]] const std::string& text() const { return text_; }

  static constexpr std::size_t fields_most = 16;
  struct Values {
    std::array<std::string_view, fields_most> of_field;   // of the text that was matched
  };
  // Allocates nothing.
  [[nodiscard]] bool match(std::string_view text, Values& values) const noexcept;

  // The names of the fields, in their order; those of `*` are "1", "2", …
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  // `into` with the values in place of its fields; of `extra` besides: {name, value}.
  struct Extra {
    std::string_view name, value;
  };
  [[nodiscard]] std::string expand(std::string_view into, const Values& values, Extra extra) const;

  // Why files of this pattern cannot be gathered in files of the name `into`; empty: they can.
  [[nodiscard]] std::string defect(std::string_view into) const;

 private:
  struct Part {
    enum class Kind { text, one, set, field } kind;
    std::string text;        // of text and set
    std::size_t field = 0;   // its number
    bool digits = false;
  };
  [[nodiscard]] bool match_from(std::size_t part, std::string_view text, Values& values) const noexcept;
  void add_field(std::string name, bool digits);

  std::string text_;
  std::vector<Part> parts_;
  std::vector<std::string> fields_;
  std::size_t slashes_ = 0;
};

}  // namespace glean::base
