// Engine: advances the streams of the process. Threads that synchronise help; HCCL_HOST_WORKERS
// progress threads take over when nobody does. DESIGN section 5.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "src/base/clock.h"
#include "src/base/status.h"

namespace hccl::runtime {

// What a peer process needs in order to wake this one: a shared word that is non-zero while a
// thread of this process sleeps (or is about to), and an eventfd to ring then. One per process.
struct Doorbell {
  int pageFd = -1;                            // memfd of one page that holds the word at offset 0
  std::atomic<uint32_t>* sleepers = nullptr;  // this process' mapping of it
  int eventFd = -1;
};

// Work that is not a stream's task but has to be advanced too. Called often, from any
// thread, one thread at a time per poller; must not block. True when something moved.
class Poller {
 public:
  virtual ~Poller() = default;
  virtual bool poll() noexcept = 0;
};

class Engine {
 public:
  static Engine& instance();

  // Threads, epoll and doorbell are made on first use.
  Result<Doorbell> doorbell();

  // The epoll set on which idle threads sleep. Transports add their data descriptors here, edge
  // triggered (EPOLLIN | EPOLLOUT | EPOLLET); an event only wakes the sleeper, who advances
  // everything.
  Result<int> wakeSet();

  // Wakes sleeping threads of this process (after work became possible by a step of another
  // thread of it). Cheap when nobody sleeps: one fence and one load.
  void wake();

  // Advances every runnable task of the process until done() is true or the deadline passes.
  // Spins, yields and sleeps by the waiting policy. False when the deadline passed.
  bool helpUntil(const std::function<bool()>& done, Deadline deadline);

  void addPoller(Poller* poller);
  void removePoller(Poller* poller);  // returns when no thread is inside poll()

  // Ends and joins the threads; later calls of the library answer E_UNAVAIL. Idempotent.
  void shutdown();
};

// True in a child made by fork(): every handle answers E_UNAVAIL there.
bool isForkedChild();

// The calling thread's current device (aclrtSetDevice); 0 when none was set. `set` tells which.
int32_t currentDevice(bool* set = nullptr);
uint32_t deviceCount();

}  // namespace hccl::runtime
