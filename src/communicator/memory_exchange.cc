#include "src/communicator/memory_exchange.h"

#include <fmt/core.h>

#include <random>

#include "src/fault/ei_errors.h"
#include "src/runtime/arena.h"
#include "src/runtime/stream.h"

namespace hccl {
namespace {

uint64_t processNumber() {
  static const uint64_t number = [] {
    std::random_device source;
    return (static_cast<uint64_t>(source()) << 32) | source();
  }();
  return number;
}

// A stream for the exchange alone, so that the program's streams are neither used nor waited for.
class InternalStream {
 public:
  explicit InternalStream(int32_t device) : handle_(runtime::createStream(device, 0, 0)) {}
  ~InternalStream() {
    if (handle_.isOk()) (void)runtime::destroyStream(*handle_, false);
  }
  InternalStream(const InternalStream&) = delete;
  InternalStream& operator=(const InternalStream&) = delete;

  Status status() const { return handle_.status(); }
  runtime::Stream* get() const { return runtime::findStream(*handle_); }
  // The operations on it end by themselves: HCCL_EXEC_TIMEOUT, or the communicator's failure.
  Status wait() const { return runtime::synchronize(get(), Deadline::never()); }

 private:
  Result<void*> handle_;
};

}  // namespace

MemoryPart describePart(const Communicator& communicator, const void* address, uint64_t bytes) {
  MemoryPart part;
  part.process = processNumber();
  part.address = reinterpret_cast<uint64_t>(address);
  part.bytes = bytes;
  uint64_t offset = 0;
  // Peers map the arena of the rank's own device only.
  const runtime::Arena* arena = runtime::Arena::find(address, bytes, &offset);
  if (arena != nullptr && arena->device() == communicator.device()) part.offset = offset;
  return part;
}

Result<std::vector<MemoryPart>> gatherParts(Communicator& communicator, const MemoryPart& mine) {
  std::vector<MemoryPart> parts(communicator.size());
  if (communicator.size() == 1) return std::vector<MemoryPart>{mine};
  InternalStream stream(communicator.device());
  HCCL_RETURN_IF_ERROR(stream.status());
  CollectiveCall call;
  call.type = HCCL_CMD_ALLGATHER;
  call.send = &mine;
  call.recv = parts.data();
  call.count = sizeof(MemoryPart);
  call.dataType = HCCL_DATA_TYPE_UINT8;
  HCCL_RETURN_IF_ERROR(communicator.collective(call, stream.get()));
  HCCL_RETURN_IF_ERROR(stream.wait());
  return parts;
}

Result<std::vector<MemoryPart>> swapParts(Communicator& communicator, const MemoryPart& mine,
                                          std::span<const uint32_t> peers) {
  std::vector<MemoryPart> parts(peers.size());
  std::vector<executor::TransferItem> items;
  MemoryPart sent = mine;
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] == communicator.rank()) {
      parts[i] = mine;
      continue;
    }
    for (const bool send : {true, false}) {
      executor::TransferItem item;
      item.send = send;
      item.peer = peers[i];
      item.buffer = reinterpret_cast<std::byte*>(send ? &sent : &parts[i]);
      item.count = sizeof(MemoryPart);
      item.dataType = HCCL_DATA_TYPE_UINT8;
      items.push_back(item);
    }
  }
  if (items.empty()) return parts;
  InternalStream stream(communicator.device());
  HCCL_RETURN_IF_ERROR(stream.status());
  HCCL_RETURN_IF_ERROR(communicator.transfers(items, stream.get()));
  HCCL_RETURN_IF_ERROR(stream.wait());
  return parts;
}

Result<std::byte*> reachPart(Communicator& communicator, uint32_t peer, const MemoryPart& part) {
  if (part.process == processNumber()) {
    return reinterpret_cast<std::byte*>(part.address);  // NOLINT(performance-no-int-to-ptr)
  }
  if (part.offset == MemoryPart::kNoOffset) {
    return eiError(
        Ei::kP2p, HCCL_E_NOT_SUPPORT,
        {fmt::format("the memory of rank {} was not allocated by aclrtMalloc and cannot be mapped",
                     peer)},
        static_cast<int>(peer));
  }
  auto mapped =
      communicator.peerPointer(peer, transport::BufferRef::offset(part.offset), part.bytes);
  if (mapped.isOk() || mapped.status().code() != HCCL_E_NOT_SUPPORT ||
      mapped.status().eiCode() != 0) {
    return mapped;
  }
  return eiError(Ei::kP2p, HCCL_E_NOT_SUPPORT, {mapped.status().text()}, static_cast<int>(peer));
}

}  // namespace hccl
