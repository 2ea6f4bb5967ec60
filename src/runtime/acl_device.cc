// aclInit, devices and contexts.
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "src/runtime/acl_api.h"
#include "src/runtime/acl_support.h"
#include "src/runtime/context.h"
#include "src/runtime/devices.h"
#include "src/runtime/engine.h"
#include "src/runtime/event.h"
#include "src/runtime/stream.h"
#include "src/runtime/user_memory.h"

namespace hccl::acl {
namespace {

constexpr size_t kMaxDevices = 1024;

enum class Life { kFresh, kStarted, kEnded };

std::mutex lifeMutex;
Life life = Life::kFresh;
std::array<std::atomic<int>, kMaxDevices> setCounts;
std::array<std::atomic<int>, kMaxDevices> satModes;  // mode + 1; 0: never set

aclError badDevice(int32_t device) {
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(device) +
                                                 " does not exist: there are " +
                                                 std::to_string(runtime::deviceCount()) +
                                                 " (physical cores, or HCCL_HOST_DEVICES)");
}

bool isDevice(int32_t device) {
  return device >= 0 && static_cast<uint32_t>(device) < runtime::deviceCount();
}

std::atomic<int>& countOf(int32_t device) {
  return setCounts[static_cast<size_t>(device)];
}

aclError noDevice() {
  return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread has no current device: call aclrtSetDevice");
}

void waitForStreams(int32_t device) {
  for (runtime::Stream* stream : runtime::streamsOf(device)) runtime::waitWithPatience(stream);
}

// Streams, events and memory of a device; of all for -1.
void freeEverything(int32_t device) {
  runtime::forgetDefaultStreams(device);
  for (void* stream : runtime::streamHandlesOf(device)) {
    (void)runtime::destroyStream(stream, false);
  }
  for (void* event : runtime::eventHandlesOf(device)) (void)runtime::destroyEvent(event);
  runtime::freeAllUser(device);
}

}  // namespace

aclError aclInit(const char* configPath) {
  ACL_ENTER();
  std::lock_guard lock(lifeMutex);
  if (life == Life::kStarted) {
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
  }
  if (configPath != nullptr && *configPath != '\0' && ::access(configPath, R_OK) != 0) {
    return fail(ACL_ERROR_INVALID_FILE,
                std::string("aclInit cannot read the configuration file ") + configPath);
  }
  life = Life::kStarted;
  return ACL_SUCCESS;
}

aclError aclFinalize() {
  ACL_ENTER();
  std::lock_guard lock(lifeMutex);
  if (life == Life::kFresh) {
    return fail(ACL_ERROR_UNINITIALIZE, "aclFinalize needs a preceding aclInit");
  }
  if (life == Life::kEnded) {
    return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before");
  }
  waitForStreams(-1);
  freeEverything(-1);
  for (auto& count : setCounts) count.store(0);
  runtime::clearCurrentDevice();
  life = Life::kEnded;
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t deviceId) {
  ACL_ENTER();
  if (!isDevice(deviceId)) return badDevice(deviceId);
  countOf(deviceId).fetch_add(1);
  runtime::setDeviceAndContext(deviceId);
  return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId) {
  ACL_ENTER();
  if (!isDevice(deviceId)) return badDevice(deviceId);
  int count = countOf(deviceId).load();
  do {
    if (count <= 0) {
      return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                  "device " + std::to_string(deviceId) + " was not set");
    }
  } while (!countOf(deviceId).compare_exchange_weak(count, count - 1));
  waitForStreams(deviceId);
  if (count == 1) freeEverything(deviceId);
  bool set = false;
  if (runtime::currentDevice(&set) == deviceId && set) runtime::clearCurrentDevice();
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* deviceId) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(deviceId);
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) return noDevice();
  *deviceId = device;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(count);
  *count = runtime::deviceCount();
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(runMode);
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice() {
  return aclrtSynchronizeDeviceWithTimeout(-1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  ACL_ENTER();
  if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "the time-out must be -1 or more");
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) return noDevice();
  const Deadline deadline = deadlineOf(timeout);
  aclError first = ACL_SUCCESS;
  for (void* handle : runtime::streamHandlesOf(device)) {
    runtime::Stream* stream = runtime::findStream(handle);
    if (stream == nullptr) continue;
    const aclError code = synchronizeStream(stream, deadline);
    if (first == ACL_SUCCESS) first = code;
  }
  return first;
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  ACL_ENTER();
  if (!isDevice(deviceId)) return badDevice(deviceId);
  const Deadline deadline = timeout == 0 ? Deadline::never() : Deadline::after(timeout * 1e-3);
  const Status status = runtime::abortDevice(deviceId, deadline);
  return fail(status.code() == HCCL_E_TIMEOUT ? ACL_ERROR_RT_WAIT_TIMEOUT : callError(status),
              status);
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  ACL_ENTER();
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetDeviceSatMode: unknown mode");
  }
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) return noDevice();
  satModes[static_cast<size_t>(device)].store(static_cast<int>(mode) + 1);
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(mode);
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) return noDevice();
  const int stored = satModes[static_cast<size_t>(device)].load();
  *mode =
      stored == 0 ? ACL_RT_OVERFLOW_MODE_INFNAN : static_cast<aclrtFloatOverflowMode>(stored - 1);
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(canAccessPeer);
  if (!isDevice(deviceId)) return badDevice(deviceId);
  if (!isDevice(peerDeviceId)) return badDevice(peerDeviceId);
  *canAccessPeer = deviceId != peerDeviceId ? 1 : 0;
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(context);
  if (!isDevice(deviceId)) return badDevice(deviceId);
  auto made = runtime::createContext(deviceId);
  if (!made.isOk()) return fail(callError(made.status()), made.status());
  *context = *made;
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(context);
  const Status status = runtime::destroyContext(context);
  return fail(callError(status), status);
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(context);
  const Status status = runtime::setCurrentContext(context);
  return fail(callError(status), status);
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(context);
  auto current = runtime::currentContext();
  if (current.status().code() == HCCL_E_NOT_FOUND) return noDevice();
  if (!current.isOk()) return fail(callError(current.status()), current.status());
  *context = *current;
  return ACL_SUCCESS;
}

}  // namespace hccl::acl
