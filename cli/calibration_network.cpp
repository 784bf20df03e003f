// SPDX-License-Identifier: BSD-3-Clause
#include "cli/calibration_network.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "calibrate/memory.hpp"
#include "calibrate/seconds_now.hpp"

namespace glean::cli {
namespace {

using calibrate::Figure;

constexpr int big_bytes = 4 << 20;       // of a message that shows the rate of a link
constexpr int taken_in_bytes = 1 << 20;  // of those of many
constexpr int tag_of_data = 1, tag_of_end = 2;

class JobTeam final : public calibrate::Team {
 public:
  explicit JobTeam(service::Companions& companions) : companions_(companions) {}
  [[nodiscard]] int self() const override { return companions_.self(); }
  [[nodiscard]] int count() const override { return companions_.count(); }
  // MPI would keep a core busy meanwhile, which those that measure may need.
  [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override {
    if (count() > 1) {
      MPI_Request all_here = MPI_REQUEST_NULL;
      MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
      for (int are_here = 0; MPI_Test(&all_here, &are_here, MPI_STATUS_IGNORE), are_here == 0;) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
    return companions_.from_all(mine);
  }

 private:
  service::Companions& companions_;
};

// What `self` does with messages there and back to `other`; samples are seconds of one way, known where `leads`.
Figure back_and_forth(int other, bool leads, int bytes, int rounds, double seconds) {
  std::vector<char> data(static_cast<std::size_t>(bytes), 'x');
  Figure figure;
  const double end = calibrate::seconds_now() + seconds;
  for (int goes_on = 1; goes_on != 0;) {
    const double begin = calibrate::seconds_now();
    for (int i = 0; i < rounds; ++i) {
      if (leads) MPI_Send(data.data(), bytes, MPI_CHAR, other, tag_of_data, MPI_COMM_WORLD);
      MPI_Recv(data.data(), bytes, MPI_CHAR, other, tag_of_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!leads) MPI_Send(data.data(), bytes, MPI_CHAR, other, tag_of_data, MPI_COMM_WORLD);
    }
    figure.samples.push_back((calibrate::seconds_now() - begin) / (2 * rounds));
    goes_on = calibrate::seconds_now() < end && figure.samples.size() < 1000 ? 1 : 0;
    if (leads) MPI_Send(&goes_on, 1, MPI_INT, other, tag_of_end, MPI_COMM_WORLD);
    else MPI_Recv(&goes_on, 1, MPI_INT, other, tag_of_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (figure.samples.size() > 1) figure.samples.erase(figure.samples.begin());   // connections are made
  return figure;
}

// All others send as fast as it goes; process 0 says after each batch whether there is another.
Figure take_in(calibrate::Team& team, double seconds) {
  constexpr int batch = 4;
  Figure figure;
  std::vector<char> data(taken_in_bytes, 'x');
  const double end = calibrate::seconds_now() + seconds;
  const int others = team.count() - 1;
  for (int goes_on = 1; goes_on != 0;) {
    const double begin = calibrate::seconds_now();
    if (team.self() != 0) {
      for (int i = 0; i < batch; ++i) MPI_Send(data.data(), taken_in_bytes, MPI_CHAR, 0, tag_of_data, MPI_COMM_WORLD);
    } else {
      for (int i = 0; i < batch * others; ++i) {
        MPI_Recv(data.data(), taken_in_bytes, MPI_CHAR, MPI_ANY_SOURCE, tag_of_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      figure.samples.push_back(static_cast<double>(batch) * others * taken_in_bytes / (calibrate::seconds_now() - begin));
    }
    goes_on = calibrate::seconds_now() < end && figure.samples.size() < 1000 ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (figure.samples.size() > 1) figure.samples.erase(figure.samples.begin());
  return figure;
}

}  // namespace

std::unique_ptr<calibrate::Team> team_of(service::Companions& companions) { return std::make_unique<JobTeam>(companions); }

void measure_network(calibrate::Team& team, const std::vector<int>& host_of, double seconds, calibrate::Calibration& calibration) {
  const auto elsewhere = std::find(host_of.begin(), host_of.end(), 1);
  const bool has_two_hosts = elsewhere != host_of.end();
  static_cast<void>(team.from_all(""));
  if (has_two_hosts) {
    const int peer = static_cast<int>(elsewhere - host_of.begin());
    if (team.self() == 0 || team.self() == peer) {
      const bool leads = team.self() == 0;
      Figure large = back_and_forth(leads ? peer : 0, leads, big_bytes, 1, seconds * 0.4);
      for (double& each : large.samples) each = big_bytes / each;
      large.how = "messages of 4 MiB between two hosts, with MPI";
      calibration.link_rate = std::move(large);
      calibration.message_time = back_and_forth(leads ? peer : 0, leads, 8, 20, seconds * 0.2);
      calibration.message_time.how = "8 bytes between two hosts, with MPI";
    }
  } else if (team.self() == 0) {
    calibrate::Loopback loopback = calibrate::measure_loopback(seconds * (team.count() > 1 ? 0.6 : 1));
    calibration.link_rate = std::move(loopback.link_rate);
    calibration.link_rate.how = "TCP within this host, not the network: start it on two hosts";
    calibration.message_time = std::move(loopback.message_time);
    calibration.message_time.how = calibration.link_rate.how;
    calibration.receive_rate = std::move(loopback.receive_rate);
    calibration.receive_rate.how = "one thread takes in what four send, TCP within this host";
  }
  static_cast<void>(team.from_all(""));
  if (team.count() > 1) {
    calibration.receive_rate = take_in(team, seconds * 0.4);
    calibration.receive_rate.how = fmt::format("process 0 takes in messages of 1 MiB of {} others, with MPI", team.count() - 1);
  }
}

}  // namespace glean::cli
