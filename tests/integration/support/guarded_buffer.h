// A buffer between two guards of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hccl::multirank {

enum class Memory : uint8_t { kDevice, kMalloc };

class GuardedBuffer {
 public:
  static constexpr size_t kGuardBytes = 64;
  static constexpr unsigned char kPoison = 0xa5;

  // `bytes` poisoned bytes that begin `misalignment` bytes behind an aligned address. Device memory
  // needs a current device.
  GuardedBuffer(Memory memory, size_t bytes, size_t misalignment);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  unsigned char* data() const { return data_; }
  size_t size() const { return bytes_; }
  // Empty, or where something was written outside.
  std::string damage() const;

 private:
  Memory memory_;
  void* base_ = nullptr;
  unsigned char* data_ = nullptr;
  size_t bytes_;
};

}  // namespace hccl::multirank
