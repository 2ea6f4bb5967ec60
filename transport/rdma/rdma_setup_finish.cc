// RdmaSetup: the link that comes of it.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/runtime/engine.h"
#include "transport/rdma/rdma_setup.h"

namespace hccl::transport::rdma {
namespace {

// Of a connection that is a link. A process that ends is disconnected by its kernel, too: its
// control connection, which knows more, has the first word.
void onConnectionEvent(Device* device, uint64_t user, const CmId::Event& event) {
  constexpr double kFirstWord = 0.5;  // seconds
  switch (event.type) {
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return device->tell(
          user,
          Status(HCCL_E_NETWORK, fmt::format("rdma_cm reports {}", CmAgent::nameOf(event.type))),
          event.type == RDMA_CM_EVENT_DISCONNECTED ? kFirstWord : 0);
    default:  // the connection stays as it is
      return;
  }
}

}  // namespace

void RdmaSetup::finishIfComplete() {
  if (over_ || !ringKnown_) return;
  if (std::find(established_.begin(), established_.end(), false) != established_.end()) return;
  RdmaLink::Settings settings;
  settings.remoteRing = peerRing_;
  for (const RailFacts& rail : rails_) settings.remoteKeys.push_back(rail.peerKey);
  settings.stripeBytes = tools_.stripeBytes;
  settings.directBytes = tools_.directBytes;
  settings.flags = flags_;
  if (host_->thread() != nullptr) {
    const auto wakeSet = runtime::Engine::instance().wakeSet();
    const auto doorbell = runtime::Engine::instance().doorbell();
    if (!wakeSet.isOk()) return fail(wakeSet.status());
    if (!doorbell.isOk()) return fail(doorbell.status());
    settings.wakeSet = *wakeSet;
    settings.sleepers = doorbell->sleepers;
  }
  MadeLink made = makeLink(std::move(settings));
  if (timer_ != 0) host_->thread()->cancel(std::exchange(timer_, 0));
  if (token_ != 0) tools_.agent->forget(std::exchange(token_, 0));
  over_ = true;
  std::vector<MadeLink> links;
  links.push_back(std::move(made));
  host_->finish(std::move(links));
}

MadeLink RdmaSetup::makeLink(RdmaLink::Settings settings) {
  const PairFacts& facts = host_->facts();
  RdmaLink::Names names;
  names.peer = facts.peer;
  names.communicator = facts.communicator;
  names.local = {facts.mine.tcp.ip.toString(), facts.device, {}};
  names.remote = {facts.theirs.tcp.ip.toString(), facts.theirs.device, {}};
  std::string ways;
  for (const RailFacts& rail : rails_) {
    names.local.ips.push_back(rail.port.address.toString());
    names.remote.ips.push_back(rail.peer.toString());
    ways += fmt::format("{}between {} ({} port {}) and {}, path MTU {}, ",
                        ways.empty() ? "" : "and ", rail.port.address.toString(), rail.port.device,
                        rail.port.port, rail.peer.toString(), mtuBytes(rail.mtu));
  }
  auto rdma = std::make_unique<RdmaLink>(queues_, std::move(settings), std::move(names));
  std::vector<uint64_t> users;
  for (size_t i = 0; i < rails_.size(); ++i) {
    users.push_back(rdma->watch(i, rails_[i].port, host_->failureReporter()));
  }
  for (size_t i = 0; i < ids_.size(); ++i) {
    ids_[i]->onEvent = [device = railOf(i).device,
                        user = users[i % users.size()]](const CmId::Event& event) {
      onConnectionEvent(device.get(), user, event);
    };
    queues_->companions.push_back(std::move(ids_[i]));
  }

  MadeLink made;
  made.kind = facts.kind;
  made.link = std::make_unique<Link>();
  made.link->peer = facts.peer;
  made.link->linkClass = LinkClass::kMessage;
  made.link->description = fmt::format(
      "rdma: {} queue pair{} {}{} cells of {} bytes{}", ids_.size(), ids_.size() == 1 ? "" : "s",
      ways, queues_->shape().depth, queues_->shape().cellBytes, flags_ ? ", flags" : "");
  ids_.clear();
  made.onPeerLeft = [link = rdma.get()] { link->setPeerLeft(); };
  made.link->message = std::move(rdma);
  made.keep = queues_;
  return made;
}

}  // namespace hccl::transport::rdma
