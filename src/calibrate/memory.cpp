// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/memory.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "calibrate/connection.hpp"
#include "calibrate/seconds_now.hpp"

namespace glean::calibrate {
namespace {

// So many connections, a thread at the far end of each that sends until it is ended; samples of what this thread takes in.
Figure rate_of(int senders, double seconds) {
  std::vector<Connection> connections;
  std::vector<pollfd> waits;
  for (int i = 0; i < senders; ++i) {
    connections.push_back(connect_to_self());
    waits.push_back({.fd = connections.back().near.descriptor(), .events = POLLIN, .revents = 0});
  }
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (Connection& each : connections) {
    threads.emplace_back([&] {
      const std::vector<char> data(base::MiB, 'x');
      while (!ends && send(each.far.descriptor(), data.data(), data.size(), MSG_NOSIGNAL) > 0) {}
    });
  }
  Figure figure;
  std::vector<char> room(base::MiB);
  const double end = seconds_now() + seconds;
  while (seconds_now() < end) {
    double bytes = 0;
    const double begin = seconds_now(), enough = begin + seconds / 5;
    while (seconds_now() < enough) {
      if (poll(waits.data(), waits.size(), 100) <= 0) continue;
      for (const pollfd& each : waits) {
        if ((each.revents & POLLIN) == 0) continue;
        const ssize_t came = recv(each.fd, room.data(), room.size(), 0);
        bytes += came > 0 ? static_cast<double>(came) : 0;
      }
    }
    figure.samples.push_back(bytes / (seconds_now() - begin));
  }
  ends = true;
  for (Connection& each : connections) each.near.close();
  for (std::thread& each : threads) each.join();
  return figure;
}

Figure message_time(double seconds) {
  Connection connection = connect_to_self();
  std::thread echo([&] {
    char byte = 0;
    while (recv(connection.far.descriptor(), &byte, 1, 0) == 1 && send(connection.far.descriptor(), &byte, 1, MSG_NOSIGNAL) == 1) {}
  });
  Figure figure;
  const double end = seconds_now() + seconds;
  bool is_up = true;
  while (is_up && seconds_now() < end) {
    constexpr int rounds = 200;
    const double begin = seconds_now();
    char byte = 'x';
    for (int i = 0; i < rounds && is_up; ++i) {
      is_up = send(connection.near.descriptor(), &byte, 1, MSG_NOSIGNAL) == 1 && recv(connection.near.descriptor(), &byte, 1, 0) == 1;
    }
    if (is_up) figure.samples.push_back((seconds_now() - begin) / (2 * rounds));
  }
  connection.near.close();
  echo.join();
  return figure;
}

}  // namespace

Figure copy_rate(double seconds) {
  const std::vector<char> from(64 * base::MiB, 'x');
  std::vector<char> to(from.size(), 'y');   // the pages are there
  Figure figure;
  const double end = seconds_now() + seconds;
  do {
    const double begin = seconds_now();
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");   // the copy is used
    figure.samples.push_back(static_cast<double>(from.size()) / (seconds_now() - begin));
  } while (seconds_now() < end);
  return figure;
}

double copied_per_second(int threads, double seconds) {
  std::atomic<double> sum{0};
  std::vector<std::thread> others;
  const auto copy = [&] {
    constexpr std::size_t bytes = 32 * base::MiB;
    const std::vector<char> from(bytes, 'x');
    std::vector<char> to(bytes, 'y');
    const double begin = seconds_now();
    double copied = 0;
    do {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
      copied += bytes;
    } while (seconds_now() - begin < seconds);
    sum += copied / (seconds_now() - begin);
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(copy);
  copy();
  for (std::thread& each : others) each.join();
  return sum;
}

Loopback measure_loopback(double seconds) {
  return {.link_rate = rate_of(1, seconds * 0.4), .receive_rate = rate_of(4, seconds * 0.4), .message_time = message_time(seconds * 0.2)};
}

}  // namespace glean::calibrate
