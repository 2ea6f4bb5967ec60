// Contexts: a device with a default stream. Every device has a default context; programs can make
// more. The calling thread's current device and context.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"
#include "src/base/status.h"
#include "src/runtime/stream_impl.h"

namespace hccl::runtime {

// The thread's current context; nullptr when it has none. Makes the device's default context.
Result<void*> currentContext();
Result<void*> createContext(int32_t device);
// HCCL_E_PARA for a handle that is not a context or for a device's default context.
Status destroyContext(void* context);
Status setCurrentContext(void* context);
// Makes the device current, and with it its default context.
void setDeviceAndContext(int32_t device);
void clearCurrentDevice();

// The stream behind a handle of the public interface; NULL names the default stream of the current
// context. HCCL_E_PARA for an unknown handle, HCCL_E_NOT_FOUND when there is no current device.
Result<Stream*> streamOf(aclrtStream handle);

// Contexts of a device (all for -1) forget their default streams, which are being destroyed.
void forgetDefaultStreams(int32_t device);

}  // namespace hccl::runtime
