// Device: what a process shares per RDMA device: context, protection domain, reader of asynchronous
// events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "transport/control_thread.h"
#include "transport/rdma/handles.h"
#include "transport/rdma/port_choice.h"
#include "transport/rdma/region_cache.h"

namespace hccl::transport::rdma {

class Device : public std::enable_shared_from_this<Device> {
 public:
  // What a user has of the device.
  struct Interest {
    PortChoice port;
    const ibv_cq* cq = nullptr;
    std::vector<const ibv_qp*> queuePairs = {};
  };
  // Turns what happened into the user's own error; must be brief. Then that is reported, unless it
  // is no error for this user. Both on the control thread.
  using Trouble = std::function<Status(const Status&)>;
  using Report = std::function<void(const Status&)>;

  // The one object of the device; made on first use, kept while somebody holds it. Control thread
  // only. `thread` nullptr: events are read by readEvents() only (tests).
  static Result<std::shared_ptr<Device>> of(VerbsApi* verbs, ControlThread* thread,
                                            ibv_context* context);
  ~Device();

  VerbsApi* verbs() const { return verbs_; }
  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_.get(); }
  const std::string& name() const { return name_; }
  const ibv_device_attr& limits() const { return limits_; }
  RegionCache& regions() { return *regions_; }

  // Users hear when their port goes down or loses the address, when their objects fail, and when
  // the device dies. Any thread.
  uint64_t addUser(Interest interest, Trouble trouble, Report report);
  // Afterwards the trouble of this user is not called any more.
  void removeUser(uint64_t user);
  // What somebody else has found out; nothing happens when the user is gone. The report comes
  // `delay` seconds later. Control thread.
  void tell(uint64_t user, const Status& status, double delay = 0);

  void readEvents();

 private:
  Device() = default;
  using Reports = std::vector<std::pair<Report, Status>>;
  Reports onEvent(const ibv_async_event& event);
  Status judge(const ibv_async_event& event, const Interest& interest) const;

  struct User {
    Interest interest;
    Trouble trouble;
    Report report;
  };
  VerbsApi* verbs_ = nullptr;
  ControlThread* thread_ = nullptr;
  ibv_context* context_ = nullptr;
  std::string name_;
  ibv_device_attr limits_{};
  ProtectionDomain pd_;
  std::unique_ptr<RegionCache> regions_;  // in the domain
  uint64_t watch_ = 0;
  std::mutex mutex_;
  uint64_t nextUser_ = 1;           // guarded
  std::map<uint64_t, User> users_;  // guarded
};

}  // namespace hccl::transport::rdma
