#include "transport/rdma/device.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/log.h"

namespace hccl::transport::rdma {
namespace {

std::map<ibv_context*, std::weak_ptr<Device>>& known() {
  static auto* devices = new std::map<ibv_context*, std::weak_ptr<Device>>;
  return *devices;
}

}  // namespace

Result<std::shared_ptr<Device>> Device::of(VerbsApi* verbs, ControlThread* thread,
                                           ibv_context* context) {
  auto& slot = known()[context];
  if (auto device = slot.lock()) return device;
  std::shared_ptr<Device> device(new Device);
  device->verbs_ = verbs;
  device->thread_ = thread;
  device->context_ = context;
  device->name_ = verbs->deviceName(context);
  if (const int error = verbs->queryDevice(context, &device->limits_); error != 0) {
    return Status(HCCL_E_NETWORK,
                  fmt::format("{} cannot be queried: {}", device->name_, std::strerror(error)));
  }
  device->pd_ = ProtectionDomain(verbs, verbs->allocPd(context));
  if (!device->pd_) {
    return Status(HCCL_E_MEMORY,
                  fmt::format("Failed to allocate resource pd with info {}. Reason: {}.",
                              device->name_, std::strerror(errno)),
                  7);
  }
  device->regions_ = std::make_unique<RegionCache>(verbs, device->pd(), device->name_);
  if (thread != nullptr) {
    // Without an owner the watch is removed by the destructor, which runs on this thread.
    device->watch_ = thread->watch(context->async_fd, EPOLLIN, [raw = device.get()](uint32_t) {
      const auto alive = raw->shared_from_this();
      alive->readEvents();
    });
  }
  slot = device;
  return device;
}

Device::~Device() {
  // The last owner may be any thread; the watch belongs to the control thread.
  if (thread_ == nullptr || watch_ == 0) return;
  thread_->run([this] { thread_->unwatch(watch_); });
}

uint64_t Device::addUser(Interest interest, Trouble trouble, Report report) {
  std::lock_guard lock(mutex_);
  const uint64_t user = nextUser_++;
  users_.emplace(user, User{std::move(interest), std::move(trouble), std::move(report)});
  return user;
}

void Device::removeUser(uint64_t user) {
  std::lock_guard lock(mutex_);
  users_.erase(user);
}

void Device::tell(uint64_t user, const Status& status, double delay) {
  Report report;
  Status own;
  {
    std::lock_guard lock(mutex_);
    const auto known = users_.find(user);
    if (known == users_.end()) return;
    own = known->second.trouble(status);
    report = known->second.report;
  }
  if (own.isOk() || !report) return;
  if (delay == 0 || thread_ == nullptr) return report(own);
  thread_->at(Deadline::after(delay), [report, own] { report(own); });
}

void Device::readEvents() {
  ibv_async_event event{};
  while (verbs_->getAsyncEvent(context_, &event) == 0) {
    // Until it is acknowledged, what it names cannot be destroyed, nor its address be used again.
    const Reports reports = onEvent(event);
    verbs_->ackAsyncEvent(&event);
    for (const auto& [report, status] : reports) report(status);
  }
}

Status Device::judge(const ibv_async_event& event, const Interest& interest) const {
  const auto broken = [&](const char* what) {
    return Status(HCCL_E_NETWORK, fmt::format("{} {} has failed ({})", what, name_,
                                              ibv_event_type_str(event.event_type)));
  };
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      return broken("the RDMA device");
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_LID_CHANGE:
      return event.element.port_num == interest.port.port ? checkPort(verbs_, interest.port)
                                                          : Status();
    case IBV_EVENT_CQ_ERR:
      return event.element.cq == interest.cq ? broken("a completion queue of") : Status();
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR: {
      const auto& own = interest.queuePairs;
      return std::find(own.begin(), own.end(), event.element.qp) == own.end()
                 ? Status()
                 : broken("a queue pair of");
    }
    default:  // news that changes nothing for a link
      return Status();
  }
}

Device::Reports Device::onEvent(const ibv_async_event& event) {
  HCCL_RUN_EVENT("RDMA device {} reports {}", name_, ibv_event_type_str(event.event_type));
  Reports reports;
  std::lock_guard lock(mutex_);
  for (const auto& [number, user] : users_) {
    const Status status = judge(event, user.interest);
    if (status.isOk()) continue;
    const Status own = user.trouble(status);
    if (!own.isOk() && user.report) reports.emplace_back(user.report, own);
  }
  return reports;
}

}  // namespace hccl::transport::rdma
