#include "runtime.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "error.h"

namespace hccl_torch {
namespace {

std::atomic<int32_t> device{-1};
std::atomic<bool> forkedChild{false};

struct Launcher {
  const char* rank;
  const char* size;
  const char* localRank;
  const char* localSize;
};

constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
};

int numberOf(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? -1 : std::atoi(text);
}

struct Place {
  int device;
  int devices;
};

// Processes that a worker starts itself inherit its variables: they count only if they describe
// this very group.
Place placeOf(int rank, int size) {
  if (const int chosen = numberOf("HCCL_TORCH_DEVICE"); chosen >= 0) {
    return {chosen, std::max(chosen + 1, size)};
  }
  for (const Launcher& launcher : kLaunchers) {
    const int local = numberOf(launcher.localRank);
    const int locals = numberOf(launcher.localSize);
    if (numberOf(launcher.rank) == rank && numberOf(launcher.size) == size && local >= 0 &&
        locals > local) {
      return {local, locals};
    }
  }
  return {rank, size};
}

}  // namespace

void openDevice(int rank, int size) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (device.load() >= 0) return;
  const Place place = placeOf(rank, size);
  setenv("HCCL_HOST_DEVICES", std::to_string(place.devices).c_str(), 0);
  check(aclrtSetDevice(place.device), "aclrtSetDevice");
  pthread_atfork(nullptr, nullptr, [] { forkedChild = true; });
  device = place.device;
}

void useDevice() {
  thread_local bool current = false;
  if (forkedChild.load(std::memory_order_relaxed)) {
    throw HcclError(
        "a process group cannot be used in a child of fork: use spawn, or leave the "
        "group to the parent",
        HCCL_E_UNAVAIL, -1);
  }
  if (current) return;
  check(aclrtSetDevice(device.load()), "aclrtSetDevice");
  current = true;
}

bool isForkedChild() {
  return forkedChild.load(std::memory_order_relaxed);
}

StreamPool& StreamPool::instance() {
  static auto* pool = new StreamPool;  // outlives every thread and every static object
  return *pool;
}

aclrtStream StreamPool::acquire() {
  useDevice();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      aclrtStream stream = idle_.back();
      idle_.pop_back();
      return stream;
    }
  }
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  return stream;
}

void StreamPool::release(aclrtStream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(stream);
}

}  // namespace hccl_torch
