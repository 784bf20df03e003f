// SPDX-License-Identifier: BSD-3-Clause
#include "cli/staging_service.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/signals_blocked.hpp"
#include "base/units.hpp"
#include "service/recovery.hpp"
#include "topology/discover/discover.hpp"
#include "transport/tcp/socket.hpp"
#include "transport/tree.hpp"

namespace glean::cli {
namespace {

constexpr Bytes useful_job_memory = 16 * base::MiB;   // a job does not get less of a service that gives more
constexpr Bytes request_max = base::GiB, request_unit = 4 * base::KiB;   // as the setting drain.request has it
constexpr Bytes journal_of_spilled_chunk = base::KiB;      // a few records
constexpr std::size_t last_jobs_max = 8;
constexpr int control_threads = 8;   // some of them wait for the file system, for clients that read

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

bool is_in_memory(const std::string& pool) { return std::filesystem::exists("/dev/shm" + pool); }

}  // namespace

double StagingService::seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

StagingService::StagingService(Options options)
    : options_(std::move(options)), host_(this_host()), files_there_(file_options()) {
  if (options_.directories.empty()) throw base::Error(base::Errc::invalid_argument, "a staging service needs a directory to write in");
  if (options_.job_memory_bytes < smallest_job_memory || options_.memory_bytes < options_.job_memory_bytes) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("{} for all jobs and {} for one of them cannot be", base::exact_bytes(options_.memory_bytes),
                                  base::exact_bytes(options_.job_memory_bytes)),
                      fmt::format("a job needs {} at least, and the service as much as one job", base::exact_bytes(smallest_job_memory)));
  }
  const base::SignalsBlocked blocked;
  staging::ControlServer::Options of_server;
  of_server.listen = options_.listen;
  of_server.key = options_.key;
  of_server.threads = control_threads;
  of_server.gone = [this](std::uint64_t client) { is_gone(client); };
  auto server = std::make_unique<staging::ControlServer>(
      of_server, [this](const nlohmann::json& request, const staging::Peer& peer) { return handle(request, peer.connection); });
  const std::scoped_lock lock(mutex_);   // a client may be faster
  server_ = std::move(server);
}

StagingService::~StagingService() {
  refuse_jobs();
  end_jobs_soon();
  while (!wait_until_idle(60)) continue;
  server_->stop();
  join_ended_threads();
}

std::string StagingService::Job::name() const { return fmt::format("job '{}' (session {})", asked.label, asked.session); }

staging::Answer StagingService::handle(const nlohmann::json& request, std::uint64_t client) {
  const bool is_one = request.is_object() && request.contains("ask") && request["ask"].is_string();
  const std::string ask = is_one ? request["ask"].get<std::string>() : "";
  if (ask == "join") return join(staging::join_request_from(request), client);
  if (ask == "begin") return begin(staging::begin_request_from(request));
  if (ask == "take") return take(staging::take_request_from(request));
  if (ask == "status") return status();
  if (StagerFiles::knows(ask)) return files_there_.answer(ask, request, client);
  throw base::Error(base::Errc::unsupported, fmt::format("this staging service does not know what '{}' is", ask),
                    "use the same version of GLEAN for the staging service and its clients");
}

nlohmann::json StagingService::join(const staging::JoinRequest& request, std::uint64_t client) {
  const topology::Node node = topology::discover_node();
  auto job = std::make_unique<Job>();
  job->asked = request;
  job->joined_by = client;
  job->door.emplace();
  join_ended_threads();
  const std::scoped_lock lock(mutex_);
  if (refuses_) {
    throw base::Error(base::Errc::invalid_state, fmt::format("the staging service on {} (process {}) is ending", host_, ::getpid()),
                      "start another one, or run the job without staging");
  }
  if (jobs_.contains(request.session)) {
    throw base::Error(base::Errc::exists, fmt::format("the session {} has joined this stager on {} already", request.session, host_),
                      "each stager of a job is a process of its own");
  }
  job->plan = plan_for(request, node);
  const staging::JoinAnswer answer{.door = job->door->addresses(), .chunk_bytes = std::min(request.chunk_bytes, job->plan.chunk_bytes)};
  jobs_[request.session] = std::move(job);
  high_water_bytes_ = std::max(high_water_bytes_, used_bytes());
  return staging::to_json(answer);
}

plan::NodePlan StagingService::plan_for(const staging::JoinRequest& request, const topology::Node& node) {
  if (request.request_bytes > request_max || request.request_bytes % request_unit != 0) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("the job wants to write {} at a time", base::exact_bytes(request.request_bytes)),
                      "drain.request is a multiple of 4KiB, and at most 1GiB");
  }
  const Bytes used = used_bytes(), promised = promised_bytes();
  const Bytes left = options_.memory_bytes - std::min(options_.memory_bytes, used);
  const Bytes free_of_node = std::min(node.shared_memory_available_bytes, node.memory_available_bytes);
  const Bytes free = free_of_node - std::min(free_of_node, promised);
  const Bytes budget = std::min({options_.job_memory_bytes, left, free});
  const Bytes least = std::min(options_.job_memory_bytes, useful_job_memory);
  if (left < least) {
    throw base::Error(base::Errc::no_space,
                      fmt::format("the staging service on {} has no memory for the job: {} of its {} are in use", host_,
                                  base::readable_bytes(used), base::readable_bytes(options_.memory_bytes)),
                      left_.empty() ? "try again when one of its jobs is over, or start it with more --memory or less --job-memory"
                                    : "complete with `glean recover` on that host what jobs have left there");
  }
  if (budget < least) {
    throw base::Error(base::Errc::no_space,
                      fmt::format("{} has no memory for the job: {} of shared memory and {} of memory are free, and {} promised", host_,
                                  base::readable_bytes(node.shared_memory_available_bytes),
                                  base::readable_bytes(node.memory_available_bytes), base::readable_bytes(promised)),
                      "free some memory there, enlarge /dev/shm, or start the staging service elsewhere");
  }
  base::Settings settings;
  settings.pool.budget_bytes = budget;
  settings.drain.threads = options_.drain_threads;
  settings.drain.request_bytes = request.request_bytes;
  plan::NodePlan plan = plan::plan_node(node, {.ranks_on_node = 1}, settings);
  // What is spilled has its records in memory.
  const Bytes records = base::align_up(options_.spill_budget_bytes / plan.chunk_bytes * journal_of_spilled_chunk, node.page_bytes);
  const Bytes journal_max = base::align_down(plan.pool_bytes / 4, node.page_bytes);
  plan.journal_bytes_per_rank = std::max(plan.journal_bytes_per_rank, std::min(records, journal_max));
  // The buffers of writes are not above what the job has for its data.
  while (plan.depth > 1 && plan.drain_buffer_bytes() > plan.pool_bytes) --plan.depth;
  return plan;
}

Bytes StagingService::used_bytes() {
  forget_completed_pools();
  Bytes used = 0;
  for (const auto& [session, job] : jobs_) used += job->plan.pool_bytes;
  for (const LeftPool& pool : left_) used += pool.bytes;
  return used;
}

Bytes StagingService::promised_bytes() const {
  Bytes promised = 0;
  for (const auto& [session, job] : jobs_) {
    if (job->state == State::joined || job->state == State::connecting) promised += job->plan.pool_bytes;
  }
  return promised;
}

// A job may take long to begin, because its nodes make their pools first. It never does when the client that has joined for it is gone.
void StagingService::is_gone(std::uint64_t client) {
  files_there_.forget(client);
  const std::scoped_lock lock(mutex_);
  std::erase_if(jobs_, [&](const auto& each) { return each.second->state == State::joined && each.second->joined_by == client; });
  job_gone_.notify_all();
}

void StagingService::forget_completed_pools() {
  std::erase_if(left_, [](const LeftPool& pool) { return !is_in_memory(pool.name); });
}

nlohmann::json StagingService::begin(const staging::BeginRequest& request) {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(request.session);
  if (found == jobs_.end()) {
    throw base::Error(base::Errc::not_found, fmt::format("no job with the session {} has joined this stager on {}", request.session, host_),
                      refuses_ ? "the staging service is ending" : "a job joins all of its stagers, and stays connected until it begins");
  }
  Job& job = *found->second;
  if (job.state != State::joined) {
    throw base::Error(base::Errc::exists, fmt::format("the session {} has begun at this stager on {} already", request.session, host_));
  }
  job.neighbours = neighbours_of(job, request.doors);
  job.places = request.places;
  make_pool(job);
  start(job);
  return nlohmann::json::object();
}

std::map<int, std::string> StagingService::neighbours_of(const Job& job, const std::map<int, std::string>& doors) {
  std::map<int, std::string> neighbours;
  for (const int node : job.tree().neighbours_of(job.self())) {
    std::string& door = neighbours[node];
    if (node < job.self()) continue;   // that one connects
    const auto given = doors.find(node);
    if (given == doors.end()) {
      throw base::Error(base::Errc::invalid_argument, fmt::format("the job does not say where its node {} is", node));
    }
    static_cast<void>(transport::parse_addresses(given->second));
    door = given->second;
  }
  return neighbours;
}

service::StagerPlace StagingService::place_of(const Job& job) const {
  service::StagerPlace place{.port = job.door->port(), .restart_seconds = job.asked.restart_seconds,
                             .key_mark = mark_of(job.asked.session), .doors = job.neighbours};
  std::erase_if(place.doors, [&](const auto& each) { return each.first < job.self(); });
  return place;
}

// With the answer the job may begin.
void StagingService::make_pool(Job& job) const {
  const service::StagedJob::Options options{job.asked.label, job.plan, place_of(job), job.asked.keeps, !job.taken_door.empty(),
                                            options_.spill_directory, options_.spill_budget_bytes};
  job.own_pool.emplace(service::StagedJob::make_pool(options, {job.asked.session, job.tree().nodes(), job.self(), job.asked.stagers}));
}

void StagingService::start(Job& job) {
  const base::SignalsBlocked blocked;
  job.state = State::connecting;
  job.since = Clock::now();
  job.thread = std::thread([this, &job] { run(job); });
}

// In the thread of the job, which ends with it.
void StagingService::run(Job& job) {
  Ended ended{.session = job.asked.session, .label = job.asked.label, .key = job.key(), .files = {}, .problem = {}, .left_pool = {}};
  try {
    run_connected(job, ended);
  } catch (const std::exception& error) {
    ended.problem = error.what();
    if (job.own_pool && job.is_left) give_back(job, ended);
    else if (job.own_pool) job.own_pool->remove();   // the other nodes have not come
    job.own_pool.reset();
  }
  if (ended.problem.empty()) try_what_is_kept();   // of jobs before it: the storage takes files
  has_ended(job, std::move(ended));
}

void StagingService::run_connected(Job& job, Ended& ended) {
  const std::string& session = job.asked.session;
  const double wait_for_place = staging::seconds_to_take_a_place(job.asked.restart_seconds);
  auto messages = transport::make_tcp_messages(std::move(*job.door), job.self(), job.tree(), job.neighbours,
                                               staging::key_of_job(options_.key, session),
                                               job.is_left ? job.asked.restart_seconds : options_.connect_seconds,
                                               {.replaced_seconds = job.asked.restart_seconds,
                                                .taken_over_seconds = job.asked.keeps ? wait_for_place : 0,
                                                .not_waited_for = job.gone});
  pool::Pool own = std::move(*std::exchange(job.own_pool, std::nullopt));
  if (job.is_left) ended.left_pool = own.name();   // if it cannot go on
  using Begins = service::StagedJob::Begins;
  auto staged = std::make_unique<service::StagedJob>(std::move(own), job.is_left ? Begins::as_killed_one : Begins::as_first_one,
                                                     options_.directories, options_.runs_programs, std::move(messages));
  service::StagedJob& running = *staged;
  if (options_.beside) {
    running.go_on_beside([&](drain::Engine& engine, pool::Pool& pool) { return options_.beside(job.name(), engine, pool); });
  }
  {
    const std::scoped_lock lock(mutex_);
    job.staged = std::move(staged);
    job.state = State::running;
    if (ends_soon_) running.end_soon();
  }
  const auto search = search_for(job, running);
  if (!running.run()) ended.problem = running.problem().empty() ? "not all of it is done" : running.problem();
  ended.only_lacks_storage = running.only_lacks_storage();
}

// The job is gone when this returns, and the thread that is in it has nothing more to do.
void StagingService::has_ended(Job& job, Ended ended) {
  std::unique_ptr<service::StagedJob> staged;
  {
    const std::scoped_lock lock(mutex_);
    job.state = State::ending;
    staged = std::move(job.staged);
  }
  ended.seconds = seconds_since(job.since);
  std::string pool = std::exchange(ended.left_pool, "");
  if (staged) {
    pool = staged->pool().name();
    ended.files = files_of(staged->trace());
    ended.written_bytes = staged->pool().header().written_bytes.load();
    ended.spilled_bytes = staged->pool().header().spill_high_water_bytes.load();
    staged.reset();
  }
  if (!pool.empty() && is_in_memory(pool)) ended.left_pool = pool;

  const auto files = [](std::uint64_t number) { return fmt::format("{} file{}", number, number == 1 ? "" : "s"); };
  std::string line = fmt::format("{} {}: {} published, {} written, {:.1f} s", job.name(),
                                 ended.problem.empty() ? "is over" : "did not end well", files(ended.files.published),
                                 base::readable_bytes(ended.written_bytes), ended.seconds);
  if (ended.spilled_bytes != 0) line += fmt::format("; {} spilled at most", base::readable_bytes(ended.spilled_bytes));
  if (ended.files.failed != 0) line += fmt::format("; {} failed", files(ended.files.failed));
  if (ended.files.kept != 0) line += fmt::format("; {} kept", files(ended.files.kept));
  if (!ended.problem.empty()) line += "; " + ended.problem;
  if (!ended.left_pool.empty()) {
    const std::string others = job.asked.stagers > 1 ? fmt::format(", and with it where the other {} stagers of the job run,",
                                                                   job.asked.stagers - 1) : "";
    line += fmt::format("; {} is left in memory: `glean recover` on {}{} completes it", ended.left_pool.substr(1), host_, others);
  }
  options_.tell(line, ended.problem.empty() && ended.files.failed == 0 ? Tone::plain : Tone::problem);

  const std::scoped_lock lock(mutex_);
  ++over_;
  incomplete_ += ended.problem.empty() ? 0 : 1;
  files_.published += ended.files.published;
  files_.failed += ended.files.failed;
  files_.kept += ended.files.kept;
  written_bytes_ += ended.written_bytes;
  if (!ended.left_pool.empty()) {
    left_.push_back({ended.left_pool, job.plan.pool_bytes, ended.files.kept, job.asked.stagers, ended.only_lacks_storage});
  }
  ended_threads_.push_back(std::move(job.thread));
  jobs_.erase(ended.key);
  last_.push_back(std::move(ended));
  if (last_.size() > last_jobs_max) last_.pop_front();
  job_gone_.notify_all();
}

StagingService::Files StagingService::files_of(const drain::DrainTrace& trace) {
  Files files;
  for (const drain::OutputTrace& output : trace.outputs) {
    if (output.state == "published") ++files.published;
    else if (output.state == "failed") ++files.failed;
    else if (output.state == "open") ++files.open;
    else if (output.state == "postponed") ++files.kept;
  }
  return files;
}

void StagingService::refuse_jobs() {
  const std::scoped_lock lock(mutex_);
  refuses_ = true;
  std::erase_if(jobs_, [](const auto& each) { return each.second->state == State::joined; });
  job_gone_.notify_all();
}

void StagingService::end_jobs_soon() {
  const std::scoped_lock lock(mutex_);
  ends_soon_ = true;
  for (const auto& [session, job] : jobs_) {
    if (job->staged) job->staged->end_soon();
  }
}

bool StagingService::wait_until_idle(double seconds) {
  bool is_idle = false;
  {
    std::unique_lock lock(mutex_);
    is_idle = job_gone_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return jobs_.empty(); });
  }
  join_ended_threads();
  return is_idle;
}

void StagingService::join_ended_threads() {
  std::vector<std::thread> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended = take_ended_threads();
  }
  for (std::thread& thread : ended) thread.join();
}

std::uint64_t StagingService::jobs_over() {
  const std::scoped_lock lock(mutex_);
  return over_;
}

std::vector<std::string> StagingService::left_in_memory() {
  const std::scoped_lock lock(mutex_);
  forget_completed_pools();
  std::vector<std::string> names;
  for (const LeftPool& pool : left_) names.push_back(pool.name);
  return names;
}

// With other stagers it takes `glean recover` on all of their hosts together.
void StagingService::try_what_is_kept() {
  const std::scoped_lock trying(trying_);
  std::vector<std::string> names;
  {
    const std::scoped_lock lock(mutex_);
    forget_completed_pools();
    for (const LeftPool& pool : left_) {
      if (pool.only_lacks_storage && pool.stagers == 1) names.push_back(pool.name);
    }
  }
  if (names.empty()) return;
  try {
    store::SystemCalls calls;
    for (const auto& tried : service::recover_nodes(names, *service::no_companions(), calls, [] {})) {
      for (const drain::OutputTrace& output : tried.recovered.outputs) {
        if (output.state != "published") continue;   // it is said already
        options_.tell(fmt::format("'{}', which the storage had refused, is published", output.path), Tone::plain);
        const std::scoped_lock lock(mutex_);
        ++files_.published;
      }
    }
  } catch (const std::exception& error) {
    options_.tell(fmt::format("what the storage has refused was tried again: {}", error.what()), Tone::problem);
  }
}

}  // namespace glean::cli
