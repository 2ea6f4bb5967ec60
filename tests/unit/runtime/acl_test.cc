// The acl functions as a program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "src/runtime/acl_api.h"
#include "src/runtime/arena.h"
#include "src/runtime/engine.h"
#include "src/runtime/memory_probe.h"
#include "src/runtime/stream.h"
#include "src/runtime/stream_impl.h"

namespace hccl::acl {
namespace {

using ::testing::HasSubstr;

void computeFor(int ms) {  // the program is busy outside of the library
  timespec wait{ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&wait, nullptr);
}

double secondsSince(uint64_t startNs) {
  return static_cast<double>(monotonicNs() - startNs) * 1e-9;
}

class Acl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("HCCL_HOST_DEVICES", "8", 0); }
  void SetUp() override {
    ASSERT_EQ(acl::aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtCreateStream(&stream_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(acl::aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(acl::aclrtResetDevice(0), ACL_SUCCESS);
  }
  aclrtStream stream_ = nullptr;
};

TEST_F(Acl, DevicesArePerThread) {
  uint32_t count = 0;
  ASSERT_EQ(acl::aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 8u);
  EXPECT_EQ(acl::aclrtSetDevice(3), ACL_SUCCESS);
  int32_t device = -1;
  EXPECT_EQ(acl::aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 3);
  std::thread([] {
    int32_t other = -1;
    EXPECT_EQ(acl::aclrtGetDevice(&other), ACL_ERROR_RT_CONTEXT_NULL);
    void* memory = nullptr;
    EXPECT_EQ(acl::aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtStream stream = nullptr;
    EXPECT_EQ(acl::aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
  EXPECT_EQ(acl::aclrtSetDevice(8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(acl::aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(acl::aclrtResetDevice(3), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(acl::aclrtResetDevice(3), ACL_ERROR_RT_INVALID_DEVICEID);
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(acl::aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
}

TEST_F(Acl, ContextsCarryTheDevice) {
  aclrtContext first = nullptr;
  ASSERT_EQ(acl::aclrtGetCurrentContext(&first), ACL_SUCCESS);
  aclrtContext made = nullptr;
  ASSERT_EQ(acl::aclrtCreateContext(&made, 5), ACL_SUCCESS);
  int32_t device = -1;
  EXPECT_EQ(acl::aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 5);
  aclrtContext current = nullptr;
  EXPECT_EQ(acl::aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, made);
  EXPECT_EQ(acl::aclrtSetCurrentContext(first), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(acl::aclrtDestroyContext(made), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtDestroyContext(made), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtSetCurrentContext(made), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Acl, ResetFreesWhatTheDeviceHolds) {
  std::thread([] {
    ASSERT_EQ(acl::aclrtSetDevice(6), ACL_SUCCESS);
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    void* memory = nullptr;
    ASSERT_EQ(acl::aclrtCreateStream(&stream), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtCreateEvent(&event), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    auto* internal = *(*runtime::Arena::ofDevice(6))->allocate(4096);  // the library's own
    EXPECT_EQ(acl::aclrtMemsetAsync(memory, 1 << 20, 9, 1 << 20, stream), ACL_SUCCESS);
    EXPECT_EQ(acl::aclrtResetDevice(6), ACL_SUCCESS);
    EXPECT_EQ(acl::aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(acl::aclrtDestroyEvent(event), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(acl::aclrtFree(memory), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ((*runtime::Arena::ofDevice(6))->liveBytes(), 4096u);
    EXPECT_TRUE((*runtime::Arena::ofDevice(6))->release(internal).isOk());
  }).join();
}

TEST_F(Acl, MemoryCopiesAndFills) {
  void* device = nullptr;
  void* host = nullptr;
  constexpr size_t kBytes = 3'000'001;
  ASSERT_EQ(acl::aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtMallocHost(&host, kBytes), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % 512, 0u);
  auto* bytes = static_cast<unsigned char*>(host);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  ASSERT_EQ(acl::aclrtMemcpyAsync(device, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtMemsetAsync(static_cast<char*>(device) + 5, 100, 0x1ff, 10, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  std::vector<unsigned char> back(kBytes);
  ASSERT_EQ(acl::aclrtMemcpy(back.data(), kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  for (size_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(back[i], i >= 5 && i < 15 ? 0xff : static_cast<unsigned char>(i * 7)) << i;
  }
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(acl::aclrtPointerGetAttributes(static_cast<char*>(device) + 77, &attributes),
            ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(acl::aclrtPointerGetAttributes(host, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(acl::aclrtPointerGetAttributes(back.data(), &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(acl::aclrtMemcpy(device, 10, host, 11, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtMemcpy(device, 10, host, 10, static_cast<aclrtMemcpyKind>(9)),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFreeHost(device), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFree(host), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFree(static_cast<char*>(device) + 4096), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtFree(device), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(Acl, HugeRequestIsRefusedWithItsText) {
  (void)acl::aclGetRecentErrMsg();
  void* memory = nullptr;
  const size_t bytes = runtime::memoryState().total * 4;
  EXPECT_EQ(acl::aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  const char* text = acl::aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text, HasSubstr("EI0011"));
  EXPECT_THAT(text, HasSubstr(std::to_string(bytes)));
  EXPECT_EQ(acl::aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(acl::aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(acl::aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(acl::aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST_F(Acl, MemInfoFollowsAllocations) {
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_EQ(acl::aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  EXPECT_LE(before, total);
  void* memory = nullptr;
  ASSERT_EQ(acl::aclrtMalloc(&memory, 512 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_LT(after + (256 << 20), before);
  EXPECT_EQ(acl::aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(Acl, PhysicalMemoryIsArenaMemoryWhereverItIsMapped) {
  aclrtPhysicalMemProp prop{};
  prop.location = {2, ACL_MEM_LOCATION_TYPE_DEVICE};
  size_t unit = 0;
  ASSERT_EQ(
      acl::aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
      ACL_SUCCESS);
  ASSERT_GT(unit, 0u);
  void* room = nullptr;
  ASSERT_EQ(acl::aclrtReserveMemAddress(&room, 4 * unit, 0, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtReserveMemAddress(&room, unit + 1, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(acl::aclrtMallocPhysical(&handle, 2 * unit, &prop, 0), ACL_SUCCESS);
  auto* first = static_cast<char*>(room);
  char* second = first + 2 * unit;
  ASSERT_EQ(acl::aclrtMapMem(first, 2 * unit, 0, handle, 0), ACL_SUCCESS);
  ASSERT_EQ(acl::aclrtMapMem(second, 2 * unit, 0, handle, 0), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtMapMem(second, unit, 0, handle, 0), ACL_ERROR_INVALID_PARAM);
  first[100] = 42;
  EXPECT_EQ(second[100], 42);
  uint64_t offset = 0;
  runtime::Arena* arena = runtime::Arena::find(first + 100, unit, &offset);
  ASSERT_EQ(arena, *runtime::Arena::ofDevice(2));
  EXPECT_EQ(static_cast<char>(arena->base()[offset]), 42);
  EXPECT_EQ(runtime::Arena::find(second, 2 * unit + 1, &offset), nullptr);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(acl::aclrtPointerGetAttributes(second, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.id, 2u);
  EXPECT_EQ(acl::aclrtFreePhysical(handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtReleaseMemAddress(room), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtUnmapMem(first), ACL_SUCCESS);
  EXPECT_EQ(runtime::Arena::find(first, 1, &offset), nullptr);
  EXPECT_EQ(second[100], 42);
  EXPECT_EQ(acl::aclrtUnmapMem(second), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtReleaseMemAddress(room), ACL_SUCCESS);
}

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

// ---- accepted and recorded ----

TEST_F(Acl, WhatMeansNothingOnAHostIsRecorded) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(acl::aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(acl::aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(acl::aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
  EXPECT_STREQ(acl::aclrtGetSocName(), "Ascend910_9391");
  uint32_t device = 0;
  aclprofConfig* config = acl::aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr,
                                                   ACL_PROF_HCCL_TRACE);
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(acl::aclprofStart(config), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(acl::aclprofInit("/tmp", 4), ACL_SUCCESS);
  EXPECT_EQ(acl::aclprofInit("/tmp", 4), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(acl::aclprofStart(config), ACL_SUCCESS);
  EXPECT_EQ(acl::aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
  EXPECT_EQ(acl::aclprofStop(config), ACL_SUCCESS);
  EXPECT_EQ(acl::aclprofFinalize(), ACL_SUCCESS);
  EXPECT_EQ(acl::aclprofDestroyConfig(config), ACL_SUCCESS);
}

TEST_F(Acl, NullArgumentsAreNamed) {
  (void)acl::aclGetRecentErrMsg();
  EXPECT_EQ(acl::aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  const char* text = acl::aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text, HasSubstr("devPtr"));
  EXPECT_EQ(acl::aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclrtSynchronizeStream(&text), ACL_ERROR_INVALID_PARAM);
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

TEST(AclLife, InitAndFinalizePair) {
  EXPECT_EQ(acl::aclFinalize(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(acl::aclInit("/no/such/file.json"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(acl::aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(acl::aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  ASSERT_EQ(acl::aclrtSetDevice(1), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(acl::aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(acl::aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(acl::aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(acl::aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(acl::aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(acl::aclFinalize(), ACL_SUCCESS);
}

}  // namespace
}  // namespace hccl::acl
