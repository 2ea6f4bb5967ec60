// An HCCL communicator: made through a c10d store or out of a larger one, destroyed with its last
// user.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "error.h"
#include "hccl/hccl.h"
#include "torch_api.h"

namespace hccl_torch {

class Communicator {
 public:
  using Timeout = std::chrono::milliseconds;

  // Rank 0 puts its root information into the store; all ranks join it. Blocks until they have.
  static std::shared_ptr<Communicator> join(c10d::Store& store, int rank, int size,
                                            Timeout timeout);
  // The members of `parent` that `ranks` lists, in this order; the caller is ranks[rank]. Sends no
  // message. All members give the same id. A timeout of 0 waits for ever inside operations.
  static std::shared_ptr<Communicator> split(const std::shared_ptr<Communicator>& parent,
                                             std::vector<uint32_t> ranks, int rank, uint64_t id,
                                             Timeout timeout);

  // Another communicator of the same ranks: what fails or is given up there does no harm here. All
  // ranks may make it at any time, each once.
  static std::shared_ptr<Communicator> twin(const std::shared_ptr<Communicator>& of);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  uint32_t size() const { return size_; }

  // Runs calls(handle) while no other thread is inside a call on this communicator.
  template <class Calls>
  void use(Calls calls) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls(handle_);
  }

  // An error for an operation that ended with `code` on `call`. The library's text is given once;
  // operations that fail later in consequence get the same one.
  HcclError failure(const std::string& call, int code);
  // The communicator's own state: 0, or the code of its first error.
  int asyncError();

 private:
  // What a part is made from; `ranks` are those of the parent, or all.
  struct Origin {
    std::shared_ptr<Communicator> parent;
    std::vector<uint32_t> ranks;
    int rank;
    uint64_t id;
  };

  Communicator(HcclComm handle, Origin origin)
      : handle_(handle),
        size_(static_cast<uint32_t>(origin.ranks.size())),
        origin_(std::move(origin)) {}

  std::mutex mutex_;
  HcclComm handle_;
  const uint32_t size_;
  const Origin origin_;  // a part ends before the whole
  std::mutex failureMutex_;
  std::string firstFailure_;
};

}  // namespace hccl_torch
