// Two ends that set up a link through a fake rdma_cm.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rdma/fake_verbs.h"
#include "transport/rdma/rdma_setup.h"

namespace hccl::transport::rdma {

class FakeHost final : public SetupHost {
 public:
  ControlThread* thread() override { return nullptr; }
  const PairFacts& facts() const override { return own; }
  void send(std::string_view text, std::span<const int>) override { said.emplace_back(text); }
  void finish(std::vector<MadeLink> links) override { made = std::move(links); }
  void fail(std::string reason) override { failure = std::move(reason); }
  std::function<void(const Status&)> failureReporter() override {
    return [this](const Status& status) { reports.push_back(status); };
  }
  PairFacts own;
  std::deque<std::string> said;
  std::vector<MadeLink> made;
  std::string failure;
  std::vector<Status> reports;  // of the link
};

class SetupTest : public ::testing::Test {
 protected:
  SetupTest() {
    FakePort port;
    port.gids = {{"10.0.0.1"}, {"10.0.0.2"}};
    fake_ = verbs_.addDevice("fake0", {port});
    agent_ = std::move(*CmAgent::make(&verbs_, nullptr));
    for (int i = 0; i < 2; ++i) {
      PairFacts& facts = hosts_[i].own;
      facts.communicator = "comm";
      facts.rank = i == 0 ? 7 : 2;
      facts.peer = i == 0 ? 2 : 7;
      facts.initiator = i == 0;
      facts.attempt = 3;
      facts.mine.tcp.ip = IpAddress::parse(i == 0 ? "10.0.0.1" : "10.0.0.2").value();
      facts.theirs.tcp.ip = IpAddress::parse(i == 0 ? "10.0.0.2" : "10.0.0.1").value();
      facts.sessionKey = sha256("key");
      tools_[i].verbs = &verbs_;
      tools_[i].agent = agent_.get();
      tools_[i].shape = {4, 1024, 1};
    }
  }
  ~SetupTest() override { drop(); }
  // On the control thread, where connections are destroyed: the fake knows no locks.
  void drop() {
    ControlThread* thread = *ControlThread::instance();
    thread->run([this] {
      for (auto& setup : setups_) setup.reset();
      for (auto& host : hosts_) host.made.clear();
    });
    thread->run([] {});
  }

  void run() {
    for (int i = 0; i < 2; ++i) {
      setups_[i] = std::make_unique<RdmaSetup>(&hosts_[i], tools_[i]);
    }
    setups_[0]->begin();
    pump();
  }
  void pump() {
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < 2; ++i) {
        while (!hosts_[i].said.empty()) {
          const std::string text = hosts_[i].said.front();
          hosts_[i].said.pop_front();
          if (setups_[1 - i]) setups_[1 - i]->onMessage(text, {});
        }
      }
      agent_->readEvents();
      for (int i = 0; i < 2; ++i) {
        if (!hosts_[i].failure.empty()) setups_[i].reset();  // as the pair does
      }
    }
  }
  bool complete() const { return hosts_[0].made.size() == 1 && hosts_[1].made.size() == 1; }

  FakeVerbs verbs_;
  FakeDevice* fake_;
  std::unique_ptr<CmAgent> agent_;
  FakeHost hosts_[2];
  SetupTools tools_[2];
  std::unique_ptr<RdmaSetup> setups_[2];
};

}  // namespace hccl::transport::rdma
