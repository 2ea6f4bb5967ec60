#include "src/runtime/context.h"

#include <array>
#include <atomic>
#include <mutex>

#include "src/runtime/devices.h"
#include "src/runtime/engine.h"
#include "src/runtime/stream.h"

namespace hccl::runtime {
namespace {

constexpr size_t kMaxDevices = 1024;

struct Context {
  int32_t device = 0;
  uint32_t index = 0;
  std::atomic<void*> defaultStream{nullptr};
};

using ContextTable = HandleTable<Context, 0x43, 4096>;

ContextTable& contextTable() {
  static ContextTable* table = new ContextTable;  // lives until the process ends
  return *table;
}

std::mutex makeMutex;
std::array<std::atomic<void*>, kMaxDevices> defaultContexts;
thread_local void* threadContext = nullptr;

Result<void*> makeContext(int32_t device) {
  uint32_t index = 0;
  Context* context = contextTable().acquire(&index);
  if (context == nullptr) return Status(HCCL_E_UNAVAIL, "all 4096 contexts are in use");
  context->device = device;
  context->index = index;
  context->defaultStream.store(nullptr);
  return contextTable().publish(index);
}

Result<void*> defaultContext(int32_t device) {
  auto& place = defaultContexts[static_cast<size_t>(device)];
  if (void* handle = place.load(std::memory_order_acquire)) return handle;
  std::lock_guard lock(makeMutex);
  if (void* handle = place.load(std::memory_order_acquire)) return handle;
  HCCL_ASSIGN_OR_RETURN(void* made, makeContext(device));
  place.store(made, std::memory_order_release);
  return made;
}

}  // namespace

Result<void*> currentContext() {
  if (threadContext != nullptr && contextTable().find(threadContext) != nullptr) {
    return threadContext;
  }
  bool set = false;
  const int32_t device = currentDevice(&set);
  if (!set) return Status(HCCL_E_NOT_FOUND, "the thread has no current device");
  return defaultContext(device);
}

Result<void*> createContext(int32_t device) {
  HCCL_ASSIGN_OR_RETURN(void* context, makeContext(device));
  HCCL_RETURN_IF_ERROR(setCurrentContext(context));
  return context;
}

Status destroyContext(void* handle) {
  Context* context = contextTable().find(handle);
  if (context == nullptr) return Status(HCCL_E_PARA, "not a live context");
  if (defaultContexts[static_cast<size_t>(context->device)].load() == handle) {
    return Status(HCCL_E_PARA, "a device's default context ends with aclrtResetDevice");
  }
  if (!contextTable().retract(handle)) return Status(HCCL_E_PARA, "not a live context");
  if (threadContext == handle) clearCurrentDevice();
  Status status;
  if (void* stream = context->defaultStream.exchange(nullptr)) {
    status = destroyStream(stream, false);
  }
  contextTable().recycle(context->index);
  return status;
}

Status setCurrentContext(void* handle) {
  Context* context = contextTable().find(handle);
  if (context == nullptr) return Status(HCCL_E_PARA, "not a live context");
  setCurrentDevice(context->device);
  threadContext = handle;
  return Status::ok();
}

void setDeviceAndContext(int32_t device) {
  setCurrentDevice(device);
  threadContext = nullptr;  // the default one, made when somebody asks
}

void clearCurrentDevice() {
  setCurrentDevice(-1);
  threadContext = nullptr;
}

Result<Stream*> streamOf(aclrtStream handle) {
  if (handle != nullptr) {
    if (Stream* stream = findStream(handle); stream != nullptr) return stream;
    return Status(HCCL_E_PARA, "not a live stream");
  }
  HCCL_ASSIGN_OR_RETURN(void* contextHandle, currentContext());
  Context* context = contextTable().find(contextHandle);
  if (context == nullptr) return Status(HCCL_E_NOT_FOUND, "the context was destroyed");
  void* stream = context->defaultStream.load(std::memory_order_acquire);
  if (stream == nullptr) {
    std::lock_guard lock(makeMutex);
    stream = context->defaultStream.load(std::memory_order_acquire);
    if (stream == nullptr) {
      HCCL_ASSIGN_OR_RETURN(stream, createStream(context->device, 0, 0));
      context->defaultStream.store(stream, std::memory_order_release);
    }
  }
  Stream* found = findStream(stream);
  if (found == nullptr) return Status(HCCL_E_PARA, "the default stream was destroyed");
  return found;
}

void forgetDefaultStreams(int32_t device) {
  ContextTable& table = contextTable();
  for (uint32_t i = 0; i < table.count(); ++i) {
    if (device < 0 || table.at(i)->device == device) table.at(i)->defaultStream.store(nullptr);
  }
}

}  // namespace hccl::runtime
