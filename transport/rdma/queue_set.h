// QueueSet: the verbs objects and the memory of one link.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/mapping.h"
#include "src/base/status.h"
#include "transport/rdma/device.h"
#include "transport/rdma/handles.h"
#include "transport/rdma/link_wire.h"

namespace hccl::transport::rdma {

// Equal at both ends.
struct RingShape {
  uint32_t depth = 16;             // cells
  uint32_t cellBytes = 64 * 1024;  // of each
  uint32_t queuePairs = 1;
  bool operator==(const RingShape&) const = default;
};
inline constexpr uint32_t kMinDepth = 2, kMaxDepth = 256;
inline constexpr uint32_t kMinCell = 256, kMaxCell = 1 << 20;
bool isLegal(const RingShape& shape);

// What a link has on one network card. A device is named once for each of its
// ports that is used.
struct Rail {
  std::shared_ptr<Device> device;
  MemoryRegion region;
  CompletionChannel channel;
  CompletionQueue cq;
};

// Queue pairs are dealt out to the rails by turns.
class QueueSet {
 public:
  // HCCL_E_MEMORY with EI0007 or EI0011 when memory may not be locked or objects are used up: the
  // text names the limit.
  static Result<std::shared_ptr<QueueSet>> make(const std::vector<std::shared_ptr<Device>>& devices,
                                                const RingShape& shape);
  ~QueueSet();

  VerbsApi* verbs() const { return rails_.front().device->verbs(); }
  const std::vector<Rail>& rails() const { return rails_; }
  size_t railOf(size_t queue) const { return queue % rails_.size(); }
  const RingShape& shape() const { return shape_; }
  ibv_qp* qp(size_t index) const { return qps_[index].get(); }
  uint32_t inlineBytes() const { return inlineBytes_; }

  // Cells that are written from, and those that the peer writes into.
  std::byte* source(uint32_t slot) const { return memory_.bytes() + offsetOf(slot); }
  std::byte* target(uint32_t slot) const { return source(slot + shape_.depth); }
  uint64_t ring() const { return reinterpret_cast<uint64_t>(target(0)); }
  // Follows the cells that the peer writes into, as seen from its own end as well.
  Control& control() const { return *reinterpret_cast<Control*>(target(shape_.depth)); }
  uint64_t controlOffset() const { return offsetOf(shape_.depth); }
  uint32_t localKey(size_t queue) const { return rails_[railOf(queue)].region->lkey; }

  // A sender that returns credits says so at the latest after this many cells.
  uint32_t creditBatch() const { return std::max(1U, shape_.depth / 4); }
  // At the latest each so many send requests tell their completion.
  uint32_t signalBatch() const { return std::max(1U, shape_.depth / 2); }
  // Receive entries of a queue pair: cells and the end of a frame, and on the first one also
  // credits, an answer and a wake-up.
  uint32_t receiveEntries(size_t index) const;
  // Send entries of a queue pair.
  uint32_t sendEntries(size_t index) const;
  Status postReceives(size_t index, uint32_t count);
  // Moves all queue pairs to the error state.
  void poison();

  // What else has to live as long as the queue pairs (connections); destroyed on the control
  // thread.
  std::vector<std::shared_ptr<void>> companions;

 private:
  QueueSet() = default;
  Status open();
  Status openRail(size_t index);
  Status openQueue(size_t index);
  size_t memoryBytes() const { return offsetOf(2 * shape_.depth) + kControlBytes; }
  size_t offsetOf(uint32_t slot) const { return static_cast<size_t>(slot) * shape_.cellBytes; }

  RingShape shape_;
  Mapping memory_;
  std::vector<Rail> rails_;
  std::vector<QueuePair> qps_;
  uint32_t inlineBytes_ = 0;
};

}  // namespace hccl::transport::rdma
