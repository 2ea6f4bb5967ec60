#include "src/communicator/group.h"

#include <array>
#include <utility>

#include "src/communicator/initialize.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/stream.h"

namespace hccl::group {
namespace {

struct QueuedCollective {
  std::shared_ptr<Communicator> communicator;
  CollectiveCall call;
  void* stream = nullptr;
  std::array<std::vector<uint64_t>, 4> arrays;  // what `call` points to
};

// The transfers of a communicator on a stream: they become one operation.
struct QueuedTransfers {
  std::shared_ptr<Communicator> communicator;
  void* stream = nullptr;
  std::vector<executor::TransferItem> items;
};

struct Group {
  Kind kind = Kind::kNone;
  Status refused;
  std::vector<QueuedCollective> collectives;
  std::vector<QueuedTransfers> transfers;
  std::vector<JoinRequest> requests;
  std::vector<HcclComm*> handles;  // by request
};

Group& current() {
  thread_local Group group;
  return group;
}

const char* nameOf(Kind kind) {
  switch (kind) {
    case Kind::kManagement:
      return "communicator management";
    case Kind::kCollective:
      return "collectives";
    case Kind::kPointToPoint:
      return "HcclSend and HcclRecv";
    case Kind::kNone:
      break;
  }
  return "nothing";
}

Status accept(Kind kind) {
  Group& group = current();
  if (group.kind == Kind::kNone) group.kind = kind;
  if (group.kind == kind) return Status::ok();
  return refuse(
      argumentError(HCCL_E_NOT_SUPPORT, "HcclGroupStart", nameOf(kind), "the calls of a group",
                    std::string("one kind of call; this group holds ") + nameOf(group.kind)));
}

// The stream may have been destroyed since the call was queued.
Result<runtime::Stream*> liveStream(void* handle) {
  runtime::Stream* stream = runtime::findStream(handle);
  if (stream != nullptr) return stream;
  return argumentError(HCCL_E_PARA, "HcclGroupEnd", "a destroyed stream", "stream",
                       "a stream that exists");
}

Status runCollectives(std::vector<QueuedCollective>& calls) {
  for (QueuedCollective& queued : calls) {
    HCCL_ASSIGN_OR_RETURN(runtime::Stream* const stream, liveStream(queued.stream));
    HCCL_RETURN_IF_ERROR(queued.communicator->collective(queued.call, stream));
  }
  return Status::ok();
}

Status runTransfers(std::vector<QueuedTransfers>& all) {
  for (QueuedTransfers& queued : all) {
    HCCL_ASSIGN_OR_RETURN(runtime::Stream* const stream, liveStream(queued.stream));
    HCCL_RETURN_IF_ERROR(queued.communicator->transfers(queued.items, stream));
  }
  return Status::ok();
}

Status runInitializations(Group& group, const Environment& environment) {
  if (group.requests.empty()) return Status::ok();
  Status status = joinTogether(group.requests, environment);
  for (size_t i = 0; i < group.requests.size(); ++i) *group.handles[i] = group.requests[i].handle;
  return status;
}

}  // namespace

void start() {
  ++depth;
}

Status end(const Environment& environment) {
  if (depth == 0) {
    return argumentError(HCCL_E_NOT_SUPPORT, "HcclGroupEnd", "0", "group depth",
                         "a group that HcclGroupStart opened");
  }
  if (--depth != 0) return Status::ok();
  Group group = std::exchange(current(), Group{});
  HCCL_RETURN_IF_ERROR(group.refused);
  switch (group.kind) {
    case Kind::kManagement:
      return runInitializations(group, environment);
    case Kind::kCollective:
      return runCollectives(group.collectives);
    case Kind::kPointToPoint:
      return runTransfers(group.transfers);
    case Kind::kNone:
      break;
  }
  return Status::ok();
}

Status refuse(Status error) {
  Group& group = current();
  if (group.refused.isOk()) group.refused = error;
  return error;
}

Status addCollective(std::shared_ptr<Communicator> communicator, const CollectiveCall& call,
                     void* stream) {
  HCCL_RETURN_IF_ERROR(accept(Kind::kCollective));
  QueuedCollective queued{std::move(communicator), call, stream, {}};
  const size_t n = queued.communicator->size();
  const uint64_t** const pointers[] = {&queued.call.sendCounts, &queued.call.sendDispls,
                                       &queued.call.recvCounts, &queued.call.recvDispls};
  for (size_t i = 0; i < queued.arrays.size(); ++i) {
    if (*pointers[i] == nullptr) continue;
    queued.arrays[i].assign(*pointers[i], *pointers[i] + n);
    *pointers[i] = queued.arrays[i].data();  // stays valid when the vector is moved
  }
  current().collectives.push_back(std::move(queued));
  return Status::ok();
}

Status addTransfer(std::shared_ptr<Communicator> communicator, const executor::TransferItem& item,
                   void* stream) {
  HCCL_RETURN_IF_ERROR(accept(Kind::kPointToPoint));
  for (QueuedTransfers& queued : current().transfers) {
    if (queued.communicator != communicator || queued.stream != stream) continue;
    queued.items.push_back(item);
    return Status::ok();
  }
  current().transfers.push_back({std::move(communicator), stream, {item}});
  return Status::ok();
}

Status addInitialization(JoinRequest request, HcclComm* out) {
  HCCL_RETURN_IF_ERROR(accept(Kind::kManagement));
  *out = nullptr;
  current().requests.push_back(std::move(request));
  current().handles.push_back(out);
  return Status::ok();
}

Status refuseBatch() {
  return refuse(argumentError(HCCL_E_NOT_SUPPORT, "HcclBatchSendRecv", "HcclBatchSendRecv",
                              "the calls of a group", "HcclSend and HcclRecv"));
}

}  // namespace hccl::group
