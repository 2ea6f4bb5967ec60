#include "bench/parts/device.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "bench/parts/error.h"

namespace hccl::bench {
namespace {

constexpr uint64_t kAlignment = 4096;

}  // namespace

Session::Session(const Launch& launch, const Options& options) {
  try {
    open(launch, options);
  } catch (...) {
    close();
    throw;
  }
}

void Session::open(const Launch& launch, const Options& options) {
  const uint32_t devices =
      options.devicesPerNode != 0 ? options.devicesPerNode : launch.ranksOfHost();
  setenv("HCCL_HOST_DEVICES", std::to_string(devices).c_str(), 0);
  require(aclInit(nullptr), "aclInit");
  uint32_t offered = 0;
  require(aclrtGetDeviceCount(&offered), "aclrtGetDeviceCount");
  const uint32_t npus = options.devicesPerNode != 0 ? options.devicesPerNode : offered;
  const auto device = static_cast<int32_t>(launch.rank() % std::max(npus, 1U));
  require(aclrtSetDevice(device), "aclrtSetDevice");
  device_ = device;
  require(aclrtCreateStream(&stream_), "aclrtCreateStream");

  HcclRootInfo rootInfo = {};
  if (launch.rank() == options.root) require(HcclGetRootInfo(&rootInfo), "HcclGetRootInfo");
  launch.broadcast(&rootInfo, sizeof(rootInfo), options.root);
  require(HcclCommInitRootInfo(launch.ranks(), &rootInfo, launch.rank(), &comm_),
          "HcclCommInitRootInfo");
}

Session::~Session() {
  close();
}

void Session::close() noexcept {
  if (comm_ != nullptr) HcclCommDestroy(comm_);
  if (stream_ != nullptr) aclrtDestroyStream(stream_);
  if (device_ >= 0) aclrtResetDevice(device_);
  aclFinalize();
}

void Session::synchronise() const {
  require(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream");
  HcclResult late = HCCL_SUCCESS;
  require(HcclGetCommAsyncError(comm_, &late), "HcclGetCommAsyncError");
  require(late, "the communicator");
}

StreamTimer::StreamTimer(aclrtStream stream) : stream_(stream) {
  require(aclrtCreateEventWithFlag(&first_, ACL_EVENT_TIME_LINE), "aclrtCreateEventWithFlag");
  require(aclrtCreateEventWithFlag(&last_, ACL_EVENT_TIME_LINE), "aclrtCreateEventWithFlag");
}

StreamTimer::~StreamTimer() {
  aclrtDestroyEvent(first_);
  aclrtDestroyEvent(last_);
}

void StreamTimer::start() const {
  require(aclrtRecordEvent(first_, stream_), "aclrtRecordEvent");
}

void StreamTimer::stop() const {
  require(aclrtRecordEvent(last_, stream_), "aclrtRecordEvent");
}

double StreamTimer::microseconds() const {
  float milliseconds = 0;
  require(aclrtEventElapsedTime(&milliseconds, first_, last_), "aclrtEventElapsedTime");
  return 1000.0 * static_cast<double>(milliseconds);
}

std::byte* Memory::get(uint64_t bytes) {
  const uint64_t needed = std::max<uint64_t>(bytes, 1) + offset_;
  if (needed > capacity_) {
    release();
    if (kind_ == MemoryKind::Device) {
      require(aclrtMalloc(&base_, needed, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    } else {
      const uint64_t whole = (needed + kAlignment - 1) / kAlignment * kAlignment;
      base_ = std::aligned_alloc(kAlignment, whole);
      if (base_ == nullptr) throw BenchError("no memory for " + std::to_string(whole) + " bytes");
    }
    capacity_ = needed;
  }
  return static_cast<std::byte*>(base_) + offset_;
}

void Memory::release() noexcept {
  if (base_ == nullptr) return;
  if (kind_ == MemoryKind::Device) {
    aclrtFree(base_);
  } else {
    std::free(base_);
  }
  base_ = nullptr;
  capacity_ = 0;
}

BufferPair::BufferPair(const Options& options)
    : inPlace_(options.inPlace),
      send_(options.memory, options.offset),
      receive_(options.memory, options.offset) {}

Buffers BufferPair::place(const Operation& operation, const Job& job, size_t elementBytes) {
  const Extent extent = operation.extent(job);
  if (!inPlace_ && !operation.alwaysInPlace()) {
    return {send_.get(extent.send * elementBytes), receive_.get(extent.receive * elementBytes)};
  }
  const std::optional<Extent> begin = operation.inPlace(job);
  if (!begin) throw BenchError("this operation has no --in_place");
  const uint64_t whole = std::max(begin->send + extent.send, begin->receive + extent.receive);
  std::byte* base = send_.get(whole * elementBytes);
  return {base + begin->send * elementBytes, base + begin->receive * elementBytes};
}

}  // namespace hccl::bench
