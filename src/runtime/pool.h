// Pool: task objects that are used again, so that a steady state allocates nothing.
#pragma once

#include <atomic>

#include "src/runtime/task.h"

namespace hccl::runtime {

// T is a Task with a default constructor; its `next` links the free ones.
template <typename T>
class Pool {
 public:
  // The object keeps the members of its last use.
  T* take() {
    lock();
    T* object = static_cast<T*>(free_);
    if (object != nullptr) {
      free_ = object->next;
      --count_;
    }
    unlock();
    return object != nullptr ? object : new T;
  }
  void give(T* object) {
    lock();
    if (count_ < kMost) {
      object->next = free_;
      free_ = object;
      ++count_;
      object = nullptr;
    }
    unlock();
    delete object;
  }

 private:
  static constexpr int kMost = 4096;
  // Held for a few instructions only.
  void lock() {
    while (locked_.test_and_set(std::memory_order_acquire)) {
      while (locked_.test(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() { locked_.clear(std::memory_order_release); }

  std::atomic_flag locked_;
  Task* free_ = nullptr;
  int count_ = 0;
};

// One pool a type, never destroyed.
template <typename T>
Pool<T>& poolOf() {
  static Pool<T>* pool = new Pool<T>;
  return *pool;
}

}  // namespace hccl::runtime
