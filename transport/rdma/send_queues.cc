#include "transport/rdma/send_queues.h"

namespace hccl::transport::rdma {

SendQueues::SendQueues(const QueueSet& queues) : queues_(queues) {
  entries_.resize(queues.shape().queuePairs);
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].most = queues.sendEntries(i);
}

int SendQueues::post(size_t queue, ibv_send_wr* request, bool signal) {
  Entries& own = entries_[queue];
  signal = signal || ++own.unsignalled >= queues_.signalBatch();
  if (signal) {
    request->send_flags |= IBV_SEND_SIGNALED;
    own.unsignalled = 0;
  }
  ++own.posted;
  request->wr_id = kSendMark | static_cast<uint64_t>(queue) << kQueueShift | own.posted;
  ibv_send_wr* bad = nullptr;
  return queues_.verbs()->postSend(queues_.qp(queue), request, &bad);
}

void SendQueues::onCompletion(const ibv_wc& completion) {
  const size_t queue = (completion.wr_id & ~kSendMark) >> kQueueShift;
  entries_[queue].completed = completion.wr_id & ((1ULL << kQueueShift) - 1);
}

}  // namespace hccl::transport::rdma
