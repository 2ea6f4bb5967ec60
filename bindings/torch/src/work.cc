#include "work.h"

#include "completer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

namespace hccl_torch {
namespace {

// Who asks for a future drives the operation so long himself: most end within it, and the hand-over
// to another thread, which costs more than a small operation, falls away.
constexpr auto kOwnTime = std::chrono::milliseconds(1);

}  // namespace

int32_t Deadline::milliseconds() const {
  if (never_) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
  return static_cast<int32_t>(std::clamp<int64_t>(left.count() + 1, 1, INT32_MAX));
}

HcclWork::HcclWork(Facts facts)
    : Work(facts.rank, facts.type, facts.title, std::move(facts.inputs)),
      outputs_(std::move(facts.outputs)),
      deadline_(facts.deadline),
      title_(facts.title) {}

bool HcclWork::isCompleted() {
  if (!isDone()) poll();
  return isDone();
}

bool HcclWork::isSuccess() const {
  return isDone() && exception() == nullptr;
}

std::exception_ptr HcclWork::exception() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

bool HcclWork::wait(std::chrono::milliseconds timeout) {
  if (!isDone()) {
    const Deadline deadline = timeout > kNoTimeout ? Deadline(timeout) : deadline_;
    TORCH_CHECK(settle(deadline), title_, " did not end within its time limit; it goes on");
  }
  if (exception_ != nullptr) std::rethrow_exception(exception_);
  return true;
}

void HcclWork::complete(std::exception_ptr error) {
  if (lastStep_ && error == nullptr) {
    try {
      const at::NoGradGuard plainMemory;
      lastStep_();
    } catch (...) {
      error = std::current_exception();
    }
  }
  lastStep_ = nullptr;
  kept_.clear();
  keptTensors_.clear();
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard<std::mutex> lock(futureMutex_);
    finish(std::move(error));
    done_.store(true, std::memory_order_release);
    future = future_;
  }
  if (future) fulfil(*future);
}

void HcclWork::fulfil(c10::ivalue::Future& future) {
  if (exception_ != nullptr) {
    future.setError(exception_);
  } else {
    future.markCompleted(c10::IValue(outputs_));
  }
}

c10::intrusive_ptr<c10::ivalue::Future> HcclWork::getFuture() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  bool done = false;
  {
    const std::lock_guard<std::mutex> lock(futureMutex_);
    if (future_) return future_;
    future = future_ =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    done = isDone();
  }
  if (done) {
    fulfil(*future);
  } else if (!settle(Deadline(kOwnTime))) {
    completeByItself();
  }
  return future;
}

StreamWork::StreamWork(const Facts& facts, std::shared_ptr<Communicator> communicator,
                       CompletedBy completer)
    : HcclWork(facts),
      communicator_(std::move(communicator)),
      completer_(std::move(completer)),
      title_(facts.title) {}

StreamWork::~StreamWork() {
  // Only a work whose operation could not be enqueued still has its stream.
  if (stream_ != nullptr && !isForkedChild()) (void)aclrtDestroyStreamForce(stream_);
}

bool StreamWork::settle(const Deadline& deadline) {
  useDevice();
  std::unique_lock<std::timed_mutex> lock(settling_, std::defer_lock);
  if (deadline.isNever()) {
    lock.lock();
  } else if (!lock.try_lock_until(deadline.at())) {
    return isDone();
  }
  if (isDone()) return true;
  const int code = deadline.isNever()
                       ? aclrtSynchronizeStream(stream_)
                       : aclrtSynchronizeStreamWithTimeout(stream_, deadline.milliseconds());
  if (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
    (void)recentMessage();  // running out of time here is no error of the operation
    return false;
  }
  end(code);
  return true;
}

void StreamWork::poll() {
  useDevice();
  const std::unique_lock<std::timed_mutex> lock(settling_, std::try_to_lock);
  if (!lock.owns_lock() || isDone()) return;
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  if (aclrtStreamQuery(stream_, &status) == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE) {
    end(aclrtSynchronizeStream(stream_));
  }
}

void StreamWork::end(int code) {
  std::exception_ptr error;
  if (code != ACL_SUCCESS) {
    error = std::make_exception_ptr(communicator_->failure(title_, code));
  }
  StreamPool::instance().release(std::exchange(stream_, nullptr));
  complete(std::move(error));
}

void StreamWork::completeByItself() {
  auto self = c10::intrusive_ptr<HcclWork>::unsafe_reclaim_from_nonowning(this);
  const std::unique_lock<std::timed_mutex> lock(settling_, std::try_to_lock);
  if (completer_.waitsInOrder || !lock.owns_lock()) {
    completer_.thread->add(std::move(self));
    return;
  }
  if (isDone()) return;
  // The work may last long: the thread gets it only when the stream has come to its end.
  struct Call {
    std::shared_ptr<Completer> thread;
    c10::intrusive_ptr<HcclWork> work;
  };
  auto call = std::make_unique<Call>(Call{completer_.thread, std::move(self)});
  const auto hand = [](void* argument) {
    const std::unique_ptr<Call> ended(static_cast<Call*>(argument));
    ended->thread->add(std::move(ended->work));
  };
  check(aclrtLaunchHostFunc(stream_, hand, call.get()), "aclrtLaunchHostFunc");
  (void)call.release();
}

}  // namespace hccl_torch
