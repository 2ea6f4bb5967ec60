// Registry: the communicators of this process, which share sockets and tell each other of ranks
// that left.
#include <fmt/core.h>

#include "transport/links_core.h"

namespace hccl::transport {

Registry& Registry::instance() {
  static auto* registry = new Registry;
  return *registry;
}

Result<std::shared_ptr<LinksCore>> Registry::add(const LinksConfig& config) {
  if (config.rank >= config.cards.size()) {
    return Status(HCCL_E_PARA,
                  fmt::format("rank {} has no card among {}", config.rank, config.cards.size()));
  }
  for (size_t i = 0; i < config.cards.size(); ++i) {
    if (config.cards[i].rank != i) {
      return Status(HCCL_E_PARA,
                    fmt::format("card {} belongs to rank {}", i, config.cards[i].rank));
    }
  }
  HCCL_ASSIGN_OR_RETURN(const Card mine, Card::parse(config.cards[config.rank].endpoint));
  HCCL_RETURN_IF_ERROR(checkVersion(mine, config.rank));
  if (mine.process != processIdentity().process) {
    return Status(HCCL_E_PARA,
                  fmt::format("the card of rank {} is another process' one", config.rank));
  }
  std::lock_guard lock(mutex_);
  Lease& lease = leases_[mine.lease];
  // The n-th communicator of this name and these cards here meets the n-th one there.
  Digest base = baseId(config);
  const uint64_t generation = lease.generations[base]++;
  HCCL_ASSIGN_OR_RETURN(auto core, LinksCore::make(config, mine, generation));
  ++lease.live;
  cores_[{core->id(), core->rank()}] = core;
  // Ranks of this process that already wait for this one.
  for (auto it = cores_.lower_bound({core->id(), 0});
       it != cores_.end() && it->first.first == core->id(); ++it) {
    const auto& other = it->second;
    if (other == core || !other->isWanted(core->rank())) continue;
    if (other->allowsLocal() && core->allowsLocal()) {
      if (const Status status = joinLocked(other.get(), core.get()); !status.isOk()) {
        other->setHopeless(core->rank(), status);
      }
    } else {
      other->callWanted(core->rank());
    }
  }
  return core;
}

void Registry::remove(const std::shared_ptr<LinksCore>& core) {
  std::lock_guard lock(mutex_);
  cores_.erase({core->id(), core->rank()});
  for (auto it = cores_.lower_bound({core->id(), 0});
       it != cores_.end() && it->first.first == core->id(); ++it) {
    it->second->siblingLeft(*core);
  }
  if (--leases_[core->mine().lease].live == 0) {
    idleLeases_.push_back(core->mine().lease);
    forgetOldLeases();
  }
}

void Registry::forgetOldLeases() {
  while (idleLeases_.size() > kRememberedLeases) {
    const auto lease = leases_.find(idleLeases_.front());
    if (lease != leases_.end() && lease->second.live == 0) leases_.erase(lease);
    idleLeases_.pop_front();
  }
}

std::shared_ptr<LinksCore> Registry::find(const Digest& communicator, uint32_t rank) {
  std::lock_guard lock(mutex_);
  const auto it = cores_.find({communicator, rank});
  return it == cores_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<LinksCore>> Registry::siblings(const LinksCore& core) {
  std::vector<std::shared_ptr<LinksCore>> found;
  std::lock_guard lock(mutex_);
  for (auto it = cores_.lower_bound({core.id(), 0});
       it != cores_.end() && it->first.first == core.id(); ++it) {
    if (it->second.get() != &core) found.push_back(it->second);
  }
  return found;
}

Status Registry::joinLocal(const std::shared_ptr<LinksCore>& core, uint32_t peer, bool* joined,
                           bool* later) {
  if (!core->allowsLocal()) return Status();
  std::lock_guard lock(mutex_);
  const auto it = cores_.find({core->id(), peer});
  if (it == cores_.end()) {
    *later = true;
    return Status();
  }
  if (!it->second->allowsLocal()) return Status();
  HCCL_RETURN_IF_ERROR(joinLocked(core.get(), it->second.get()));
  *joined = true;
  return Status();
}

Status Registry::joinLocked(LinksCore* core, LinksCore* peer) {
  if (core->find(peer->rank(), LinkKind::kCollective) != nullptr) return Status();
  if (!sameDigest(core->key(), peer->key())) {
    return Status(HCCL_E_PARA,
                  fmt::format("rank {} and rank {} of {} hold different secrets", core->rank(),
                              peer->rank(), core->config().communicator));
  }
  std::vector<MadeLink> mine, theirs;
  HCCL_RETURN_IF_ERROR(makeLocalLinks({core->rank(), core->config().device},
                                      {peer->rank(), peer->config().device}, &mine, &theirs));
  core->publish(peer->rank(), &mine);
  peer->publish(core->rank(), &theirs);
  return Status();
}

}  // namespace hccl::transport
