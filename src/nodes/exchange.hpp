// SPDX-License-Identifier: BSD-3-Clause
//
// How the nodes of a session complete an output together: each sends what another one writes, and they tell each other how
// far they are, along a tree.
//
// Nothing here waits. Nodes may be at different outputs and steps; a node never waits for another but to end what needs both.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drain/engine.hpp"
#include "nodes/heads.hpp"
#include "nodes/places.hpp"
#include "pool/journal.hpp"
#include "transport/messages.hpp"

namespace glean::nodes {

using base::Bytes;

class Openings;
class Spill;

// Thread-safe: one thread calls progress(), and another one may call move_blocks().
class Exchange {
 public:
  // The exchange of the node that `messages.self()` is. `blocks`: what blocks of data go over, if not over `messages` like all the rest.
  // Everything must outlive it.
  Exchange(pool::Pool& pool, drain::Engine& engine, transport::Messages& messages, transport::Messages* blocks = nullptr);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Moves on whatever can move without waiting, but for blocks that go over messages of their own. True: something has. An output takes
  // part from when its slot says which one it is on all nodes (`job_output`) until no node needs anything of it any more, when the slot
  // says 0 again. Local, does not block.
  bool progress();
  // Moves those blocks, where they go over messages of their own.
  bool move_blocks();
  [[nodiscard]] bool waits_for_calls() const { return apart_.has_value(); }
  // From now on neither moves anything, and the messages are not used any more.
  void stop();
  // This node or another still needs something of outputs that the exchange has seen. Local.
  [[nodiscard]] bool holds_any() const;
  // MPI may still read from the pool or write to it, or will when room is made. Local.
  [[nodiscard]] bool is_moving() const;
  // -- exchange_staging.cpp; where there are stagers
  // This node is one: outputs of its clients are opened so, and what comes when the pool is nearly full goes there, if anywhere. Before
  // anything comes; both must outlive the exchange.
  void serve(Openings& openings, Spill* spill = nullptr);
  // On a client an output that takes part is opened at the stagers when its slot asks for that (pool::AtStagers). If it cannot be, it fails
  // on all nodes.
  // The stagers have all that this client has captured of outputs that were closed, and know it. Local.
  [[nodiscard]] bool may_leave();
  // This client ends, and the stagers go on without it: they are told, and nothing else moves. Local, does not block.
  void leave();
  // The stager has noted that, or cannot be told any more. Local.
  [[nodiscard]] bool has_left() const;
  // These clients have left before, or are lost: they are not waited for. Before anything comes.
  void do_without(const std::set<int>& clients);
  // All clients have left this stager and the others, and nothing is to be done any more. Local.
  [[nodiscard]] bool is_over() const;
  // Those of this stager have, or, where it has none, all. Local.
  [[nodiscard]] bool have_clients_left() const;
  // This stager has the place of one that was killed: the stagers below it may not have heard all that it had to say. After serve().
  void go_on();
  // -- exchange_taken_over.cpp: where nodes keep what is not durable, and another process may take the place of a stager that is lost
  // How this node finds such a process. Before anything comes.
  void find_places_with(Places places);
  // This stager has such a place, and nothing of what the process before had: it gets all of it again. After serve().
  void begin_anew();
  // Which clients had left, as that one had heard. Local.
  [[nodiscard]] static std::set<int> clients_that_have_left(const pool::Pool& pool);
  // And what has become of an output that it had finished, and perhaps not told of. Local.
  static void note_end(pool::Pool& pool, std::uint64_t job_output, const pool::OutputSlot& slot);
  // What has not arrived, and which nodes are behind. Local.
  [[nodiscard]] std::string diagnose() const;

 private:
  static constexpr int ended_shift = 40;   // pool::StagerPlace::ended
  static constexpr std::uint64_t ended_generation = (std::uint64_t{1} << ended_shift) - 1;

  struct SharedOutput {
    std::uint64_t job_output = 0;
    pool::OutputKey key;
    int publisher = 0;
    std::map<int, std::optional<NodeProgress>> children;   // by node, as they have said last
    std::optional<NodeProgress> heard;      // of all nodes
    std::optional<NodeProgress> said;       // to the parent; on the root of the tree to the children
    std::uint64_t said_ns = 0;
    // The checksums of this node's part, for the publisher: before it hears that the part is durable.
    enum class SumsAre { not_taken, leaving, there } sums_are = SumsAre::not_taken;
    drain::Engine::Sums sums;                      // that have not left, and results
    // That it has failed, or may have: the storage of a node refuses it.
    enum class Failure { none, refused, failed } told_of_failure = Failure::none;
    bool told_of_end = false;               // that it is published, or postponed
    bool was_published = false;             // the process before this one was told that
    bool is_nowhere_else = false;           // of a client: no stager has it open, because it cannot be
    bool over = false;                      // all nodes that have to know of its end have been told
  };
  struct Incoming {
    int peer = 0;
    std::vector<std::byte> head;
  };
  struct Receiving {
    Incoming incoming;
    std::optional<pool::Recorder::Held> held;   // none: the output needs nothing any more
    std::vector<std::byte> body;                // then, and of checksums
  };
  struct SumsOnTheirWay {
    std::uint64_t job_output = 0;
    std::vector<store::StridedSum> sums;
    std::vector<std::byte> results;                // or these
  };

  // What comes over the same messages: bodies are taken in the order of their heads.
  struct Lane {
    transport::Messages& messages;
    std::deque<Incoming> incoming{};               // whose bodies wait for room
    std::map<std::uint64_t, Receiving> receiving{};   // by token
    [[nodiscard]] bool is_moving() const { return !receiving.empty() || !incoming.empty(); }
  };

  void take_up_outputs();
  void take_up(std::uint64_t job_output, pool::OutputKey key);
  bool move(Lane& lane);
  bool complete_transfers(Lane& lane);
  bool take_arrivals(Lane& lane);
  bool take_in(Lane& lane);
  [[nodiscard]] bool take_in(Lane& lane, Incoming& next, bool& lacks_room);
  [[nodiscard]] bool take_in_block(Lane& lane, Incoming& next, bool& lacks_room);
  bool send_blocks();
  bool tell_progress();
  bool tell_progress(SharedOutput& output);
  void on_message(Lane& lane, int peer, std::vector<std::byte> head);
  void commit(const Receiving& received);
  [[nodiscard]] Lane& block_lane() { return apart_ ? *apart_ : all_; }
  // -- exchange_sums.cpp
  void send_sums(SharedOutput& output);
  void send_next_sums(SharedOutput& output);
  bool sums_have_arrived(std::uint64_t number);
  void take_in_sums(Lane& lane, Incoming incoming);
  void commit_sums(const Receiving& received);
  [[nodiscard]] NodeProgress own_progress(const SharedOutput& output) const;
  void apply(SharedOutput& output, const NodeProgress& of_all);
  // -- exchange_ticks.cpp: of bytes
  void apply_ticks(pool::OutputSlot& slot, const NodeProgress& of_all);
  // -- exchange_questions.cpp: of ranks, about shared pointers
  bool ask();
  void on_question(const QuestionHead& question);
  void on_answer(const AnswerHead& answer);
  // -- exchange_failures.cpp
  [[nodiscard]] static SharedOutput::Failure failure_of(const pool::OutputSlot& slot);
  [[nodiscard]] bool is_kept_by_stagers(const SharedOutput& output) const;
  [[nodiscard]] static std::vector<std::byte> failure_message(FailureHead head, const std::string& what, const std::string& hint);
  [[nodiscard]] std::vector<std::byte> failure_message(const SharedOutput& output, SharedOutput::Failure failure) const;
  void tell_of_failure(SharedOutput& output, SharedOutput::Failure failure, int except);
  void on_failure(int peer, std::span<const std::byte> head);
  // -- exchange_replaced.cpp: stagers whose place another process has taken
  void notice_replaced();
  void on_replaced(int peer);
  void forget_what_came_from(int peer);
  void send_again_to(int peer);
  void tell_again(SharedOutput& output, int peer);
  void ask_again();
  void end_what_has_ended();
  void end(const SharedOutput& output);
  void has_ended(std::uint64_t job_output, const pool::OutputSlot* slot);
  void tell_end(int peer, const ProgressHead& said);
  // -- exchange_taken_over.cpp
  void begins_anew();
  [[nodiscard]] PlaceHead own_place() const;
  void tell_place_again(int peer);
  void look_for_places();
  void on_lost(int peer);
  void hold(int stager);
  void on_lost_elsewhere(int from, const LostHead& head);
  void on_place(int from, const PlaceHead& head);
  void send_again(const PlaceHead& head);
  void on_heard(const HeardHead& head);
  void on_ended(const EndedHead& head);
  void tell_ends(int peer);
  void tell_neighbours(std::span<const std::byte> message, int except);
  [[nodiscard]] bool is_done_here(std::uint64_t job_output);
  // -- exchange_staging.cpp
  using Description = std::shared_ptr<const std::vector<std::byte>>;
  struct Opening {
    int client = 0;
    std::set<int> lacks;   // stagers below that have not said that they have it
  };
  void ask_stagers(const SharedOutput& output);
  void tell_if_opened(std::uint64_t job_output);
  void on_opened(int peer, const OpenedHead& head);
  void send_opening(int peer, OpeningHead head, const Description& description);
  void on_opening(Lane& lane, Incoming incoming);
  void take_in_opening(Lane& lane, Incoming incoming);
  void take_opening(int peer, const OpeningHead& head, const std::vector<std::byte>& description);
  bool open_next();
  [[nodiscard]] bool open(const OpeningHead& head, const std::vector<std::byte>& description);
  void tell_stagers_below(const OpeningHead& head, std::vector<std::byte> bytes);
  void pass_on_failure(int from, std::uint64_t job_output, std::span<const std::byte> message);
  void refuse_opening(std::uint64_t job_output, const base::Error& error);
  [[nodiscard]] bool is_needed_by_no_client() const;
  void on_farewell(int peer, MessageKind kind);
  void note_left(int client);
  bool tell_farewell();
  [[nodiscard]] SharedOutput* find(std::uint64_t job_output);
  [[nodiscard]] bool is_to_come(std::uint64_t job_output);
  [[nodiscard]] bool wants(std::uint64_t job_output);
  void note_closed(pool::OutputSlot& slot, const NodeProgress& of_all) const;
  [[nodiscard]] bool spills(const pool::Recorder::Held& held, const pool::Recorder::Put& put);
  void wait_for_space(bool wait);

  pool::Pool& pool_;
  drain::Engine& engine_;
  mutable std::mutex mutex_;                       // everything below
  Lane all_;
  std::optional<Lane> apart_;                      // of blocks, where they have messages of their own
  const int self_;
  const transport::Tree tree_;
  const std::optional<int> parent_;
  std::vector<int> children_;
  bool stopped_ = false;
  std::vector<SharedOutput> outputs_;
  pool::Recorder recorder_;                        // of what other nodes send; it never waits
  std::deque<Incoming> early_;                     // about outputs that are to come; all but blocks
  // By slot of node 0: 1 + generation of the last output that is over, and how it has ended. What stands in the pool is true when all that
  // this node has of it is gone, too.
  std::array<std::pair<std::uint64_t, pool::OutputEnd>, pool::output_slots> over_{};
  std::map<std::uint64_t, drain::ExchangeBlock> on_their_way_;   // by number
  std::map<std::uint64_t, SumsOnTheirWay> sums_on_their_way_;   // by number
  Openings* openings_ = nullptr;                   // of a stager
  Spill* spill_ = nullptr;                         // of one that spills
  std::deque<std::pair<OpeningHead, std::vector<std::byte>>> to_open_;   // that wait for room
  std::map<std::uint64_t, Opening> opening_;       // by job_output
  std::map<std::uint64_t, Description> openings_on_their_way_;   // by token
  std::set<int> gone_;                             // children that have left
  bool has_told_parent_ = false, ends_ = false, has_said_farewell_ = false;
  bool leaves_ = false;                            // of a client: it waits for its stager to note that
  std::vector<std::uint64_t> asked_;               // by rank of the node: the number of its last question that has left
  const bool keeps_;                               // what is sent to stagers, until it is durable
  std::optional<Places> places_;
  std::set<int> held_;                             // of a client: lost stagers, to which nothing goes before it is known what they have
  std::uint64_t begun_anew_ = 0;                   // of a stager that has
  std::set<int> not_heard_;                        // then: clients that have not said that they send again
  bool has_place_of_another_ = false;              // of a stager: its neighbours hear of it
  std::map<int, std::uint64_t> sent_again_;        // of a client: by stager that has begun anew, when that was;
  std::uint64_t sent_again_since_ = 0;             // the last one
  std::uint64_t tokens_ = 0;
  bool waits_for_space_ = false;
};

}  // namespace glean::nodes
