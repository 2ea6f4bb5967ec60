#include "src/runtime/copy_task.h"

#include <algorithm>
#include <cstring>

#include "src/runtime/pool.h"

namespace hccl::runtime {
namespace {

constexpr size_t kPiece = 256 << 10;

class CopyTask : public Task {
 public:
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;  // nullptr: fill with `value`
  int value = 0;
  size_t left = 0;

  Poll advance() noexcept override {
    const size_t piece = std::min(left, kPiece);
    if (source != nullptr) {
      std::memmove(destination, source, piece);
      source += piece;
    } else {
      std::memset(destination, value, piece);
    }
    destination += piece;
    left -= piece;
    return left == 0 ? Poll::kDone : Poll::kProgress;
  }
  Status status() const override { return Status::ok(); }
  void retire() noexcept override { poolOf<CopyTask>().give(this); }
};

Status send(Stream* stream, void* destination, const void* source, int value, size_t bytes) {
  CopyTask* task = poolOf<CopyTask>().take();
  task->destination = static_cast<std::byte*>(destination);
  task->source = static_cast<const std::byte*>(source);
  task->value = value;
  task->left = bytes;
  Status status = enqueue(stream, task);
  if (!status.isOk()) task->retire();
  return status;
}

}  // namespace

Status enqueueCopy(Stream* stream, void* destination, const void* source, size_t bytes) {
  return send(stream, destination, source, 0, bytes);
}

Status enqueueFill(Stream* stream, void* destination, int value, size_t bytes) {
  return send(stream, destination, nullptr, value, bytes);
}

}  // namespace hccl::runtime
