#include "src/runtime/host_thread.h"

#include <chrono>

#include "src/runtime/engine.h"

namespace hccl::runtime {
namespace {

// Which HostThread's loop the calling thread is.
thread_local const void* currentLoop = nullptr;

}  // namespace

void HostCall::run() {
  if (!dropped.load(std::memory_order_acquire)) function(argument);
  done.store(true, std::memory_order_seq_cst);
  Engine::instance().wake();
  release();
}

void HostThread::loop(const HostThread* owner, const std::shared_ptr<State>& state) {
  currentLoop = owner;
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->first != nullptr || state->stopping; });
    HostCall* call = state->first;
    if (call == nullptr) break;
    state->first = call->next;
    if (state->first == nullptr) state->last = nullptr;
    state->inCall = true;
    lock.unlock();
    call->run();
    lock.lock();
    state->inCall = false;
    state->changed.notify_all();
  }
  state->ended = true;
  state->changed.notify_all();
}

Status HostThread::submit(HostCall* call, uint32_t number) {
  std::lock_guard lock(mutex_);
  if (!thread_.isRunning()) {
    auto state = std::make_shared<State>();
    HCCL_ASSIGN_OR_RETURN(thread_, Thread::start("hccl-host-" + std::to_string(number % 100000),
                                                 [this, state] { loop(this, state); }));
    state_ = std::move(state);
  }
  std::lock_guard stateLock(state_->mutex);
  call->next = nullptr;
  if (state_->last != nullptr) {
    state_->last->next = call;
  } else {
    state_->first = call;
  }
  state_->last = call;
  state_->changed.notify_all();
  return Status::ok();
}

bool HostThread::isCurrent() const {
  return currentLoop == this;
}

bool HostThread::waitIdle(Deadline deadline) {
  std::shared_ptr<State> state;
  {
    std::lock_guard lock(mutex_);
    state = state_;
  }
  if (state == nullptr || isCurrent()) return true;
  std::unique_lock lock(state->mutex);
  const auto idle = [&] { return !state->inCall && state->first == nullptr; };
  if (deadline.isNever()) {
    state->changed.wait(lock, idle);
    return true;
  }
  return state->changed.wait_for(lock, std::chrono::duration<double>(deadline.remainingSeconds()),
                                 idle);
}

bool HostThread::stop(Deadline deadline) {
  std::lock_guard lock(mutex_);
  if (!thread_.isRunning()) return true;
  std::unique_lock stateLock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  const auto ended = [&] { return state_->ended; };
  if (isCurrent()) {
    // The stream is being destroyed by one of its own callbacks.
  } else if (deadline.isNever()) {
    state_->changed.wait(stateLock, ended);
  } else {
    state_->changed.wait_for(stateLock, std::chrono::duration<double>(deadline.remainingSeconds()),
                             ended);
  }
  const bool clean = state_->ended;
  stateLock.unlock();
  if (clean) {
    thread_.join();
  } else {
    thread_.abandon();
  }
  thread_ = Thread();
  state_.reset();
  return clean;
}

void HostThread::stopIfIdle() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !thread_.isRunning()) return;
  {
    std::lock_guard stateLock(state_->mutex);
    if (state_->inCall || state_->first != nullptr) return;
    state_->stopping = true;
    state_->changed.notify_all();
  }
  thread_.join();
  state_.reset();
}

}  // namespace hccl::runtime
