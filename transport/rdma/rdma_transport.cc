#include "transport/rdma/rdma_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "src/base/env.h"
#include "src/base/log.h"
#include "transport/rdma/rdma_setup.h"

namespace hccl::transport {
namespace {

using rdma::choosePort;
using rdma::kMaxQueuePairs;
using rdma::mtuBytes;
using rdma::PortChoice;
using rdma::proposedShape;
using rdma::RdmaSetup;
using rdma::realVerbs;
using rdma::SetupTools;

constexpr double kLongestAttempt = 20;  // seconds; then the pair goes on with TCP

void logChoiceOnce(const Result<PortChoice>& choice) {
  static std::once_flag once;
  std::call_once(once, [&] {
    if (!choice.isOk()) {
      HCCL_RUN_INFO("RDMA is not used: {}", choice.status().text());
      return;
    }
    HCCL_RUN_INFO("RDMA device {} port {}: address {} (GID index {}), path MTU {}, {}",
                  choice->device, choice->port, choice->address.toString(), choice->gidIndex,
                  mtuBytes(choice->mtu),
                  choice->exact ? "which is the rank's own"
                                : "as no device has the rank's own; the nearest one");
  });
}

class RdmaTransport final : public TransportClass {
 public:
  std::string_view name() const override { return "rdma"; }

  std::string probe(const PairFacts& facts) const override {
    if (!realVerbs()->hasDevices()) return "no RDMA device";
    // Inside a server memory is shared, unless the user wants otherwise.
    if (facts.mine.sameKernel(facts.theirs) && transportAllowed(facts.transports, "shm")) {
      return "inside a server only with HCCL_INTRA_ROCE_ENABLE=1";
    }
    const auto choice = choosePort(realVerbs(), facts.mine.tcp.ip);
    logChoiceOnce(choice);
    return choice.isOk() ? "" : choice.status().text();
  }

  std::unique_ptr<LinkSetup> start(SetupHost* host) const override {
    SetupTools tools;
    tools.verbs = realVerbs();
    tools.deviceThread = host->thread();
    tools.shape = proposedShape();
    if (const auto env = environment(); env.isOk()) {
      const Environment& e = **env;
      tools.settings.trafficClass = static_cast<uint8_t>(e.rdmaTrafficClass);
      tools.settings.serviceLevel = static_cast<uint8_t>(e.rdmaServiceLevel);
      tools.settings.timeout = static_cast<uint8_t>(e.rdmaTimeout);
      tools.settings.retryCount = static_cast<uint8_t>(e.rdmaRetryCount);
      tools.shape.queuePairs = std::clamp<uint32_t>(e.rdmaQpsPerConnection, 1, kMaxQueuePairs);
      tools.stripeBytes = static_cast<uint64_t>(e.multiQpThresholdKb) * 1024;
      if (e.rdmaDirectKb != 0) tools.directBytes = static_cast<uint64_t>(e.rdmaDirectKb) * 1024;
      tools.flagDevices = e.rdmaFlagPolling;
      tools.ports = e.qpPorts;
      tools.timeoutSeconds = std::min(kLongestAttempt, e.connectTimeoutSec / 2.0);
    }
    return std::make_unique<RdmaSetup>(host, std::move(tools));
  }
};

}  // namespace

const TransportClass* rdmaTransport() {
  static const RdmaTransport transport;
  return &transport;
}

bool rdmaIsPossible() {
  return rdma::realVerbs()->hasDevices();
}

namespace rdma {
RingShape& proposedShape() {
  static RingShape shape;
  return shape;
}
}  // namespace rdma

}  // namespace hccl::transport
