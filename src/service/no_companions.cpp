// SPDX-License-Identifier: BSD-3-Clause
#include "service/recovery.hpp"
#include "transport/local_messages.hpp"

namespace glean::service {
namespace {

class NoCompanions final : public Companions {
 public:
  [[nodiscard]] int self() const override { return 0; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override { return {mine}; }
  [[nodiscard]] std::vector<std::unique_ptr<transport::Messages>> messages(const std::vector<int>& nodes,
                                                                           const std::vector<int>& process_of) override {
    auto& network = *networks_.emplace_back(std::make_unique<transport::LocalNetwork>(static_cast<int>(process_of.size())));
    std::vector<std::unique_ptr<transport::Messages>> messages;
    for (const int node : nodes) messages.push_back(network.messages(node));
    return messages;
  }
  [[nodiscard]] bool none_needs_more() override { return true; }

 private:
  std::vector<std::unique_ptr<transport::LocalNetwork>> networks_;
};

}  // namespace

std::unique_ptr<Companions> no_companions() { return std::make_unique<NoCompanions>(); }

}  // namespace glean::service
