// The tasks that a communicator puts on streams. They are pooled: a repeated call allocates
// nothing.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "src/executor/execution.h"
#include "src/executor/transfer.h"
#include "src/runtime/task.h"

namespace hccl::executor {

class TaskPool;

class CollectiveTask final : public runtime::Task {
 public:
  CollectiveTask(Context& context, TaskPool& pool)
      : context_(context), pool_(pool), execution_(context) {}

  Launch launch;  // filled in before the task is enqueued

  runtime::Poll advance() noexcept override;
  Status status() const override { return status_; }
  void retire() noexcept override;
  // Gives a task back that never reached a stream.
  void discard();

 private:
  friend class TaskPool;
  Context& context_;
  TaskPool& pool_;
  Execution execution_;
  bool begun_ = false;
  bool ended_ = false;
  Status status_;
};

// One or more sends and receives that run side by side; done when all are.
class TransferTask final : public runtime::Task {
 public:
  TransferTask(Context& context, TaskPool& pool) : context_(context), pool_(pool) {}

  std::vector<TransferItem> items;  // filled in before the task is enqueued
  uint64_t ticket = 0;              // of the flight recorder
  // Copies between a rank's own sends and receives: from, to, bytes.
  struct SelfCopy {
    const std::byte* from;
    std::byte* to;
    uint64_t bytes;
  };
  std::vector<SelfCopy> selfCopies;

  runtime::Poll advance() noexcept override;
  Status status() const override { return status_; }
  void retire() noexcept override;
  // Gives a task back that never reached a stream.
  void discard();

 private:
  friend class TaskPool;
  Status timeoutError() const;
  void recordWait() const;
  Context& context_;
  TaskPool& pool_;
  std::vector<Transfer> transfers_;
  bool begun_ = false;
  uint64_t idlePolls_ = 0;
  uint64_t waitingSince_ = 0;
  Status status_;
};

// Owns the tasks of a communicator. Thread safe. Outlives all of them: destroy it when inFlight()
// is 0.
class TaskPool {
 public:
  explicit TaskPool(Context& context) : context_(context) {}
  CollectiveTask* collective();
  TransferTask* transfer();
  size_t inFlight() const { return inFlight_.load(std::memory_order_acquire); }

 private:
  friend class CollectiveTask;
  friend class TransferTask;
  void giveBack(CollectiveTask* task);
  void giveBack(TransferTask* task);

  Context& context_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<CollectiveTask>> collectives_;
  std::deque<std::unique_ptr<TransferTask>> transfers_;
  std::vector<CollectiveTask*> freeCollectives_;
  std::vector<TransferTask*> freeTransfers_;
  std::atomic<size_t> inFlight_{0};
};

}  // namespace hccl::executor
