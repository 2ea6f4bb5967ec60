#include "allocator.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstring>

#include "runtime.h"

#include "error.h"

namespace hccl_torch {
namespace {

std::atomic<size_t> least{0};

void freeInArena(void* memory) {
  // A child of fork has no device memory: there is nothing to give back.
  if (!isForkedChild()) (void)aclrtFree(memory);
}

// Large blocks from the device, all others from the allocator that was there before.
class ArenaAllocator : public c10::Allocator {
 public:
  explicit ArenaAllocator(c10::Allocator* usual) : usual_(usual) {}

  // Of the two only the one is virtual that PyTorch's version has; none is marked, nor copy_data(),
  // which 1.13 does not have.
  c10::DataPtr allocate(size_t bytes) const { return place(bytes); }
  c10::DataPtr allocate(size_t bytes) { return place(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  // Storage may be resized by whoever knows this function: blocks have different ones.
  c10::DeleterFnPtr raw_deleter() const { return nullptr; }

 private:
  c10::DataPtr place(size_t bytes) const {
    const size_t limit = least.load(std::memory_order_relaxed);
    if (limit == 0 || bytes < limit || isForkedChild()) return usual_->allocate(bytes);
    useDevice();
    void* memory = nullptr;
    check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    return {memory, memory, &freeInArena, c10::Device(c10::DeviceType::CPU)};
  }

  c10::Allocator* const usual_;
};

}  // namespace

void useArena(size_t leastBytes) {
  static auto* allocator = new ArenaAllocator(c10::GetAllocator(c10::DeviceType::CPU));
  if (leastBytes > 0) useDevice();
  least = leastBytes;
  c10::SetAllocator(c10::DeviceType::CPU, allocator);
}

bool isInArena(const at::Tensor& tensor) {
  return tensor.storage().data_ptr().get_deleter() == &freeInArena;
}

}  // namespace hccl_torch
