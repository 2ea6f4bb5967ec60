#include "src/communicator/launch_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/fault/ei_errors.h"
#include "src/reduce/reduce.h"

namespace hccl {
namespace {

// Where the choice does not say it, an iteration of the chunk grid moves at most this much of an
// operation: less where ranks share memory and the staging of all is to stay in the cache.
constexpr uint64_t kChunkBytes = 2ULL << 20;
constexpr uint64_t kSharedChunkBytes = 1ULL << 20;
// AlltoAllV knows no size that all ranks share; its grid is that of a large operation.
constexpr uint64_t kUnknownCount = 1ULL << 40;

void assign(std::vector<uint64_t>& to, const uint64_t* from, uint32_t n) {
  if (from == nullptr) {
    to.clear();
  } else {
    to.assign(from, from + n);
  }
}

uint64_t extent(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& displs) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) end = std::max(end, displs[i] + counts[i]);
  }
  return end;
}

// Counts of all blocks, folded: ranks that disagree are told apart.
uint64_t digest(const std::vector<uint64_t>& counts) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (uint64_t count : counts) h = (h ^ count) * 0x100000001b3ULL;
  return h;
}

void fillBuffers(const CollectiveCall& call, uint32_t rank, uint32_t ranks,
                 executor::Launch& launch) {
  const uint64_t size = launch.geometry.elementSize;
  const uint64_t block = call.count * size;
  const bool root = rank == call.root;
  launch.input = static_cast<const std::byte*>(call.send);
  launch.output = static_cast<std::byte*>(call.recv);
  launch.inputBytes = block;
  launch.outputBytes = block;
  switch (call.type) {
    case HCCL_CMD_REDUCE:
      if (!root) launch.outputBytes = 0;
      break;
    case HCCL_CMD_REDUCE_SCATTER:
      launch.inputBytes = block * ranks;
      break;
    case HCCL_CMD_ALLGATHER:
      launch.outputBytes = block * ranks;
      break;
    case HCCL_CMD_SCATTER:
      launch.inputBytes = root ? block * ranks : 0;
      break;
    case HCCL_CMD_ALLTOALL:
      launch.inputBytes = launch.outputBytes = block * ranks;
      break;
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      launch.inputBytes = extent(launch.inputCounts, launch.inputDispls) * size;
      launch.outputBytes = extent(launch.outputCounts, launch.outputDispls) * size;
      break;
    case HCCL_CMD_REDUCE_SCATTER_V:
      launch.inputBytes = extent(launch.inputCounts, launch.inputDispls) * size;
      launch.outputBytes = launch.inputCounts[rank] * size;
      break;
    case HCCL_CMD_ALLGATHER_V:
      launch.inputBytes = launch.outputCounts[rank] * size;
      launch.outputBytes = extent(launch.outputCounts, launch.outputDispls) * size;
      break;
    default:
      break;
  }
}

// In place where the operation allows it; else the output may be staged, or the call is wrong.
Status checkOverlap(const CollectiveCall& call, uint32_t rank, executor::Launch& launch) {
  launch.outputAliasesInput = false;
  const std::byte* in = launch.input;
  const std::byte* out = launch.output;
  if (launch.inputBytes == 0 || launch.outputBytes == 0 || call.type == HCCL_CMD_BROADCAST ||
      in + launch.inputBytes <= out || out + launch.outputBytes <= in) {
    return Status::ok();
  }
  const plan::Geometry& g = launch.geometry;
  const uint64_t size = g.elementSize;
  bool safe = false;
  bool staged = false;
  switch (call.type) {
    case HCCL_CMD_ALLREDUCE:
    case HCCL_CMD_REDUCE:
      safe = in == out;
      break;
    case HCCL_CMD_ALLGATHER:
    case HCCL_CMD_ALLGATHER_V:
      safe = in == out + g.userOffset(true, plan::BufferShape::kFull, rank, 0) * size;
      staged = in == out;
      break;
    case HCCL_CMD_REDUCE_SCATTER:
    case HCCL_CMD_REDUCE_SCATTER_V:
    case HCCL_CMD_SCATTER:
      safe = out == in + g.userOffset(false, plan::BufferShape::kFull, rank, 0) * size;
      staged = in == out;
      break;
    default:
      break;
  }
  if (safe) return Status::ok();
  if (staged) {
    launch.outputAliasesInput = true;
    return Status::ok();
  }
  return argumentError(HCCL_E_PARA, std::string("Hccl") + plan::opName(call.type),
                       fmt::format("{} (sendBuf {} with {} bytes)", static_cast<const void*>(out),
                                   static_cast<const void*>(in), launch.inputBytes),
                       "recvBuf", "a buffer that is equal to sendBuf or does not overlap it");
}

}  // namespace

uint64_t agreedCount(const CollectiveCall& call, uint32_t ranks) {
  switch (call.type) {
    case HCCL_CMD_ALLGATHER_V:
      return *std::max_element(call.recvCounts, call.recvCounts + ranks);
    case HCCL_CMD_REDUCE_SCATTER_V:
      return *std::max_element(call.sendCounts, call.sendCounts + ranks);
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      return 0;
    default:
      return call.count;
  }
}

uint64_t usualChunkBytes(bool shared) {
  return shared ? kSharedChunkBytes : kChunkBytes;
}

uint64_t agreedBytes(const plan::OpDesc& op, uint32_t ranks) {
  const uint64_t bytes = op.count * reduce::typeSize(op.dataType);
  return plan::isVectorOp(op.type) ? bytes : bytes * ranks;
}

Status fillLaunch(const CollectiveCall& call, uint32_t rank, uint32_t ranks, uint64_t bufferBytes,
                  uint64_t chunkBytes, executor::Launch& launch) {
  const plan::Plan& plan = *launch.plan;
  plan::Geometry& g = launch.geometry;
  g = plan::Geometry();
  g.vector = plan.vector;
  g.elementSize = std::max<size_t>(reduce::typeSize(call.dataType), 1);
  g.blocks = plan.blocks;
  g.total = launch.op.count;
  launch.agreedCount = launch.op.count;
  const bool varying = plan::hasVaryingBlocks(call.type);
  const bool perPair = call.type == HCCL_CMD_ALLTOALLV || call.type == HCCL_CMD_ALLTOALLVC;
  assign(launch.inputCounts, call.sendCounts, ranks);
  assign(launch.inputDispls, call.sendDispls, ranks);
  assign(launch.outputCounts, call.recvCounts, ranks);
  assign(launch.outputDispls, call.recvDispls, ranks);
  uint64_t local = launch.op.count;
  if (varying) {
    // Both tables answer for a block's length, whichever side asks.
    if (call.type == HCCL_CMD_ALLGATHER_V) {
      launch.inputCounts = launch.outputCounts;
    } else {
      launch.outputCounts = launch.inputCounts;
    }
    launch.agreedCount = digest(launch.inputCounts);
  }
  if (perPair && launch.inputCounts[rank] != launch.outputCounts[rank]) {
    return argumentError(HCCL_E_PARA, std::string("Hccl") + plan::opName(call.type),
                         std::to_string(launch.outputCounts[rank]), "recvCounts of the own rank",
                         "its sendCounts, " + std::to_string(launch.inputCounts[rank]));
  }
  if (perPair) {
    for (uint64_t count : launch.inputCounts) local = std::max(local, count);
    for (uint64_t count : launch.outputCounts) local = std::max(local, count);
  }
  if (varying || perPair) {
    g.inputCounts = launch.inputCounts.data();
    g.outputCounts = launch.outputCounts.data();
    g.inputDispls = launch.inputDispls.empty() ? nullptr : launch.inputDispls.data();
    g.outputDispls = launch.outputDispls.empty() ? nullptr : launch.outputDispls.data();
  }
  g.capacity = plan::Geometry::chooseCapacity(g.vector, g.elementSize, g.blocks,
                                              perPair ? kUnknownCount : launch.op.count,
                                              3 * g.blocks + ranks, bufferBytes, chunkBytes);
  g.setIterations(local);
  fillBuffers(call, rank, ranks, launch);
  HCCL_RETURN_IF_ERROR(checkOverlap(call, rank, launch));
  plan::Signature signature;
  signature.type = static_cast<uint8_t>(call.type);
  signature.dataType = static_cast<uint8_t>(call.dataType);
  signature.reduceOp = static_cast<uint8_t>(call.reduceOp);
  signature.root = call.root;
  signature.algorithm = plan.algorithmId;
  signature.geometry = g.hash();
  launch.signature = signature.pack();
  return Status::ok();
}

}  // namespace hccl
