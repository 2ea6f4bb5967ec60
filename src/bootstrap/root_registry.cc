#include "src/bootstrap/root_registry.h"

#include <pthread.h>

#include <algorithm>

#include "src/base/log.h"

namespace hccl::bootstrap {
namespace {

// Set while the registry lives: the handlers may run before it exists and after it is gone.
std::atomic<RootRegistry*> current{nullptr};

}  // namespace

RootRegistry& RootRegistry::instance() {
  static RootRegistry registry;
  return registry;
}

RootRegistry::RootRegistry() {
  // What the servers' threads use has to be made before, so that it is unmade after them.
  (void)randomDigest();
  HCCL_DEBUG("root registry starts");
  current.store(this);
  static const int registered = pthread_atfork(&beforeFork, &afterForkInParent, &afterForkInChild);
  (void)registered;
}

RootRegistry::~RootRegistry() {
  current.store(nullptr);
  servers_.clear();
}

Status RootRegistry::start(RootServerOptions options) {
  HCCL_ASSIGN_OR_RETURN(std::shared_ptr<RootServer> server, RootServer::start(std::move(options)));
  const std::lock_guard lock(mutex_);
  removeFinished();
  servers_.push_back(std::move(server));
  return Status::ok();
}

void RootRegistry::stopLingering(const IpAddress& ip, std::span<const uint16_t> ports) {
  const std::lock_guard lock(mutex_);
  std::erase_if(servers_, [&](const std::shared_ptr<RootServer>& server) {
    const SocketAddress& address = server->address();
    return server->isLingering() && address.ip == ip &&
           std::find(ports.begin(), ports.end(), address.port) != ports.end();
  });
}

bool RootRegistry::isLive(const SocketAddress& address) {
  const std::lock_guard lock(mutex_);
  removeFinished();
  return std::any_of(servers_.begin(), servers_.end(),
                     [&](const auto& server) { return server->address() == address; });
}

void RootRegistry::removeFinished() {
  std::erase_if(servers_, [](const auto& server) { return server->isFinished(); });
}

void RootRegistry::beforeFork() {
  RootRegistry* registry = current.load();
  if (registry == nullptr) return;
  registry->mutex_.lock();
  for (const auto& server : registry->servers_) server->lockDescriptors();
}

void RootRegistry::afterForkInParent() {
  RootRegistry* registry = current.load();
  if (registry == nullptr) return;
  for (const auto& server : registry->servers_) server->unlockDescriptors();
  registry->mutex_.unlock();
}

void RootRegistry::afterForkInChild() {
  RootRegistry* registry = current.load();
  if (registry == nullptr) return;
  for (auto& server : registry->servers_) {
    server->closeDescriptorsInChild();
    server->unlockDescriptors();
  }
  // Their threads do not exist here: they are neither joined nor destroyed.
  static auto* const abandoned = new std::vector<std::vector<std::shared_ptr<RootServer>>>();
  abandoned->push_back(std::move(registry->servers_));
  registry->servers_.clear();
  registry->mutex_.unlock();
}

}  // namespace hccl::bootstrap
