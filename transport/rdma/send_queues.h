// SendQueues: the send requests of a link: who has room for more, and what has completed.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/rdma/queue_set.h"

namespace hccl::transport::rdma {

class SendQueues {
 public:
  explicit SendQueues(const QueueSet& queues);

  // The last two entries are for a probe and the flush.
  bool hasRoom(size_t queue) const { return inFlight(queue) + 2 < entries_[queue].most; }
  bool hasAnyRoom(size_t queue) const { return inFlight(queue) < entries_[queue].most; }
  // Posts one request; its completion is asked for when `signal`, or now and then. An errno value.
  int post(size_t queue, ibv_send_wr* request, bool signal);
  uint64_t posted(size_t queue) const { return entries_[queue].posted; }
  // Requests complete in order.
  bool hasCompleted(size_t queue, uint64_t request) const {
    return entries_[queue].completed >= request;
  }
  bool isIdle(size_t queue) const { return inFlight(queue) == 0; }
  // Nobody has asked for the completion of the latest request.
  bool endsSilently(size_t queue) const { return entries_[queue].unsignalled != 0; }

  static bool isSend(const ibv_wc& completion) { return (completion.wr_id & kSendMark) != 0; }
  void onCompletion(const ibv_wc& completion);

 private:
  static constexpr uint64_t kSendMark = 1ULL << 63;
  static constexpr int kQueueShift = 48;
  struct Entries {
    uint64_t posted = 0;
    uint64_t completed = 0;  // as far as known
    uint32_t unsignalled = 0;
    uint32_t most = 0;
  };
  uint64_t inFlight(size_t queue) const {
    return entries_[queue].posted - entries_[queue].completed;
  }

  const QueueSet& queues_;
  std::vector<Entries> entries_;
};

}  // namespace hccl::transport::rdma
