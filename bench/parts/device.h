// What a rank owns of the runtime and of HCCL, freed in the right order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/parts/launch.h"
#include "bench/parts/operation.h"
#include "bench/parts/options.h"
#include "hccl/hccl.h"

namespace hccl::bench {

// The rank's device, stream and communicator.
class Session {
 public:
  Session(const Launch& launch, const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  HcclComm comm() const { return comm_; }
  aclrtStream stream() const { return stream_; }
  void synchronise() const;

 private:
  void open(const Launch& launch, const Options& options);
  void close() noexcept;

  HcclComm comm_ = nullptr;
  aclrtStream stream_ = nullptr;
  int32_t device_ = -1;
};

// A pair of time stamps on a stream.
class StreamTimer {
 public:
  explicit StreamTimer(aclrtStream stream);
  ~StreamTimer();
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  void start() const;
  void stop() const;
  // Microseconds between the two; the stream has passed both.
  double microseconds() const;

 private:
  aclrtStream stream_;
  aclrtEvent first_ = nullptr;
  aclrtEvent last_ = nullptr;
};

// One allocation, of the kind that the options name, that grows when it has to.
class Memory {
 public:
  Memory(MemoryKind kind, uint64_t offset) : kind_(kind), offset_(offset) {}
  ~Memory() { release(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // At least `bytes` bytes, `offset` bytes behind an aligned address. Content is lost on growth.
  std::byte* get(uint64_t bytes);

 private:
  void release() noexcept;

  MemoryKind kind_;
  uint64_t offset_;
  void* base_ = nullptr;
  uint64_t capacity_ = 0;
};

// Both buffers of a rank, apart or in one piece of memory.
class BufferPair {
 public:
  explicit BufferPair(const Options& options);
  // The buffers of a call, and how many bytes each has.
  Buffers place(const Operation& operation, const Job& job, size_t elementBytes);

 private:
  bool inPlace_;
  Memory send_;
  Memory receive_;
};

}  // namespace hccl::bench
