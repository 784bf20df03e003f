// SPDX-License-Identifier: BSD-3-Clause
//
// The words that settings of few values take, as a configuration has them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/settings.hpp"

namespace glean::base::words {

template <class Enum, std::size_t n>
using Names = std::array<std::pair<std::string_view, Enum>, n>;

inline constexpr Names<Mode, 5> mode_names{{{"threaded", Mode::threaded},
                                            {"dedicated", Mode::dedicated},
                                            {"staged", Mode::staged},
                                            {"collective", Mode::collective},
                                            {"passthrough", Mode::passthrough}}};
inline constexpr Names<Publish, 2> publish_names{{{"rename", Publish::rename}, {"in-place", Publish::in_place}}};
inline constexpr Names<Replace, 2> replace_names{{{"rename", Replace::rename}, {"in-place", Replace::in_place}}};
inline constexpr Names<RangeRule, 2> range_names{{{"error", RangeRule::error}, {"fill", RangeRule::fill}}};
inline constexpr Names<WhenFull, 4> full_names{{{"block", WhenFull::block},
                                                {"spill", WhenFull::spill},
                                                {"synchronous", WhenFull::synchronous},
                                                {"drop", WhenFull::drop}}};
inline constexpr Names<ReadBack, 2> read_back_names{{{"compare", ReadBack::compare}, {"capture", ReadBack::capture}}};
inline constexpr Names<Close, 2> close_names{{{"captured", Close::captured}, {"durable", Close::durable}}};
inline constexpr Names<DirectIo, 3> direct_names{
    {{"auto", DirectIo::automatic}, {"on", DirectIo::on}, {"off", DirectIo::off}}};
inline constexpr Names<DrainPlace, 2> place_names{{{"threads", DrainPlace::threads}, {"process", DrainPlace::process}}};
inline constexpr Names<ExchangeOver, 3> exchange_names{
    {{"auto", ExchangeOver::automatic}, {"tcp", ExchangeOver::tcp}, {"mpi", ExchangeOver::mpi}}};
inline constexpr Names<StagingEnd, 2> staging_end_names{{{"staged", StagingEnd::staged}, {"durable", StagingEnd::durable}}};
inline constexpr Names<StagingKeep, 2> staging_keep_names{{{"staged", StagingKeep::staged}, {"durable", StagingKeep::durable}}};
inline constexpr Names<LogLevel, 5> level_names{{{"debug", LogLevel::debug},
                                                 {"info", LogLevel::info},
                                                 {"warning", LogLevel::warning},
                                                 {"error", LogLevel::error},
                                                 {"off", LogLevel::off}}};
inline constexpr Names<Reduction, 2> reduction_names{{{"statistics", Reduction::statistics}, {"histogram", Reduction::histogram}}};
inline constexpr Names<bool, 2> precision_names{{{"as-defined", false}, {"float32", true}}};
inline constexpr Names<CopyFormat, 2> copy_names{{{"hdf5", CopyFormat::hdf5}, {"vtkhdf", CopyFormat::vtkhdf}}};
inline constexpr Names<Semantics, 3> semantics_names{
    {{"auto", Semantics::automatic}, {"none", Semantics::none}, {"flash", Semantics::flash}}};
inline constexpr Names<bool, 2> bool_names{{{"true", true}, {"false", false}}};

template <class Enum, std::size_t n>
bool assign_name(const Names<Enum, n>& names, Enum& value, std::string_view text) {
  for (const auto& [name, meaning] : names) {
    if (name == text) return value = meaning, true;
  }
  return false;
}

template <class Enum, std::size_t n>
std::string print_name(const Names<Enum, n>& names, Enum value) {
  for (const auto& [name, meaning] : names) {
    if (meaning == value) return std::string(name);
  }
  return {};
}

}  // namespace glean::base::words
