#include "src/runtime/host_task.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "src/runtime/stream.h"

namespace hccl::runtime {
namespace {

// The callbacks that wait for one subscribed thread.
struct Mailbox {
  struct Item {
    Stream* stream;
    HostCall* call;
  };
  std::deque<Item> items;
  int subscriptions = 0;
};

struct Mailboxes {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Mailbox> byThread;
};

Mailboxes& mailboxes() {
  static Mailboxes* boxes = new Mailboxes;  // lives until the process ends
  return *boxes;
}

class HostTask : public Task {
 public:
  HostTask(Stream* stream, HostCall* call, bool block, bool callback)
      : stream_(stream), call_(call), block_(block), callback_(callback) {}

  Poll advance() noexcept override {
    if (!submitted_) {
      submitted_ = true;
      call_->references.fetch_add(1, std::memory_order_relaxed);
      if (!callback_ || !post()) {
        status_ = stream_->hostThread().submit(call_, stream_->index());
        if (!status_.isOk()) {
          call_->release();
          return Poll::kDone;
        }
      }
      return block_ ? Poll::kProgress : Poll::kDone;
    }
    return call_->done.load(std::memory_order_acquire) ? Poll::kDone : Poll::kIdle;
  }
  Status status() const override { return status_; }
  void retire() noexcept override {
    if (block_) call_->dropped.store(true, std::memory_order_release);  // no effect once it ran
    call_->release();
    delete this;
  }

 private:
  // Puts the call into the subscriber's mailbox; false when there is none.
  bool post() {
    if (stream_->subscriber.load(std::memory_order_acquire) == 0) return false;
    Mailboxes& boxes = mailboxes();
    std::lock_guard lock(boxes.mutex);
    const uint64_t thread = stream_->subscriber.load(std::memory_order_acquire);
    if (thread == 0) return false;
    boxes.byThread[thread].items.push_back({stream_, call_});
    boxes.changed.notify_all();
    return true;
  }

  Stream* stream_;
  HostCall* call_;
  bool block_;
  bool callback_;
  bool submitted_ = false;
  Status status_;
};

}  // namespace

Status enqueueHostCall(Stream* stream, void (*function)(void*), void* argument, bool block,
                       bool callback) {
  auto* call = new HostCall;
  call->function = function;
  call->argument = argument;
  auto* task = new HostTask(stream, call, block, callback);
  Status status = enqueue(stream, task);
  if (!status.isOk()) task->retire();
  return status;
}

Status subscribe(uint64_t threadId, Stream* stream) {
  Mailboxes& boxes = mailboxes();
  std::lock_guard lock(boxes.mutex);
  if (stream->subscriber.load() != 0) return Status(HCCL_E_AGAIN, "the stream has a subscriber");
  stream->subscriber.store(threadId, std::memory_order_release);
  ++boxes.byThread[threadId].subscriptions;
  return Status::ok();
}

Status unsubscribe(uint64_t threadId, Stream* stream) {
  Mailboxes& boxes = mailboxes();
  std::lock_guard lock(boxes.mutex);
  const auto it = boxes.byThread.find(threadId);
  if (it == boxes.byThread.end() || stream->subscriber.load() != threadId) {
    return Status(HCCL_E_NOT_FOUND, "the thread is not subscribed to the stream");
  }
  stream->subscriber.store(0, std::memory_order_release);
  Mailbox& box = it->second;
  for (auto item = box.items.begin(); item != box.items.end();) {
    if (item->stream != stream) {
      ++item;
      continue;
    }
    HCCL_RETURN_IF_ERROR(stream->hostThread().submit(item->call, stream->index()));
    item = box.items.erase(item);
  }
  if (--box.subscriptions == 0 && box.items.empty()) boxes.byThread.erase(it);
  boxes.changed.notify_all();
  return Status::ok();
}

Status processReport(Deadline deadline) {
  const auto self = static_cast<uint64_t>(pthread_self());
  Mailboxes& boxes = mailboxes();
  HostCall* call = nullptr;
  {
    std::unique_lock lock(boxes.mutex);
    const auto find = [&]() -> Mailbox* {
      const auto it = boxes.byThread.find(self);
      return it == boxes.byThread.end() ? nullptr : &it->second;
    };
    const auto ready = [&] { return find() == nullptr || !find()->items.empty(); };
    if (deadline.isNever()) {
      boxes.changed.wait(lock, ready);
    } else {
      boxes.changed.wait_for(lock, std::chrono::duration<double>(deadline.remainingSeconds()),
                             ready);
    }
    Mailbox* box = find();
    if (box == nullptr) return Status(HCCL_E_NOT_FOUND, "the thread is subscribed to no stream");
    if (box->items.empty()) return Status(HCCL_E_TIMEOUT, "no callback came in time");
    call = box->items.front().call;
    box->items.pop_front();
  }
  call->run();
  return Status::ok();
}

}  // namespace hccl::runtime
