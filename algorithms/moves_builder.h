// Small helpers that make the algorithm files read like their definitions.
#pragma once

#include <initializer_list>

#include "src/plan/algorithm.h"

namespace hccl::algorithms {

using plan::Buffer;
using plan::Move;
using plan::Ref;
using plan::StageArgs;
using plan::StageOp;

inline uint32_t mod(int64_t value, uint32_t size) {
  const int64_t m = value % static_cast<int64_t>(size);
  return static_cast<uint32_t>(m < 0 ? m + size : m);
}

// The reduction kernels combine at most this many sources, and write as many targets, in one pass.
inline constexpr uint32_t kMostOperands = 64;

struct Place {
  uint32_t rank;
  Buffer buffer;
  uint32_t block;
};

// to = from, owned by the rank of `to`.
inline Move copyMove(const Place& to, const Place& from) {
  return Move{to.rank, {to.rank}, {from.rank}, {{to.buffer, to.block}, {from.buffer, from.block}}};
}

// to = remote op local, owned by the rank of `to`.
inline Move reduceMove(const Place& to, const Place& remote, const Place& local) {
  return Move{to.rank,
              {to.rank},
              {remote.rank, local.rank},
              {{to.buffer, to.block}, {remote.buffer, remote.block}, {local.buffer, local.block}}};
}

// The owner's `to` block = that block of all inputs, combined in the order of members.
inline Move reduceAll(uint32_t size, uint32_t owner, uint32_t block, Buffer to) {
  Move move{owner, {owner}, {}, {{to, block}}};
  for (uint32_t q = 0; q < size; ++q) {
    move.sources.push_back(q);
    move.refs.push_back({Buffer::kInput, block});
  }
  return move;
}

}  // namespace hccl::algorithms
