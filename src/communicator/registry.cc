#include "src/communicator/registry.h"

#include <fmt/core.h>

#include <atomic>
#include <mutex>

#include "src/fault/ei_errors.h"
#include "src/runtime/engine.h"
#include "src/runtime/handle_table.h"

namespace hccl {
namespace {

// A place for one communicator. The lock is held for a copy of the pointer only.
class Place {
 public:
  uint32_t index = 0;

  std::shared_ptr<Communicator> get() {
    lock();
    std::shared_ptr<Communicator> copy = communicator_;
    unlock();
    return copy;
  }
  std::shared_ptr<Communicator> exchange(std::shared_ptr<Communicator> next) {
    lock();
    std::swap(communicator_, next);
    unlock();
    return next;
  }

 private:
  void lock() {
    while (locked_.test_and_set(std::memory_order_acquire)) {
      while (locked_.test(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() { locked_.clear(std::memory_order_release); }

  std::atomic_flag locked_;
  std::shared_ptr<Communicator> communicator_;
};

}  // namespace

struct Registry::Impl {
  using Table = runtime::HandleTable<Place, 0x48, 16384>;

  // Changes, and the search by name, are rare and take turns.
  mutable std::mutex mutex;
  Table table;

  std::shared_ptr<Communicator> find(HcclComm handle) const {
    Place* place = table.find(handle);
    if (place == nullptr) return nullptr;
    std::shared_ptr<Communicator> found = place->get();
    // The place may have got another communicator between the two steps.
    return table.find(handle) == place ? found : nullptr;
  }
  template <typename Visit>
  void forEach(const Visit& visit) const {
    for (uint32_t i = 0; i < table.count(); ++i) {
      void* handle = table.liveHandle(i);
      if (handle == nullptr) continue;
      if (auto communicator = table.at(i)->get()) visit(handle, std::move(communicator));
    }
  }
};

Registry& Registry::instance() {
  static Registry* registry = new Registry;  // lives until the process ends
  return *registry;
}

Registry::Registry() : impl_(std::make_unique<Impl>()) {}

Result<HcclComm> Registry::add(std::shared_ptr<Communicator> communicator) {
  std::lock_guard lock(impl_->mutex);
  bool taken = false;
  impl_->forEach([&](HcclComm, const std::shared_ptr<Communicator>& other) {
    taken |= other->name() == communicator->name() && other->rank() == communicator->rank();
  });
  if (taken) {
    return argumentError(HCCL_E_PARA, "CommInit", communicator->name(), "hcclCommName",
                         "a name that no communicator of this process has");
  }
  uint32_t index = 0;
  Place* place = impl_->table.acquire(&index);
  if (place == nullptr) {
    return Status(HCCL_E_UNAVAIL, "all 16384 communicators of the process are in use");
  }
  place->index = index;
  place->exchange(std::move(communicator));
  return impl_->table.publish(index);
}

std::shared_ptr<Communicator> Registry::find(HcclComm handle) const {
  return impl_->find(handle);
}

HcclComm Registry::findByName(const std::string& name) const {
  const int32_t device = runtime::currentDevice();
  std::lock_guard lock(impl_->mutex);
  HcclComm any = nullptr;
  HcclComm own = nullptr;
  impl_->forEach([&](HcclComm handle, const std::shared_ptr<Communicator>& communicator) {
    if (communicator->name() != name) return;
    if (any == nullptr) any = handle;
    if (own == nullptr && communicator->device() == device) own = handle;
  });
  return own != nullptr ? own : any;
}

bool Registry::nameTaken(const std::string& name, uint32_t rank) const {
  std::lock_guard lock(impl_->mutex);
  bool taken = false;
  impl_->forEach([&](HcclComm, const std::shared_ptr<Communicator>& communicator) {
    taken |= communicator->name() == name && communicator->rank() == rank;
  });
  return taken;
}

std::shared_ptr<Communicator> Registry::remove(HcclComm handle) {
  std::lock_guard lock(impl_->mutex);
  Place* place = impl_->table.find(handle);
  if (place == nullptr || !impl_->table.retract(handle)) return nullptr;
  std::shared_ptr<Communicator> communicator = place->exchange(nullptr);
  impl_->table.recycle(place->index);
  return communicator;
}

std::vector<std::shared_ptr<Communicator>> Registry::all() const {
  std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<Communicator>> result;
  impl_->forEach([&](HcclComm, std::shared_ptr<Communicator> communicator) {
    result.push_back(std::move(communicator));
  });
  return result;
}

}  // namespace hccl
