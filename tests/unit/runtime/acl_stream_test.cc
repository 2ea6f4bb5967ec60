// Events, host functions and callbacks as a program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstring>
#include <vector>

#include "src/runtime/acl_api.h"
#include "src/runtime/engine.h"
#include "src/runtime/stream.h"
#include "src/runtime/stream_impl.h"
#include "tests/unit/runtime/acl_fixture.h"

namespace hccl::acl {
namespace {

// ---- events ----

TEST_F(Acl, EventsMeasureAndOrder) {
  aclrtEvent start = nullptr;
  aclrtEvent end = nullptr;
  ASSERT_EQ(acl::aclrtCreateEvent(&start), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  float ms = -1;
  EXPECT_EQ(acl::aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  ASSERT_EQ(acl::aclrtRecordEvent(start, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_, [](void*) { computeFor(30); }, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(end, stream_), ACL_SUCCESS);
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  EXPECT_EQ(acl::aclrtQueryEventStatus(end, &recorded), ACL_SUCCESS);
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_EQ(acl::aclrtSynchronizeEventWithTimeout(end, 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(acl::aclrtSynchronizeEvent(end), ACL_SUCCESS);
  aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
  EXPECT_EQ(acl::aclrtQueryEvent(end, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  ASSERT_EQ(acl::aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GE(ms, 29.0f);
  EXPECT_LT(ms, 500.0f);
  EXPECT_EQ(acl::aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  uint64_t stamp = 0;
  EXPECT_EQ(acl::aclrtEventGetTimestamp(end, &stamp), ACL_SUCCESS);
  EXPECT_GT(stamp, 0u);
  EXPECT_EQ(acl::aclrtDestroyEvent(start), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyEvent(end), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyEvent(end), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Acl, AWaitFollowsTheRecordItSawEvenAfterReRecordAndDestroy) {
  aclrtStream other = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&other), ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ASSERT_EQ(acl::aclrtCreateEvent(&event), ACL_SUCCESS);
  static std::atomic<bool> open;
  static std::atomic<bool> passed;
  open = passed = false;
  const auto gate = [](void*) {
    while (!open) computeFor(1);
  };
  ASSERT_EQ(acl::aclrtLaunchHostFunc(stream_, gate, nullptr), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                other, [](void*) { passed = true; }, nullptr),
            ACL_SUCCESS);
  // A newer record elsewhere completes at once and must not release the wait.
  aclrtStream third = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&third), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(event, third), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStreamWithTimeout(other, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_FALSE(passed);
  aclrtEventWaitStatus waiting = ACL_EVENT_WAIT_STATUS_COMPLETE;
  EXPECT_EQ(acl::aclrtQueryEventWaitStatus(event, &waiting), ACL_SUCCESS);
  EXPECT_EQ(waiting, ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(acl::aclrtDestroyEvent(event), ACL_SUCCESS);
  open = true;
  EXPECT_EQ(acl::aclrtSynchronizeStream(other), ACL_SUCCESS);
  EXPECT_TRUE(passed);
  EXPECT_EQ(acl::aclrtDestroyStream(other), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyStream(third), ACL_SUCCESS);
}

TEST_F(Acl, ResetMakesAnEventAsNeverRecorded) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(acl::aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtResetEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  uint64_t stamp = 0;
  EXPECT_EQ(acl::aclrtEventGetTimestamp(event, &stamp), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  ASSERT_EQ(acl::aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtEventGetTimestamp(event, &stamp), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Acl, AWaitThatTakesTooLongFails) {
  aclrtStream other = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&other), ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ASSERT_EQ(acl::aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_, [](void*) { computeFor(1500); }, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  const uint64_t start = monotonicNs();
  EXPECT_EQ(acl::aclrtSynchronizeStream(other), ACL_ERROR_RT_TASK_TIMEOUT);
  EXPECT_GE(secondsSince(start), 0.95);
  EXPECT_LT(secondsSince(start), 1.4);
  ASSERT_EQ(acl::aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyStream(other), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyEvent(event), ACL_SUCCESS);
}

// ---- host functions and callbacks ----

TEST_F(Acl, HostFunctionsRunInStreamOrderOnALibraryThreadThatBlocksSignals) {
  struct Seen {
    std::vector<int> order;
    pthread_t thread{};
    sigset_t mask{};
  } seen;
  void* memory = nullptr;
  ASSERT_EQ(acl::aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  static int* watched;
  watched = static_cast<int*>(memory);
  ASSERT_EQ(acl::aclrtMemsetAsync(memory, 4096, 1, 4096, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_,
                [](void* p) {
                  auto* s = static_cast<Seen*>(p);
                  s->order.push_back(*watched);
                  s->thread = pthread_self();
                  pthread_sigmask(SIG_BLOCK, nullptr, &s->mask);
                },
                &seen),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtMemsetAsync(memory, 4096, 2, 4096, stream_), ACL_SUCCESS);
  ASSERT_EQ(
      acl::aclrtLaunchCallback([](void* p) { static_cast<Seen*>(p)->order.push_back(*watched); },
                               &seen, ACL_CALLBACK_BLOCK, stream_),
      ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtMemsetAsync(memory, 4096, 3, 4096, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_THAT(seen.order, ::testing::ElementsAre(0x01010101, 0x02020202));
  EXPECT_FALSE(pthread_equal(seen.thread, pthread_self()));
  EXPECT_TRUE(sigismember(&seen.mask, SIGTERM));
  EXPECT_TRUE(sigismember(&seen.mask, SIGUSR1));
  EXPECT_EQ(acl::aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(Acl, AOneSecondHostFunctionDelaysNoOtherStream) {
  aclrtStream other = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_, [](void*) { computeFor(1000); }, nullptr),
            ACL_SUCCESS);
  const uint64_t start = monotonicNs();
  char a[64] = {};
  char b[64];
  std::memset(b, 5, sizeof(b));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(acl::aclrtMemcpyAsync(a, 64, b, 64, ACL_MEMCPY_DEFAULT, other), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtSynchronizeStream(other), ACL_SUCCESS);
  }
  EXPECT_EQ(a[63], 5);
  // And without synchronise: the progress thread must not be stuck either.
  std::memset(b, 6, sizeof(b));
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  ASSERT_EQ(acl::aclrtMemcpyAsync(a, 64, b, 64, ACL_MEMCPY_DEFAULT, other), ACL_SUCCESS);
  computeFor(50);
  EXPECT_TRUE(runtime::findStream(other)->isIdle());
  EXPECT_EQ(a[0], 6);
  EXPECT_LT(secondsSince(start), 0.5);
  EXPECT_EQ(acl::aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_GE(secondsSince(start), 0.95);
  EXPECT_EQ(acl::aclrtDestroyStream(other), ACL_SUCCESS);
}

TEST_F(Acl, ASubscribedThreadRunsTheCallbacks) {
  const auto self = static_cast<uint64_t>(pthread_self());
  EXPECT_EQ(acl::aclrtProcessReport(0), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  ASSERT_EQ(acl::aclrtSubscribeReport(self, stream_), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSubscribeReport(self, stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  pthread_t ran{};
  ASSERT_EQ(acl::aclrtLaunchCallback([](void* p) { *static_cast<pthread_t*>(p) = pthread_self(); },
                                     &ran, ACL_CALLBACK_BLOCK, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtProcessReport(2000), ACL_SUCCESS);
  EXPECT_TRUE(pthread_equal(ran, pthread_self()));
  EXPECT_EQ(acl::aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  // Callbacks that nobody fetched run on the stream's own thread after the end of the subscription.
  static std::atomic<bool> done;
  done = false;
  ASSERT_EQ(
      acl::aclrtLaunchCallback([](void*) { done = true; }, nullptr, ACL_CALLBACK_BLOCK, stream_),
      ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(acl::aclrtUnSubscribeReport(self, stream_), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_TRUE(done);
}

TEST_F(Acl, AHostFunctionMayNotWaitForItsOwnStream) {
  struct Arguments {
    aclrtStream stream;
    aclError code;
  } arguments{stream_, 0};
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_,
                [](void* p) {
                  auto* a = static_cast<Arguments*>(p);
                  a->code = acl::aclrtSynchronizeStream(a->stream);
                },
                &arguments),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(arguments.code, ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Acl, TheNullStreamIsTheDefaultStreamOfTheDevice) {
  char a[8] = "before";
  ASSERT_EQ(acl::aclrtMemcpyAsync(a, 8, "after", 6, ACL_MEMCPY_DEFAULT, nullptr), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_STREQ(a, "after");
  int32_t mine = -1;
  int32_t standard = -1;
  ASSERT_EQ(acl::aclrtStreamGetId(stream_, &mine), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtStreamGetId(nullptr, &standard), ACL_SUCCESS);
  EXPECT_NE(mine, standard);
  EXPECT_EQ(acl::aclrtSynchronizeDevice(), ACL_SUCCESS);
}

TEST_F(Acl, DeviceAbortIsReportedBySynchronise) {
  static std::atomic<bool> open;
  open = false;
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_,
                [](void*) {
                  while (!open) computeFor(1);
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_, [](void*) { ran = true; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(acl::aclrtDeviceTaskAbort(0, 30), ACL_ERROR_RT_WAIT_TIMEOUT);
  open = true;
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_ERROR_RT_DEVICE_TASK_ABORT);
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDeviceTaskAbort(0, 5000), ACL_SUCCESS);
  EXPECT_FALSE(ran);
}

TEST_F(Acl, FailedTasksReachTheExceptionCallback) {
  static std::atomic<uint32_t> code;
  static std::atomic<uint32_t> streamId;
  code = 0;
  ASSERT_EQ(acl::aclrtSetExceptionInfoCallback([](aclrtExceptionInfo* info) {
              streamId = acl::aclrtGetStreamIdFromExceptionInfo(info);
              code = acl::aclrtGetErrorCodeFromExceptionInfo(info);
            }),
            ACL_SUCCESS);
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtLaunchHostFunc(
                stream_, [](void*) { computeFor(1200); }, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStream(other), ACL_ERROR_RT_TASK_TIMEOUT);
  int32_t id = -1;
  ASSERT_EQ(acl::aclrtStreamGetId(other, &id), ACL_SUCCESS);
  EXPECT_TRUE(runtime::Engine::instance().helpUntil([] { return code != 0; }, Deadline::after(5)));
  EXPECT_EQ(code.load(), static_cast<uint32_t>(ACL_ERROR_RT_TASK_TIMEOUT));
  EXPECT_EQ(streamId.load(), static_cast<uint32_t>(id));
  ASSERT_EQ(acl::aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyStream(other), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyEvent(event), ACL_SUCCESS);
}

}  // namespace
}  // namespace hccl::acl
