// Transfer: one send or one receive between this rank and a peer. Transfers of a direction of a
// pair run one after the other, in the order of the API calls, and never wait for other pairs.
#pragma once

#include <cstdint>

#include "src/executor/broken_link.h"
#include "src/executor/context.h"
#include "src/runtime/task.h"

namespace hccl::executor {

struct TransferItem {
  bool send = true;
  uint32_t peer = 0;
  std::byte* buffer = nullptr;
  uint64_t count = 0;
  HcclDataType dataType = HCCL_DATA_TYPE_INT8;
  uint64_t ticket = 0;  // place in the direction's queue
};

class Transfer {
 public:
  void begin(Context& context, const TransferItem& item);
  runtime::Poll advance() noexcept;
  const Status& status() const { return status_; }
  bool done() const { return done_; }
  uint32_t peer() const { return item_.peer; }
  bool isSend() const { return item_.send; }

 private:
  enum class Phase { kWaitTurn, kEntry, kData, kDrain };

  runtime::Poll sendDirect();
  runtime::Poll receiveDirect();
  runtime::Poll message();
  runtime::Poll finish(const Status& status);
  PairLane& lane();
  uint64_t signature() const;
  Status mismatch(uint64_t sequence, uint64_t remoteSignature, uint64_t count) const;

  Context* context_ = nullptr;
  TransferItem item_;
  Phase phase_ = Phase::kWaitTurn;
  bool done_ = true;
  uint64_t bytes_ = 0;
  uint64_t pieces_ = 0;  // of this transfer
  uint64_t piecesDone_ = 0;
  uint64_t firstPiece_ = 0;  // of the direction's counter
  bool staged_ = false;
  bool plain_ = false;                 // receive: source_ is an address of the peer's process
  const std::byte* source_ = nullptr;  // receive: the peer's buffer or staging
  transport::SendState send_;
  transport::ReceiveState receive_;
  BrokenLink brokenLink_;
  Status status_;
};

}  // namespace hccl::executor
