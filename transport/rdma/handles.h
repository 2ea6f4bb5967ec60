// Owners of verbs objects. A handle is destroyed with the call that its maker names; the interface
// must outlive it (it lives as long as the process).
#pragma once

#include <utility>

#include "transport/rdma/verbs_api.h"

namespace hccl::transport::rdma {

template <typename T, auto Destroy>
class Handle {
 public:
  Handle() = default;
  Handle(VerbsApi* verbs, T* object) : verbs_(verbs), object_(object) {}
  Handle(Handle&& other) noexcept
      : verbs_(other.verbs_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      verbs_ = other.verbs_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  void reset() {
    if (T* object = std::exchange(object_, nullptr); object != nullptr) (verbs_->*Destroy)(object);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  VerbsApi* verbs_ = nullptr;
  T* object_ = nullptr;
};

using ProtectionDomain = Handle<ibv_pd, &VerbsApi::deallocPd>;
using MemoryRegion = Handle<ibv_mr, &VerbsApi::deregMr>;
using CompletionChannel = Handle<ibv_comp_channel, &VerbsApi::destroyCompChannel>;
using CompletionQueue = Handle<ibv_cq, &VerbsApi::destroyCq>;
using QueuePair = Handle<ibv_qp, &VerbsApi::destroyQp>;
using EventChannel = Handle<rdma_event_channel, &VerbsApi::destroyEventChannel>;
using ConnectionId = Handle<rdma_cm_id, &VerbsApi::destroyId>;

}  // namespace hccl::transport::rdma
