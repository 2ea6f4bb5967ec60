#include "src/executor/transfer.h"

#include <algorithm>
#include <cerrno>

#include "src/executor/mismatch.h"
#include "src/executor/plain_read.h"
#include "src/plan/op.h"
#include "src/reduce/reduce.h"
#include "src/runtime/arena.h"

namespace hccl::executor {
namespace {

using runtime::Poll;
using transport::BufferRef;
using transport::Io;

// Staged transfers go through two slots of this size; direct ones are copied in pieces of it too,
// so that advance() returns now and then.
constexpr uint64_t kPieceBytes = 512ULL << 10;
constexpr uint64_t kStagedBit = 1ULL << 62;

}  // namespace

PairLane& Transfer::lane() {
  PointToPointPeer& pair = context_->pointToPoint(item_.peer);
  return item_.send ? pair.send : pair.receive;
}

uint64_t Transfer::signature() const {
  plan::Signature s;
  s.type = HCCL_CMD_SEND;
  s.dataType = static_cast<uint8_t>(item_.dataType);
  return s.pack();
}

Status Transfer::mismatch(uint64_t sequence, uint64_t remoteSignature, uint64_t count) const {
  return mismatchError(context_->name().c_str(), context_->rank(), item_.peer,
                       {item_.ticket, signature(), item_.count},
                       {sequence, remoteSignature, count});
}

void Transfer::begin(Context& context, const TransferItem& item) {
  context_ = &context;
  item_ = item;
  phase_ = Phase::kWaitTurn;
  done_ = false;
  status_ = Status::ok();
  bytes_ = item.count * reduce::typeSize(item.dataType);
  piecesDone_ = 0;
  pieces_ = 1;
  brokenLink_ = BrokenLink();
}

Poll Transfer::finish(const Status& status) {
  status_ = status;
  done_ = true;
  if (status.isOk()) lane().turn.fetch_add(1, std::memory_order_acq_rel);
  return Poll::kDone;
}

Poll Transfer::advance() noexcept {
  if (done_) return Poll::kDone;
  if (phase_ == Phase::kWaitTurn) {
    if (lane().turn.load(std::memory_order_acquire) != item_.ticket) return Poll::kIdle;
    phase_ = Phase::kEntry;
  }
  transport::Link* link = context_->pointToPoint(item_.peer).link;
  if (link->message != nullptr) return message();
  return item_.send ? sendDirect() : receiveDirect();
}

Poll Transfer::sendDirect() {
  PairLane& lane = this->lane();
  transport::DirectLink& direct = *context_->pointToPoint(item_.peer).link->direct;
  bool moved = false;
  if (phase_ == Phase::kEntry) {
    uint64_t offset = 0;
    const runtime::Arena* arena = runtime::Arena::find(item_.buffer, bytes_, &offset);
    const bool reachable = arena != nullptr && arena->device() == context_->device();
    const bool plain = !direct.sameProcess && !reachable && direct.readsPlain(bytes_);
    staged_ = !direct.sameProcess && !reachable && !plain;
    const std::byte* place = item_.buffer;
    if (staged_) {
      if (lane.staging == nullptr) lane.staging = std::make_unique<Staging>(context_->device());
      if (Status s = lane.staging->reserve(2 * kPieceBytes); !s.isOk()) return finish(s);
      place = lane.staging->data();
      offset = lane.staging->offset();
      pieces_ = (bytes_ + kPieceBytes - 1) / kPieceBytes;
    }
    firstPiece_ = lane.pieces;
    transport::EntryLine& entry = direct.mine->sendEntry[item_.ticket & 1];
    entry.sequence = item_.ticket;
    entry.signature = signature();
    entry.count = item_.count;
    if (plain) {
      entry.input = BufferRef::plain(place);
    } else {
      entry.input = (direct.sameProcess ? BufferRef::address(place) : BufferRef::offset(offset)) |
                    (staged_ ? kStagedBit : 0);
    }
    entry.ordinal.store(item_.ticket + 1, std::memory_order_release);
    direct.ring();
    phase_ = Phase::kData;
    moved = true;
  }
  // What the receiver has finished with, in pieces of this direction.
  const uint64_t taken = direct.theirs->recvClose.value.load(std::memory_order_acquire);
  while (staged_ && piecesDone_ < pieces_ && taken + 2 > firstPiece_ + piecesDone_) {
    const uint64_t begin = piecesDone_ * kPieceBytes;
    reduce::copy(lane.staging->data() + (piecesDone_ & 1) * kPieceBytes, item_.buffer + begin,
                 std::min(kPieceBytes, bytes_ - begin), false);
    ++piecesDone_;
    direct.mine->sendOpen.value.store(firstPiece_ + piecesDone_, std::memory_order_release);
    direct.ring();
    moved = true;
  }
  if (!staged_ && piecesDone_ == 0) {
    piecesDone_ = 1;
    direct.mine->sendOpen.value.store(firstPiece_ + 1, std::memory_order_release);
    direct.ring();
    moved = true;
  }
  if (taken < firstPiece_ + pieces_) return moved ? Poll::kProgress : Poll::kIdle;
  lane.pieces = firstPiece_ + pieces_;
  return finish(Status::ok());
}

Poll Transfer::receiveDirect() {
  PairLane& lane = this->lane();
  transport::DirectLink& direct = *context_->pointToPoint(item_.peer).link->direct;
  bool moved = false;
  if (phase_ == Phase::kEntry) {
    const transport::EntryLine& entry = direct.theirs->sendEntry[item_.ticket & 1];
    if (entry.ordinal.load(std::memory_order_acquire) < item_.ticket + 1) return Poll::kIdle;
    if (entry.sequence != item_.ticket || entry.signature != signature() ||
        entry.count != item_.count) {
      return finish(mismatch(entry.sequence, entry.signature, entry.count));
    }
    staged_ = (entry.input & kStagedBit) != 0;
    plain_ = (entry.input & BufferRef::kPlainBit) != 0;
    source_ = plain_
                  ? reinterpret_cast<const std::byte*>(entry.input & ~BufferRef::kPlainBit)
                  : direct.resolve(entry.input & ~kStagedBit, staged_ ? 2 * kPieceBytes : bytes_);
    if (source_ == nullptr) {
      return finish(
          Status(HCCL_E_INTERNAL,
                 "rank " + std::to_string(item_.peer) + " named memory outside of its arena", 0,
                 static_cast<int>(item_.peer)));
    }
    pieces_ = (bytes_ + kPieceBytes - 1) / kPieceBytes;
    firstPiece_ = lane.pieces;
    phase_ = Phase::kData;
    moved = true;
  }
  const uint64_t opened = direct.theirs->sendOpen.value.load(std::memory_order_acquire);
  while (piecesDone_ < pieces_) {
    if (opened <= firstPiece_ + (staged_ ? piecesDone_ : 0)) {
      return moved ? Poll::kProgress : Poll::kIdle;
    }
    const uint64_t begin = piecesDone_ * kPieceBytes;
    const uint64_t now = std::min(kPieceBytes, bytes_ - begin);
    if (plain_) {
      const auto address = reinterpret_cast<uint64_t>(source_ + begin);
      const int error = direct.read(item_.buffer + begin, address, now);
      if (error == ESRCH) return Poll::kIdle;  // whoever watches the process says so
      if (error != 0) return finish(plainReadError(item_.peer, now, address, error));
    } else {
      reduce::copy(item_.buffer + begin,
                   staged_ ? source_ + (piecesDone_ & 1) * kPieceBytes : source_ + begin, now,
                   false);
    }
    ++piecesDone_;
    moved = true;
    if (staged_) {
      direct.mine->recvClose.value.store(firstPiece_ + piecesDone_, std::memory_order_release);
      direct.ring();
    } else if (piecesDone_ < pieces_) {
      return Poll::kProgress;
    }
  }
  const uint64_t closed = staged_ ? pieces_ : 1;
  direct.mine->recvClose.value.store(firstPiece_ + closed, std::memory_order_release);
  direct.ring();
  lane.pieces = firstPiece_ + closed;
  return finish(Status::ok());
}

Poll Transfer::message() {
  transport::MessageLink& link = *context_->pointToPoint(item_.peer).link->message;
  if (phase_ == Phase::kEntry) {
    transport::FrameHeader header;
    header.sequence = item_.ticket;
    header.signature = signature();
    header.count = item_.count;
    header.bytes = bytes_;
    send_ = {};
    send_.header = header;
    send_.data = item_.buffer;
    receive_ = {};
    receive_.expected = header;
    receive_.data = item_.buffer;
    phase_ = Phase::kData;
  }
  const Io io = item_.send ? link.send(send_) : link.receive(receive_);
  switch (io) {
    case Io::kDone:
      return finish(Status::ok());
    case Io::kMismatch:
      return finish(mismatch(receive_.got.sequence, receive_.got.signature, receive_.got.count));
    case Io::kFailed:
      if (brokenLink_.settled()) return finish(link.failure());
      break;
    case Io::kProgress:
      return Poll::kProgress;
    case Io::kIdle:
      break;
  }
  return Poll::kIdle;
}

}  // namespace hccl::executor
