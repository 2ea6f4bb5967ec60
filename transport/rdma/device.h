// Device: what a process shares per RDMA device: context, protection domain, reader of asynchronous
// events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "src/base/status.h"
#include "transport/control_thread.h"
#include "transport/rdma/handles.h"
#include "transport/rdma/port_choice.h"

namespace hccl::transport::rdma {

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Turns what became of the port into the user's own error; must be brief. Then that is reported.
  // Both on the control thread.
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

  // Users of a port hear when it goes down, loses the address, or the device dies. Any thread.
  uint64_t addUser(const PortChoice& choice, Trouble trouble, Report report);
  // Afterwards the trouble of this user is not called any more.
  void removeUser(uint64_t user);

  void readEvents();

 private:
  Device() = default;
  void onEvent(const ibv_async_event& event);
  Status judge(const ibv_async_event& event, const PortChoice& choice) const;

  struct User {
    PortChoice choice;
    Trouble trouble;
    Report report;
  };
  VerbsApi* verbs_ = nullptr;
  ControlThread* thread_ = nullptr;
  ibv_context* context_ = nullptr;
  std::string name_;
  ibv_device_attr limits_{};
  ProtectionDomain pd_;
  uint64_t watch_ = 0;
  std::mutex mutex_;
  uint64_t nextUser_ = 1;           // guarded
  std::map<uint64_t, User> users_;  // guarded
};

}  // namespace hccl::transport::rdma
