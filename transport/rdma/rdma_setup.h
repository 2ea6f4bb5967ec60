// RdmaSetup: from a pair that trusts each other to connected queue pairs.
//
//   higher rank                       lower rank
//   "offer"  address, shape, MTU  ->
//                                 <-  "answer" address, port, token, shape, MTU, ring
//   "ring"   ring                 ->
//   one rdma_cm connection per queue pair, greeting in its private data
//   both are finished when all of them are established
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/env.h"
#include "transport/rdma/cm_agent.h"
#include "transport/rdma/greeting.h"
#include "transport/rdma/queue_set.h"
#include "transport/rdma/queue_state.h"
#include "transport/rdma/rdma_link.h"
#include "transport/setup.h"

namespace hccl::transport::rdma {

// What a set-up takes from its surroundings.
struct SetupTools {
  VerbsApi* verbs = nullptr;
  CmAgent* agent = nullptr;
  ControlThread* deviceThread = nullptr;  // reads the device's events
  RingShape shape;                        // proposed
  QueueSettings settings;
  uint64_t stripeBytes = 512 * 1024;
  QpPortConfig ports;
  double timeoutSeconds = 20;  // of the whole attempt
  int numaNode = -1;
};

class RdmaSetup final : public LinkSetup {
 public:
  RdmaSetup(SetupHost* host, SetupTools tools);
  ~RdmaSetup() override;

  void begin() override;
  void abandon() override;
  void onMessage(std::string text, std::vector<UniqueFd> fds) override;

 private:
  struct Words;  // one message, read
  Status prepare();
  Status makeQueues(const RingShape& shape, ibv_mtu theirMtu);
  void onOffer(const Words& words);
  void onAnswer(const Words& words);
  Status takeRing(const Words& words);
  void onEvent(size_t index, const CmId::Event& event);
  Status advance(size_t index, const CmId::Event& event);
  void onRequest(std::unique_ptr<CmId> id, const PrivateData& data);
  Status acceptRequest(size_t index);
  Status move(size_t index, ibv_qp_state state);
  void established(size_t index);
  void finishIfComplete();
  MadeLink makeLink(RdmaLink::Settings settings);
  void fail(const Status& status);
  RingShape ownShape(const IpAddress& theirs);
  uint32_t flowLabel(size_t index) const;

  SetupHost* host_;
  SetupTools tools_;
  PortChoice port_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<QueueSet> queues_;
  std::vector<std::shared_ptr<CmId>> ids_;
  std::vector<bool> established_;
  std::vector<uint16_t> sourcePorts_;
  IpAddress peerAddress_;
  uint64_t peerRing_ = 0;
  uint32_t peerKey_ = 0;
  bool ringKnown_ = false;
  uint64_t token_ = 0;        // expected here (answering end)
  uint64_t callerToken_ = 0;  // expected there
  uint64_t timer_ = 0;
  bool over_ = false;
};

}  // namespace hccl::transport::rdma
