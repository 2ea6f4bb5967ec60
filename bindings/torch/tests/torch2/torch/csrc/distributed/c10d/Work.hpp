// Work as 2.x declares it; see README.md.
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

constexpr auto kNoTimeout = std::chrono::milliseconds(0);

namespace c10d {

constexpr const char* const kSeqNumStoreKey = "SEQ_NUM_STORE_KEY";

enum class OpType : std::uint8_t {
  BROADCAST,
  ALLREDUCE,
  ALLREDUCE_COALESCED,
  REDUCE,
  ALLGATHER,
  _ALLGATHER_BASE,
  ALLGATHER_COALESCED,
  GATHER,
  SCATTER,
  REDUCE_SCATTER,
  ALLTOALL_BASE,
  ALLTOALL,
  SEND,
  RECV,
  RECVANYSOURCE,
  BARRIER,
  _REDUCE_SCATTER_BASE,
  COALESCED,
  _ALLREDUCE_SPARSE,
  UNKNOWN = 100,
};

class Work : public torch::CustomClassHolder {
 public:
  using Future = c10::intrusive_ptr<c10::ivalue::Future>;

  explicit Work(int rank = -1, OpType type = OpType::UNKNOWN, const char* title = nullptr,
                const c10::optional<std::vector<at::Tensor>>& inputs = c10::nullopt);
  ~Work() override;

  virtual bool isCompleted();
  virtual bool isSuccess() const;
  virtual std::exception_ptr exception() const;
  virtual int sourceRank() const;
  virtual std::vector<at::Tensor> result();
  virtual void synchronize();
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout);
  virtual void blockCurrentStream();
  virtual void abort();
  virtual Future getFuture();
  virtual Future getFutureResult();
  virtual float getDuration() const;
  virtual uint64_t getSequencenumber() const;
  OpType retrieveOpType() const;

 protected:
  void finish(std::exception_ptr error = nullptr);
  void finishAndThrow(std::exception_ptr error);

  mutable std::mutex mutex_;
  std::condition_variable cv_;
  bool completed_ = false;
  std::exception_ptr exception_;
  const int rank_;
  OpType opType_;
  std::function<void()> recordFunctionEndCallback_;
};

}  // namespace c10d
