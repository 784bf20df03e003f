// SPDX-License-Identifier: BSD-3-Clause
#include "view/desk.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/signals_blocked.hpp"

namespace glean::view {
namespace {

constexpr std::size_t slot_bytes_max = 32;
using Json = nlohmann::json;

}  // namespace

std::vector<std::byte> to_message(const Answer& answer) {
  std::string text = answer.about.dump(-1, ' ', false, Json::error_handler_t::replace);
  while ((text.size() + 4) % 8 != 0) text += ' ';
  const auto length = static_cast<std::uint32_t>(text.size());
  std::vector<std::byte> message(4 + text.size() + answer.values.size());
  for (std::size_t i = 0; i < 4; ++i) message[i] = static_cast<std::byte>(length >> (8 * i));
  std::memcpy(message.data() + 4, text.data(), text.size());
  if (!answer.values.empty()) std::memcpy(message.data() + 4 + text.size(), answer.values.data(), answer.values.size());
  return message;
}

Desk::Desk(Source& source, const Limits& limits, Deliver deliver) : source_(source), limits_(limits), deliver_(std::move(deliver)) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Desk::~Desk() { stop(); }

bool Desk::ask(std::uint64_t viewer, std::string_view text) {
  Json request = Json::parse(text, nullptr, false);
  if (!request.is_object()) return false;
  const auto slot = request.find("slot");
  if (slot == request.end() || !slot->is_string() || slot->get_ref<const std::string&>().size() > slot_bytes_max) return false;
  Waiting waiting{*slot, {}, std::nullopt};
  if (const auto newer = request.find("newer_than"); newer != request.end() && newer->is_number_unsigned()) waiting.newer_than = *newer;
  waiting.request = std::move(request);

  const std::lock_guard lock(mutex_);
  Seat& seat = seats_[viewer];
  std::erase_if(seat.waiting, [&](const Waiting& each) { return each.slot == waiting.slot; });
  if (seat.waiting.size() >= limits_.slots_max) return false;
  seat.waiting.push_back(std::move(waiting));
  changed_.notify_all();
  return true;
}

void Desk::taken(std::uint64_t viewer) {
  const std::lock_guard lock(mutex_);
  const auto found = seats_.find(viewer);
  if (found == seats_.end()) return;
  answers_bytes_ -= std::exchange(found->second.answer_bytes, 0);
  found->second.is_served = false;
  changed_.notify_all();
}

void Desk::leave(std::uint64_t viewer) {
  const std::lock_guard lock(mutex_);
  const auto found = seats_.find(viewer);
  if (found == seats_.end()) return;
  answers_bytes_ -= found->second.answer_bytes;
  seats_.erase(found);
  changed_.notify_all();
}

void Desk::wake() {
  const std::lock_guard lock(mutex_);
  must_look_ = true;
  changed_.notify_all();
}

Bytes Desk::answers_bytes() const {
  const std::lock_guard lock(mutex_);
  return answers_bytes_;
}

void Desk::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<std::pair<std::uint64_t, Desk::Waiting>> Desk::next() {
  if (answers_bytes_ >= limits_.answers_bytes_max) return std::nullopt;
  const auto first = seats_.upper_bound(last_served_);
  for (int round = 0; round < 2; ++round) {
    for (auto seat = round == 0 ? first : seats_.begin(); seat != (round == 0 ? seats_.end() : first); ++seat) {
      if (seat->second.is_served) continue;
      auto& waiting = seat->second.waiting;
      const auto ready = std::find_if(waiting.begin(), waiting.end(),
                                      [this](const Waiting& each) { return !each.newer_than || *each.newer_than < version_; });
      if (ready == waiting.end()) continue;
      std::pair found{seat->first, std::move(*ready)};
      waiting.erase(ready);
      seat->second.is_served = true;
      last_served_ = seat->first;
      return found;
    }
  }
  return std::nullopt;
}

std::vector<std::byte> Desk::answer_to(const Waiting& waiting) {
  Answer answer;
  try {
    answer = source_.answer(waiting.request);
  } catch (const base::Error& error) {
    answer = {{{"error", error.what()}, {"hint", error.hint()}}};
  } catch (const std::exception& error) {
    answer = {{{"error", error.what()}}};
  }
  answer.about["slot"] = waiting.slot;
  answer.about["version"] = version_;
  return to_message(answer);
}

void Desk::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto seconds = std::chrono::duration<double>(limits_.look_seconds);
  if (seats_.empty()) changed_.wait(lock);   // nothing is looked at for nothing
  else if (changed_.wait_for(lock, seconds) == std::cv_status::timeout) must_look_ = true;
}

void Desk::run() {
  pthread_setname_np(pthread_self(), "glean-view");
  std::unique_lock lock(mutex_);
  auto looked = std::chrono::steady_clock::now();
  while (!is_stopped_) {
    if (must_look_ || std::chrono::steady_clock::now() - looked > std::chrono::duration<double>(limits_.look_seconds)) {
      must_look_ = false;
      lock.unlock();
      const std::uint64_t version = source_.look();
      looked = std::chrono::steady_clock::now();
      lock.lock();
      version_ = version;
    }
    auto found = next();
    if (!found) {
      wait_for_work(lock);
      continue;
    }
    lock.unlock();
    std::vector<std::byte> message = answer_to(found->second);
    lock.lock();
    const auto seat = seats_.find(found->first);
    if (is_stopped_ || seat == seats_.end()) continue;
    seat->second.answer_bytes = message.size();
    answers_bytes_ += message.size();
    lock.unlock();
    deliver_(found->first, std::move(message));
    lock.lock();
  }
}

}  // namespace glean::view
