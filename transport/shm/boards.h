// Boards: PairBoards out of a rank's arena, many to a batch of pages.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/runtime/arena.h"
#include "transport/transport.h"

namespace hccl::transport {

struct BoardBatch;

// One zeroed PairBoard; goes back to its batch with its owner.
class Board {
 public:
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  PairBoard* get() const { return board_; }
  uint64_t offset() const { return offset_; }  // in the arena

  // Thread safe. HCCL_E_OOM when the arena has no memory.
  static Result<std::shared_ptr<Board>> allocate(int32_t device);

 private:
  Board() = default;
  BoardBatch* batch_ = nullptr;
  PairBoard* board_ = nullptr;
  uint64_t offset_ = 0;
};

}  // namespace hccl::transport
