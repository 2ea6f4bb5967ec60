#include "tests/integration/support/guarded_buffer.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr unsigned char kGuard = 0x5c;
constexpr size_t kAlignment = 64;

}  // namespace

GuardedBuffer::GuardedBuffer(Memory memory, size_t bytes, size_t misalignment)
    : memory_(memory), bytes_(bytes) {
  const size_t all = bytes + 2 * kGuardBytes + misalignment;
  if (memory_ == Memory::kDevice) {
    HCCL_MUST(aclrtMalloc(&base_, all, ACL_MEM_MALLOC_HUGE_FIRST));
  } else {
    base_ = std::aligned_alloc(kAlignment, (all + kAlignment - 1) / kAlignment * kAlignment);
    expect(base_ != nullptr, "out of memory");
  }
  data_ = static_cast<unsigned char*>(base_) + kGuardBytes + misalignment;
  std::memset(base_, kGuard, all);
  std::memset(data_, kPoison, bytes);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : memory_(other.memory_),
      base_(std::exchange(other.base_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

GuardedBuffer::~GuardedBuffer() {
  if (base_ == nullptr) return;
  if (memory_ == Memory::kDevice) {
    (void)aclrtFree(base_);
  } else {
    std::free(base_);
  }
}

std::string GuardedBuffer::damage() const {
  for (size_t i = 1; i <= kGuardBytes; ++i) {
    if (data_[-static_cast<ptrdiff_t>(i)] != kGuard) {
      return "written " + std::to_string(i) + " bytes before its begin";
    }
    if (data_[bytes_ + i - 1] != kGuard)
      return "written " + std::to_string(i) + " bytes behind its end";
  }
  return "";
}

}  // namespace hccl::multirank
