// The acl functions as a program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "src/runtime/acl_api.h"
#include "src/runtime/arena.h"
#include "src/runtime/memory_probe.h"
#include "tests/unit/runtime/acl_fixture.h"

namespace hccl::acl {
namespace {

using ::testing::HasSubstr;

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

// Other programs of the host use memory too, so one of several tries has to show the difference.
TEST_F(Acl, MemInfoFollowsAllocations) {
  bool seen = false;
  for (int attempt = 0; attempt < 8 && !seen; ++attempt) {
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    ASSERT_EQ(acl::aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
    EXPECT_LE(before, total);
    void* memory = nullptr;
    ASSERT_EQ(acl::aclrtMalloc(&memory, 400 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
    seen = after < before && before - after > (100u << 20) && before - after < (1000u << 20);
    EXPECT_EQ(acl::aclrtFree(memory), ACL_SUCCESS);
  }
  EXPECT_TRUE(seen);
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
