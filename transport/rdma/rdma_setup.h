// RdmaSetup: from a pair that trusts each other to connected queue pairs.
//
//   higher rank                       lower rank
//   "offer"  rails, shape         ->
//                                 <-  "answer" rails, token, shape, ring
//   "ring"   rails, ring          ->
//   one rdma_cm connection per queue pair, greeting in its private data
// A rail is a network card of one end and the card of the other end that has
// the same place in the rank table; each has its address, port, MTU and key.
// The end with fewer cards decides. The number of queue pairs in the shape is
// that of each rail.
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

struct SetupWords;

inline constexpr int kResolveMs = 3000;  // for rdma_cm to find an address, and a way

// What a set-up takes from its surroundings.
struct SetupTools {
  VerbsApi* verbs = nullptr;
  CmAgent* agent = nullptr;
  ControlThread* deviceThread = nullptr;  // reads the device's events
  RingShape shape;                        // proposed
  QueueSettings settings;
  uint64_t stripeBytes = 512 * 1024;
  uint64_t directBytes = UINT64_MAX;     // least frame that is written without copies
  std::vector<std::string> flagDevices;  // those that may use flags; "all": each
  QpPortConfig ports;
  double timeoutSeconds = 20;  // of the whole attempt
};

class RdmaSetup final : public LinkSetup {
 public:
  RdmaSetup(SetupHost* host, SetupTools tools);
  ~RdmaSetup() override;

  void begin() override;
  void abandon() override;
  void onMessage(std::string text, std::vector<UniqueFd> fds) override;

 private:
  using Words = SetupWords;
  // What is known of a rail.
  struct RailFacts {
    PortChoice port;
    std::shared_ptr<Device> device;
    IpAddress peer;
    ibv_mtu mtu = IBV_MTU_4096;  // the smaller one
    uint32_t peerKey = 0;
    std::vector<uint16_t> sourcePorts;
  };
  Status prepare();
  Words makeWords(const char* kind) const;
  Status makeQueues(const Words& words);
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
  RingShape ownShape(const IpAddress& theirs) const;
  bool mayUseFlags() const;
  const RailFacts& railOf(size_t index) const { return rails_[index % rails_.size()]; }
  std::string peerName() const;
  uint32_t flowLabel(size_t index) const;

  SetupHost* host_;
  SetupTools tools_;
  std::vector<RailFacts> rails_;
  RingShape shape_;  // agreed; its queue pairs are those of a rail
  std::shared_ptr<QueueSet> queues_;
  std::vector<std::shared_ptr<CmId>> ids_;
  std::vector<bool> established_;
  uint64_t peerRing_ = 0;
  bool flags_ = false;  // what has been said so far speaks for them
  bool ringKnown_ = false;
  uint64_t token_ = 0;        // expected here (answering end)
  uint64_t callerToken_ = 0;  // expected there
  uint64_t timer_ = 0;
  bool over_ = false;
};

}  // namespace hccl::transport::rdma
