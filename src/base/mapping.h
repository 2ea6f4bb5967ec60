// Mapping: the owner of one mmap()ed range.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <utility>

#include "src/base/status.h"

namespace hccl {

class Mapping {
 public:
  Mapping() = default;
  // Maps `size` bytes as mmap(nullptr, size, prot, flags, fd, offset) does.
  // Errors: HCCL_E_MEMORY with the errno text.
  static Result<Mapping> create(size_t size, int prot, int flags, int fd = -1, off_t offset = 0);
  // The same at a multiple of `alignment`, which is one of the page size.
  static Result<Mapping> createAligned(size_t size, size_t alignment, int prot, int flags, int fd);
  // Takes over a range that the caller mapped.
  static Mapping adopt(void* data, size_t size) { return {data, size}; }

  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { reset(); }

  void* data() const { return data_; }
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  size_t size() const { return size_; }
  bool isValid() const { return data_ != nullptr; }
  void reset() {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
  }
  // Gives the range away; the caller unmaps it.
  void* release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  Mapping(void* data, size_t size) : data_(data), size_(size) {}
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hccl
