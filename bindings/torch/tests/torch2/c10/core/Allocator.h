// Allocator as 2.3 and later declare it, with what the installed PyTorch's other headers need of
// this one; see README.md.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <c10/util/UniqueVoidPtr.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace c10 {

class DataPtr {
 public:
  DataPtr();
  DataPtr(void* data, Device device);
  DataPtr(void* data, void* context, DeleterFnPtr deleter, Device device);

  void clear();
  void* get() const;
  void* mutable_get();
  void* get_context() const;
  void* release_context();
  std::unique_ptr<void, DeleterFnPtr>&& move_context();
  explicit operator bool() const;
  template <class T>
  T* cast_context(DeleterFnPtr expected) const;
  DeleterFnPtr get_deleter() const;
  bool compare_exchange_deleter(DeleterFnPtr expected, DeleterFnPtr deleter);
  Device device() const;
  void unsafe_set_device(Device device);

 private:
  detail::UniqueVoidPtr pointer_;
  Device device_;
};

struct Allocator {
  virtual ~Allocator() = default;

  virtual DataPtr allocate(size_t bytes) = 0;
  DataPtr allocate(size_t bytes) const;  // for the headers of 1.13, not in 2.x
  DataPtr clone(const void* data, std::size_t bytes);
  virtual bool is_simple_data_ptr(const DataPtr& pointer) const;
  virtual DeleterFnPtr raw_deleter() const;
  void* raw_allocate(size_t bytes);
  void raw_deallocate(void* pointer);
  virtual void copy_data(void* to, const void* from, std::size_t bytes) const = 0;
};

void SetAllocator(DeviceType type, Allocator* allocator, uint8_t priority = 0);
Allocator* GetAllocator(const DeviceType& type);

struct MemoryReportingInfoBase : public DebugInfoBase {};

}  // namespace c10
