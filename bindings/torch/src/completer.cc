#include "completer.h"

#include <chrono>
#include <utility>

namespace hccl_torch {

void Completer::add(c10::intrusive_ptr<HcclWork> work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return;
  works_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

void Completer::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (!thread_.joinable()) return;
  if (isForkedChild() || thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // a child has no such thread; a thread cannot wait for itself
  } else {
    thread_.join();
  }
}

void Completer::run() {
  constexpr auto kLookForStop = std::chrono::milliseconds(100);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !works_.empty(); });
    if (stopped_) return;
    const c10::intrusive_ptr<HcclWork> work = std::move(works_.front());
    works_.pop_front();
    bool ended = work->isDone();
    while (!ended && !stopped_) {
      lock.unlock();
      ended = work->settle(Deadline(kLookForStop));
      lock.lock();
    }
  }
}

}  // namespace hccl_torch
