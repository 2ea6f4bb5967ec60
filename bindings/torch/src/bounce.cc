#include "bounce.h"

#include "allocator.h"
#include "error.h"
#include "runtime.h"

namespace hccl_torch {

BouncePool& BouncePool::instance() {
  static auto* pool = new BouncePool;  // outlives every thread and every static object
  return *pool;
}

at::Tensor BouncePool::borrow(const at::Tensor& like, at::ScalarType type) {
  const size_t bytes = like.numel() * c10::elementSize(type);
  if (bytes < kLeast || bytes > kMost || isInArena(like)) return {};
  size_t sizeClass = 0;
  while ((kLeast << sizeClass) < bytes) ++sizeClass;
  void* memory = take(sizeClass);
  if (memory == nullptr) return {};
  const auto giveBack = [this, sizeClass](void* unused) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_[sizeClass].push_back(unused);
  };
  return at::from_blob(memory, {like.numel()}, giveBack, at::TensorOptions(type));
}

void* BouncePool::take(size_t sizeClass) {
  useDevice();
  const size_t bytes = kLeast << sizeClass;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<void*>& idle = idle_[sizeClass];
  if (!idle.empty()) {
    void* memory = idle.back();
    idle.pop_back();
    return memory;
  }
  if (allocated_ + bytes > kTotal) return nullptr;
  void* memory = nullptr;
  if (aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
    (void)recentMessage();  // no error of the operation, which does without
    return nullptr;
  }
  allocated_ += bytes;
  return memory;
}

}  // namespace hccl_torch
