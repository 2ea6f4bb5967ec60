#include "src/executor/tasks.h"

#include <fmt/format.h>

#include "src/fault/ei_errors.h"
#include "src/reduce/reduce.h"

namespace hccl::executor {
namespace {

using runtime::Poll;

constexpr uint64_t kPollsBetweenClockReads = 64;

}  // namespace

// ---- collectives --------------------------------------------------------------------------------

Poll CollectiveTask::advance() noexcept {
  if (context_.failed()) {
    status_ = context_.failure();
    return Poll::kDone;
  }
  if (!begun_) {
    if (!context_.isTurn(launch.sequence)) return Poll::kIdle;
    execution_.begin(launch);
    begun_ = true;
  }
  const Poll poll = execution_.advance();
  if (poll != Poll::kDone) return poll;
  status_ = execution_.status();
  if (!status_.isOk()) context_.fail(status_);
  ended_ = true;
  context_.endTurn();
  return Poll::kDone;
}

void CollectiveTask::retire() noexcept {
  context_.recorder().ended(launch.ticket, ended_ && status_.isOk());
  if (!ended_ && !context_.failed()) {
    // Thrown away by its stream: the order of the communicator's operations is broken for good.
    context_.fail(Status(HCCL_E_UNAVAIL, "an operation was aborted with its stream"));
  }
  pool_.giveBack(this);
}

// ---- transfers ----------------------------------------------------------------------------------

Poll TransferTask::advance() noexcept {
  if (context_.failed()) {
    status_ = context_.failure();
    return Poll::kDone;
  }
  bool moved = false;
  if (!begun_) {
    transfers_.resize(items.size());
    for (size_t i = 0; i < items.size(); ++i) transfers_[i].begin(context_, items[i]);
    for (const SelfCopy& copy : selfCopies) {
      if (copy.from != copy.to) reduce::copy(copy.to, copy.from, copy.bytes, false);
    }
    begun_ = true;
    moved = true;
  }
  bool finished = true;
  for (Transfer& transfer : transfers_) {
    if (transfer.done()) continue;
    const Poll poll = transfer.advance();
    moved = moved || poll != Poll::kIdle;
    finished = finished && transfer.done();
    if (transfer.done() && !transfer.status().isOk()) {
      status_ = transfer.status();
      context_.fail(status_);
      return Poll::kDone;
    }
  }
  if (finished) return Poll::kDone;
  if (moved) {
    waitingSince_ = 0;
    return Poll::kProgress;
  }
  if (++idlePolls_ % kPollsBetweenClockReads == 0) {
    const uint64_t now = monotonicNs();
    if (waitingSince_ == 0) waitingSince_ = now;
    recordWait();
    const double limit = context_.execTimeout();
    if (limit > 0 && static_cast<double>(now - waitingSince_) * 1e-9 > limit) {
      status_ = timeoutError();
      context_.fail(status_);
      return Poll::kDone;
    }
  }
  return Poll::kIdle;
}

void TransferTask::recordWait() const {
  for (const Transfer& transfer : transfers_) {
    if (transfer.done()) continue;
    return context_.recorder().waits(ticket, transfer.peer(),
                                     transfer.isSend() ? "Send" : "Receive", waitingSince_);
  }
}

Status TransferTask::timeoutError() const {
  for (const Transfer& transfer : transfers_) {
    if (transfer.done()) continue;
    const std::string task =
        fmt::format("{} rank {}, waited {:.2f} s without progress",
                    transfer.isSend() ? "send to" : "receive from", transfer.peer(),
                    static_cast<double>(monotonicNs() - waitingSince_) * 1e-9);
    return eiError(Ei::kExecTimeout, HCCL_E_TIMEOUT,
                   {std::to_string(transfer.peer()), task, "BatchSendRecv", context_.name()},
                   static_cast<int>(transfer.peer()));
  }
  return Status(HCCL_E_INTERNAL, "a transfer task timed out with nothing to wait for");
}

void TransferTask::retire() noexcept {
  context_.recorder().ended(ticket, status_.isOk());
  bool unfinished = !begun_;
  for (const Transfer& transfer : transfers_) unfinished = unfinished || !transfer.done();
  if (unfinished && !context_.failed()) {
    context_.fail(Status(HCCL_E_UNAVAIL, "a transfer was aborted with its stream"));
  }
  pool_.giveBack(this);
}

void CollectiveTask::discard() {
  pool_.giveBack(this);
}

void TransferTask::discard() {
  pool_.giveBack(this);
}

// ---- pool ---------------------------------------------------------------------------------------

CollectiveTask* TaskPool::collective() {
  std::lock_guard lock(mutex_);
  if (freeCollectives_.empty()) {
    collectives_.push_back(std::make_unique<CollectiveTask>(context_, *this));
    freeCollectives_.reserve(collectives_.size());
    freeCollectives_.push_back(collectives_.back().get());
  }
  CollectiveTask* task = freeCollectives_.back();
  freeCollectives_.pop_back();
  task->begun_ = false;
  task->ended_ = false;
  task->status_ = Status::ok();
  inFlight_.fetch_add(1, std::memory_order_acq_rel);
  return task;
}

TransferTask* TaskPool::transfer() {
  std::lock_guard lock(mutex_);
  if (freeTransfers_.empty()) {
    transfers_.push_back(std::make_unique<TransferTask>(context_, *this));
    freeTransfers_.reserve(transfers_.size());
    freeTransfers_.push_back(transfers_.back().get());
  }
  TransferTask* task = freeTransfers_.back();
  freeTransfers_.pop_back();
  task->items.clear();
  task->selfCopies.clear();
  task->transfers_.clear();
  task->begun_ = false;
  task->idlePolls_ = 0;
  task->waitingSince_ = 0;
  task->status_ = Status::ok();
  inFlight_.fetch_add(1, std::memory_order_acq_rel);
  return task;
}

void TaskPool::giveBack(CollectiveTask* task) {
  std::lock_guard lock(mutex_);
  freeCollectives_.push_back(task);
  inFlight_.fetch_sub(1, std::memory_order_acq_rel);
}

void TaskPool::giveBack(TransferTask* task) {
  std::lock_guard lock(mutex_);
  freeTransfers_.push_back(task);
  inFlight_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace hccl::executor
