// makeLinks and localEndpoint: the door of this folder.
#include <algorithm>
#include <new>
#include <utility>

#include "src/base/env_parser.h"
#include "src/runtime/engine.h"
#include "transport/control_thread.h"
#include "transport/links_core.h"
#include "transport/listeners.h"
#include "transport/transport.h"

namespace hccl::transport {
namespace {

constexpr double kFlushSeconds = 5;  // a peer that is there acknowledges in microseconds

class LinksImpl final : public Links {
 public:
  explicit LinksImpl(std::shared_ptr<LinksCore> core) : core_(std::move(core)) {}
  ~LinksImpl() override {
    // A forked child only forgets: sockets and memory belong to the parent.
    if (runtime::isForkedChild()) {
      (void)new (std::nothrow) std::shared_ptr<LinksCore>(std::move(core_));
      return;
    }
    // What a failed communicator has sent is of no use to anybody.
    if (core_->abortCause().isOk()) core_->flush(Deadline::after(kFlushSeconds));
    Registry::instance().remove(core_);
    core_->close();
    core_.reset();
    Listeners::instance().linksGone();
  }

  Status connect(const std::vector<uint32_t>& peers, LinkKind kind, Deadline deadline) override {
    return core_->connect(peers, kind, deadline);
  }
  Link* find(uint32_t peer, LinkKind kind) noexcept override { return core_->find(peer, kind); }
  void cancel() override { core_->cancel(); }
  void onFailure(Failure callback) override { core_->setFailure(std::move(callback)); }
  bool hasLeft(uint32_t peer) const override { return core_->hasLeft(peer); }
  void announce(const Announcement& own) override { core_->announce(own); }
  bool announced(uint32_t peer, Announcement& theirs) const override {
    return core_->announced(peer, theirs);
  }
  uint64_t departures() const override { return core_->departures(); }
  void abort(const Status& cause) override { core_->abort(cause); }
  std::vector<std::string> exceptionLocations() const override {
    return core_->exceptionLocations();
  }

 private:
  std::shared_ptr<LinksCore> core_;
};

}  // namespace

Result<std::string> localEndpoint(int32_t device, const std::string& hostAddress, uint16_t port) {
  return Listeners::instance().endpoint(device, hostAddress, port);
}

Result<HostFacts> hostFactsOf(const std::string& endpoint) {
  HCCL_ASSIGN_OR_RETURN(const Card card, Card::parse(endpoint));
  HostFacts facts;
  facts.kernel = card.boot;
  for (const std::string_view name : splitText(card.usable, ','))
    facts.transports.emplace_back(name);
  facts.processors = std::max(1U, card.processors);
  return facts;
}

Result<std::unique_ptr<Links>> makeLinks(const LinksConfig& config) {
  HCCL_ASSIGN_OR_RETURN(ControlThread * thread, ControlThread::instance());
  HCCL_ASSIGN_OR_RETURN(std::shared_ptr<LinksCore> core, Registry::instance().add(config));
  if (const Status status = Listeners::instance().linksMade(core->mine()); !status.isOk()) {
    Registry::instance().remove(core);
    return status;
  }
  core->startHeartbeat();
  thread->post([id = core->id(), rank = core->rank()] { Listeners::instance().unpark(id, rank); });
  return std::unique_ptr<Links>(std::make_unique<LinksImpl>(std::move(core)));
}

}  // namespace hccl::transport
