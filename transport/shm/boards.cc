#include "transport/shm/boards.h"

#include <bitset>
#include <list>
#include <map>
#include <mutex>
#include <new>

#include "src/runtime/engine.h"

namespace hccl::transport {

namespace {
constexpr size_t kBatchBytes = 64 * 1024;
constexpr size_t kBatchBoards = kBatchBytes / sizeof(PairBoard);
}  // namespace

struct BoardBatch {
  runtime::Arena* arena = nullptr;
  std::byte* base = nullptr;
  uint64_t offset = 0;
  std::bitset<kBatchBoards> used;
};

namespace {

struct Pool {
  std::mutex mutex;
  std::map<int32_t, std::list<BoardBatch>> batches;  // by device
};
Pool& pool() {
  static auto* instance = new Pool;
  return *instance;
}

}  // namespace

Result<std::shared_ptr<Board>> Board::allocate(int32_t device) {
  Pool& all = pool();
  std::lock_guard lock(all.mutex);
  auto& batches = all.batches[device];
  BoardBatch* batch = nullptr;
  for (auto& candidate : batches) {
    if (!candidate.used.all()) batch = &candidate;
  }
  if (batch == nullptr) {
    HCCL_ASSIGN_OR_RETURN(runtime::Arena * arena, runtime::Arena::ofDevice(device));
    HCCL_ASSIGN_OR_RETURN(void* memory, arena->allocate(kBatchBytes));
    const auto offset = static_cast<uint64_t>(static_cast<std::byte*>(memory) - arena->base());
    // Peers read it: it outlasts a reset of the device.
    arena->expose(offset);
    BoardBatch made;
    made.arena = arena;
    made.base = static_cast<std::byte*>(memory);
    made.offset = offset;
    batch = &batches.emplace_back(made);
  }
  size_t index = 0;
  while (batch->used.test(index)) ++index;
  batch->used.set(index);
  std::shared_ptr<Board> board(new Board);
  board->batch_ = batch;
  board->board_ = new (batch->base + index * sizeof(PairBoard)) PairBoard;
  board->offset_ = batch->offset + index * sizeof(PairBoard);
  return board;
}

Board::~Board() {
  if (batch_ == nullptr || runtime::isForkedChild()) return;
  Pool& all = pool();
  std::lock_guard lock(all.mutex);
  batch_->used.reset(static_cast<size_t>(reinterpret_cast<std::byte*>(board_) - batch_->base) /
                     sizeof(PairBoard));
  if (batch_->used.any()) return;
  runtime::Arena* arena = batch_->arena;
  void* base = batch_->base;
  const uint64_t offset = batch_->offset;
  all.batches[arena->device()].remove_if(
      [this](const BoardBatch& candidate) { return &candidate == batch_; });
  (void)arena->release(base);  // unless a reset did that already
  arena->unexpose(offset);
}

}  // namespace hccl::transport
