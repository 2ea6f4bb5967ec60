// Making, destroying and aborting streams.
#include "src/base/log.h"
#include "src/runtime/engine_core.h"
#include "src/runtime/process_state.h"
#include "src/runtime/stream.h"
#include "src/runtime/stream_impl.h"

namespace hccl::runtime {
namespace {

// Frees a stream whose handle is dead and whose queue is empty.
void freeStream(Stream* stream, Deadline deadline) {
  if (!stream->hostThread().stop(deadline)) {
    HCCL_WARNING("stream {} was destroyed while a callback of it runs on", stream->id());
  }
  stream->cut(Cut::kDestroyed, Deadline::never());  // waits for the last advance() to leave
  (void)stream->takeError();
  streamTable().recycle(stream->index());
}

}  // namespace

StreamTable& streamTable() {
  static StreamTable* table = new StreamTable;  // lives until the process ends
  return *table;
}

std::atomic<double>& destroyPatience() {
  static std::atomic<double> seconds{30.0};
  return seconds;
}

bool waitWithPatience(Stream* stream) {
  const uint64_t target = stream->enqueuedCount();
  while (stream->completedCount() < target) {
    const uint64_t moves = stream->moves();
    const Deadline deadline = Deadline::after(destroyPatience().load());
    if (!EngineCore::instance().help(stream, target, nullptr, deadline) &&
        stream->moves() == moves) {
      return false;
    }
  }
  return true;
}

Result<void*> createStream(int32_t device, uint32_t priority, uint32_t flags) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  HCCL_RETURN_IF_ERROR(EngineCore::instance().start());
  uint32_t index = 0;
  Stream* stream = streamTable().acquire(&index);
  if (stream == nullptr) {
    return Status(HCCL_E_UNAVAIL, "all 16384 streams of the process are in use");
  }
  stream->open(index, device, priority, flags);
  return streamTable().publish(index);
}

Status destroyStream(void* handle, bool force) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  Stream* stream = findStream(handle);
  if (stream == nullptr || !streamTable().retract(handle)) {
    return Status(HCCL_E_PARA, "not a live stream");
  }
  const bool fromCallback = stream->hostThread().isCurrent();
  if (force) {
    stream->cut(Cut::kDestroyed, Deadline::never());
  } else if (fromCallback || !waitWithPatience(stream)) {
    if (!fromCallback) {
      HCCL_WARNING(
          "stream {} was destroyed with {} tasks that do not move; they stay queued and run when "
          "they can",
          stream->id(), stream->enqueuedCount() - stream->completedCount());
    }
    stream->orphan.store(true, std::memory_order_seq_cst);
    if (stream->isIdle() && stream->orphan.exchange(false)) reapOrphan(stream);
    return Status::ok();
  }
  freeStream(stream, fromCallback ? Deadline::after(0) : Deadline::after(destroyPatience().load()));
  return Status::ok();
}

void reapOrphan(Stream* stream) {
  freeStream(stream, Deadline::after(0));
}

std::vector<void*> streamHandlesOf(int32_t device) {
  std::vector<void*> handles;
  StreamTable& table = streamTable();
  for (uint32_t i = 0; i < table.count(); ++i) {
    void* handle = table.liveHandle(i);
    if (handle == nullptr) continue;
    if (device < 0 || table.at(i)->device() == device) handles.push_back(handle);
  }
  return handles;
}

std::vector<Stream*> streamsOf(int32_t device) {
  std::vector<Stream*> streams;
  for (void* handle : streamHandlesOf(device)) {
    if (Stream* stream = findStream(handle); stream != nullptr) streams.push_back(stream);
  }
  return streams;
}

Status abortDevice(int32_t device, Deadline deadline) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  bool allLeft = true;
  const std::vector<Stream*> streams = streamsOf(device);
  for (Stream* stream : streams) allLeft &= stream->cut(Cut::kDeviceAbort, deadline);
  for (Stream* stream : streams) allLeft &= stream->hostThread().waitIdle(deadline);
  if (allLeft) return Status::ok();
  return Status(HCCL_E_TIMEOUT,
                "tasks of device " + std::to_string(device) + " did not end in time");
}

}  // namespace hccl::runtime
