#include "tests/integration/matrix/layout.h"

namespace hccl::multirank {

Layout::Layout(const TestCase& test, uint32_t rank, uint64_t seed)
    : test_(test), rank_(rank), n_(test.ranks()), count_(test.count()), seed_(seed) {
  aliased = test.place() != kSeparate;
  switch (test.collective()) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kBroadcast:
      vectors();
      break;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kScatter:
      blocks();
      break;
    case Collective::kReduceScatterV:
    case Collective::kAllGatherV:
      varyingBlocks();
      break;
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kAllToAllVC:
      allToAll();
      break;
    case Collective::kSendRecv:
    case Collective::kBatchSendRecv:
      pointToPoint();
      break;
    case Collective::kBarrier:
      break;
  }
}

void Layout::vectors() {
  if (test_.collective() == Collective::kBroadcast) {  // one buffer, as output
    recvElements = count_;
    if (rank_ == test_.root()) inputs_.push_back({0, count_, rank_, 0, false});
    outputs_.push_back({0, count_, test_.root(), 0, false});
    return;
  }
  sendElements = recvElements = count_;
  inputs_.push_back({0, count_, rank_, 0, false});
  outputs_.push_back({0, count_, 0, 0, true});
  outputIsFree = test_.collective() == Collective::kReduce && rank_ != test_.root();
}

void Layout::blocks() {
  const uint64_t own = test_.place() == kStart ? 0 : rank_ * count_;
  if (test_.collective() == Collective::kAllGather) {
    sendElements = count_;
    recvElements = n_ * count_;
    sendInRecv = own;
    inputs_.push_back({0, count_, rank_, 0, false});
    for (uint32_t r = 0; r < n_; ++r) outputs_.push_back({r * count_, count_, r, 0, false});
    return;
  }
  const bool scatter = test_.collective() == Collective::kScatter;
  recvElements = count_;
  recvInSend = own;
  if (scatter && rank_ != test_.root()) {
    aliased = false;  // the root alone has an input
  } else {
    sendElements = n_ * count_;
    for (uint32_t r = 0; r < n_; ++r) inputs_.push_back({r * count_, count_, rank_, r, false});
  }
  outputs_.push_back({0, count_, test_.root(), rank_, !scatter});
}

void Layout::varyingBlocks() {
  std::vector<uint64_t> counts(n_), displs;
  for (uint32_t r = 0; r < n_; ++r) counts[r] = part(r, 0);
  if (test_.collective() == Collective::kAllGatherV) {
    recvCounts = counts;
    pack(counts, true, recvDispls, recvElements);
    sendElements = counts[rank_];
    inputs_.push_back({0, counts[rank_], rank_, 0, false});
    for (uint32_t r = 0; r < n_; ++r) outputs_.push_back({recvDispls[r], counts[r], r, 0, false});
  } else {
    sendCounts = counts;
    pack(counts, true, sendDispls, sendElements);
    recvElements = counts[rank_];
    for (uint32_t r = 0; r < n_; ++r)
      inputs_.push_back({sendDispls[r], counts[r], rank_, r, false});
    outputs_.push_back({0, counts[rank_], 0, rank_, true});
  }
}

void Layout::allToAll() {
  const bool equal = test_.collective() == Collective::kAllToAll;
  const auto size = [&](uint32_t i, uint32_t j) { return equal ? count_ : part(i, j); };
  for (uint32_t r = 0; r < n_; ++r) {
    sendCounts.push_back(size(rank_, r));
    recvCounts.push_back(size(r, rank_));
  }
  for (uint32_t i = 0; i < n_; ++i) {
    for (uint32_t j = 0; j < n_; ++j) matrix.push_back(size(i, j));
  }
  const bool gaps = test_.collective() == Collective::kAllToAllV;
  pack(sendCounts, gaps, sendDispls, sendElements);
  pack(recvCounts, gaps, recvDispls, recvElements);
  for (uint32_t r = 0; r < n_; ++r) {
    inputs_.push_back({sendDispls[r], sendCounts[r], rank_, r, false});
    outputs_.push_back({recvDispls[r], recvCounts[r], r, rank_, false});
  }
}

void Layout::pointToPoint() {
  if (test_.collective() == Collective::kSendRecv) {  // a ring
    const uint32_t before = (rank_ + n_ - 1) % n_;
    sendElements = recvElements = count_;
    inputs_.push_back({0, count_, rank_, 0, false});
    outputs_.push_back({0, count_, before, 0, false});
    return;
  }
  // Items r * kItemsPerPeer + k: the second ones are shorter, so that a wrong order is seen.
  for (uint32_t r = 0; r < n_; ++r) {
    for (uint32_t k = 0; k < kItemsPerPeer; ++k) {
      sendCounts.push_back(part(rank_, r) / (k + 1));
      recvCounts.push_back(part(r, rank_) / (k + 1));
    }
  }
  pack(sendCounts, false, sendDispls, sendElements);
  pack(recvCounts, false, recvDispls, recvElements);
  for (uint32_t i = 0; i < sendCounts.size(); ++i) {
    const uint32_t peer = i / kItemsPerPeer;
    const uint32_t k = i % kItemsPerPeer;
    inputs_.push_back({sendDispls[i], sendCounts[i], rank_, i, false});
    outputs_.push_back({recvDispls[i], recvCounts[i], peer, rank_ * kItemsPerPeer + k, false});
  }
}

uint64_t Layout::part(uint32_t i, uint32_t j) const {
  const uint64_t third =
      (3 * i + 5 * j + 1) % 4;  // the first of AllGatherV is a third, then none, ...
  return third == 3 ? count_ : count_ * third / 3;
}

void Layout::pack(const std::vector<uint64_t>& counts, bool gaps, std::vector<uint64_t>& displs,
                  uint64_t& elements) const {
  displs.assign(counts.size(), 0);
  elements = 0;
  // With gaps the parts lie in reverse order, too.
  for (size_t k = 0; k < counts.size(); ++k) {
    const size_t i = gaps ? counts.size() - 1 - k : k;
    displs[i] = elements;
    elements += counts[i] + (gaps ? 1 + k % 5 : 0);
  }
}

uint64_t Layout::keyOf(uint32_t from, uint32_t block) const {
  return mix(seed_ ^ (uint64_t{from} << 32 | block) * 0x9e3779b97f4a7c15ULL);
}

Values Layout::values() const {
  if (!test_.reduces()) return Values::kBits;
  return test_.strict() ? Values::kRough : Values::kExact;
}

void Layout::write(unsigned char* buffer, const Piece& piece) const {
  unsigned char* to = buffer + piece.at * elementSize(test_.type());
  if (!piece.reduced) {
    fillInput(to, test_.type(), test_.op(), values(), keyOf(piece.from, piece.block), 0,
              piece.count);
    return;
  }
  std::vector<uint64_t> keys;
  for (uint32_t r = 0; r < n_; ++r) keys.push_back(keyOf(r, piece.block));
  fillReduced(to, test_.type(), test_.op(), values(), keys, 0, piece.count);
}

void Layout::fillSend(unsigned char* send) const {
  for (const Piece& piece : inputs_) write(send, piece);
}

void Layout::fillExpected(unsigned char* recv) const {
  if (test_.count() == 0) return;  // without any effect
  for (const Piece& piece : outputs_) write(recv, piece);
}

}  // namespace hccl::multirank
