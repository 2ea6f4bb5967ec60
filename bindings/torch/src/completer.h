// A thread that waits for works whose futures somebody asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "work.h"

namespace hccl_torch {

class Completer {
 public:
  Completer() = default;
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;
  ~Completer() { stop(); }

  // The thread is made for the first work.
  void add(c10::intrusive_ptr<HcclWork> work);
  // Ends the thread; the works that it has not reached are left as they are.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<HcclWork>> works_;
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace hccl_torch
