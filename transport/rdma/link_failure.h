// LinkFailure: the first cause of a link's end, in the words of EI0013.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/rdma/queue_set.h"

namespace hccl::transport::rdma {

class LinkFailure {
 public:
  struct End {
    std::string server;            // its address
    int32_t device = 0;            // logical one
    std::vector<std::string> ips;  // of the RDMA ports, by rail
  };
  struct Names {
    uint32_t peer = 0;
    std::string communicator;
    End local, remote;
  };
  LinkFailure(std::shared_ptr<QueueSet> queues, Names names)
      : queues_(std::move(queues)), names_(std::move(names)) {}

  // The first cause counts; returns it. What the peer asks of this end fails from then on, too.
  Status fail(const std::string& why, size_t rail);
  // A completion that tells an error.
  void onError(const ibv_wc& completion, size_t rail);
  bool hasFailed() const { return failed_.load(std::memory_order_relaxed); }
  Status status() const;

  // The peer said goodbye: an error after that is its end.
  void setPeerLeft() { peerLeft_.store(true, std::memory_order_relaxed); }
  bool peerLeft() const { return peerLeft_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<QueueSet> queues_;
  const Names names_;
  std::atomic<bool> peerLeft_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status status_;  // guarded
};

}  // namespace hccl::transport::rdma
