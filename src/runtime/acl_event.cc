// Events of the public interface.
#include "src/runtime/acl_api.h"
#include "src/runtime/acl_support.h"
#include "src/runtime/context.h"
#include "src/runtime/engine.h"
#include "src/runtime/event.h"

namespace hccl::acl {
namespace {

using runtime::Event;

constexpr uint32_t kEventFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS |
                                 ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY;

aclError badEvent() {
  return fail(ACL_ERROR_INVALID_PARAM, "not a live event");
}

aclError makeEvent(aclrtEvent* event, uint32_t flag) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  if (flag == 0 || (flag & ~kEventFlags) != 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "the event flag has no or unknown bits");
  }
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread has no current device: call aclrtSetDevice");
  }
  auto made = runtime::createEvent(device, flag);
  if (!made.isOk()) return fail(callError(made.status()), made.status());
  *event = *made;
  return ACL_SUCCESS;
}

// The time of the newest record; false when there is none yet.
bool timeOf(const Event* event, uint64_t* ns) {
  const runtime::RecordRef record = event->latest();
  if (record.get() == nullptr || !record.get()->isDone()) return false;
  *ns = record.get()->timeNs();
  return true;
}

aclError noTime() {
  return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event has no time stamp yet");
}

}  // namespace

aclError aclrtCreateEvent(aclrtEvent* event) {
  return makeEvent(event, ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE);
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return makeEvent(event, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return makeEvent(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  const Status status = runtime::destroyEvent(event);
  return fail(callError(status), status);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  auto on = runtime::streamOf(stream);
  if (!on.isOk()) return streamError(on.status());
  const Status status = runtime::recordEvent(found, *on);
  return fail(callError(status), status);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  auto on = runtime::streamOf(stream);
  if (!on.isOk()) return streamError(on.status());
  const Status status = runtime::resetEvent(event, *on);
  return fail(callError(status), status);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  auto on = runtime::streamOf(stream);
  if (!on.isOk()) return streamError(on.status());
  const Status status = runtime::waitEvent(found, *on);
  return fail(callError(status), status);
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  ACL_ENTER();
  runtime::opWaitTimeout().store(timeout);
  return ACL_SUCCESS;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  ACL_REQUIRE_POINTER(status);
  const Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  *status = found->latest().isDone() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  ACL_REQUIRE_POINTER(status);
  const Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  *status = found->latest().isDone() ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                     : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  ACL_REQUIRE_POINTER(status);
  const Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  *status =
      found->waiting() == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return aclrtSynchronizeEventWithTimeout(event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "the time-out must be -1 or more");
  Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  const Status status = runtime::synchronizeEvent(found, deadlineOf(timeout));
  if (status.code() == HCCL_E_TIMEOUT) return note(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  return fail(callError(status), status);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(ms);
  ACL_REQUIRE_POINTER(startEvent);
  ACL_REQUIRE_POINTER(endEvent);
  const Event* start = runtime::findEvent(startEvent);
  const Event* end = runtime::findEvent(endEvent);
  if (start == nullptr || end == nullptr) return badEvent();
  uint64_t startNs = 0;
  uint64_t endNs = 0;
  if (!timeOf(start, &startNs) || !timeOf(end, &endNs)) return noTime();
  if (endNs < startNs) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event lies before the start event");
  }
  *ms = static_cast<float>(static_cast<double>(endNs - startNs) * 1e-6);
  return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(event);
  ACL_REQUIRE_POINTER(timestamp);
  const Event* found = runtime::findEvent(event);
  if (found == nullptr) return badEvent();
  uint64_t ns = 0;
  if (!timeOf(found, &ns)) return noTime();
  *timestamp = ns / 1000;
  return ACL_SUCCESS;
}

}  // namespace hccl::acl
