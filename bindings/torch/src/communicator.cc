#include "communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime.h"

namespace hccl_torch {
namespace {

HcclCommConfig configFor(Communicator::Timeout timeout) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  const int64_t seconds = (timeout.count() + 999) / 1000;
  config.hcclExecTimeOut = static_cast<int32_t>(std::min<int64_t>(seconds, 1000000));
  return config;
}

// A group may be made again under the same name, in the same store: each rank counts how often it
// was here, so that nobody takes an old root information for the new one.
std::string rootInfoKey(c10d::Store& store, int rank) {
  const int64_t turn = store.add("hccl_turn_" + std::to_string(rank), 1);
  return "hccl_root_info_" + std::to_string(turn);
}

}  // namespace

std::shared_ptr<Communicator> Communicator::join(c10d::Store& store, int rank, int size,
                                                 Timeout timeout) {
  useDevice();
  const std::string key = rootInfoKey(store, rank);
  HcclRootInfo root;
  if (rank == 0) {
    check(HcclGetRootInfo(&root), "HcclGetRootInfo");
    const auto* bytes = reinterpret_cast<const uint8_t*>(root.internal);
    store.set(key, std::vector<uint8_t>(bytes, bytes + sizeof(root.internal)));
  } else {
    const std::vector<uint8_t> bytes = store.get(key);
    TORCH_CHECK(bytes.size() == sizeof(root.internal), "hccl: the store's root information has ",
                bytes.size(), " bytes instead of ", sizeof(root.internal));
    std::memcpy(root.internal, bytes.data(), bytes.size());
  }
  const HcclCommConfig config = configFor(timeout);
  HcclComm handle = nullptr;
  check(HcclCommInitRootInfoConfig(static_cast<uint32_t>(size), &root, static_cast<uint32_t>(rank),
                                   &config, &handle),
        "HcclCommInitRootInfoConfig");
  std::vector<uint32_t> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return std::shared_ptr<Communicator>(
      new Communicator(handle, {nullptr, std::move(ranks), rank, 0}));
}

std::shared_ptr<Communicator> Communicator::split(const std::shared_ptr<Communicator>& parent,
                                                  std::vector<uint32_t> ranks, int rank,
                                                  uint64_t id, Timeout timeout) {
  useDevice();
  HcclCommConfig config = configFor(timeout);
  HcclComm handle = nullptr;
  const auto count = static_cast<uint32_t>(ranks.size());
  parent->use([&](HcclComm whole) {
    check(HcclCreateSubCommConfig(&whole, count, ranks.data(), id, static_cast<uint32_t>(rank),
                                  &config, &handle),
          "HcclCreateSubCommConfig");
  });
  return std::shared_ptr<Communicator>(
      new Communicator(handle, {parent, std::move(ranks), rank, id}));
}

std::shared_ptr<Communicator> Communicator::twin(const std::shared_ptr<Communicator>& of) {
  constexpr uint64_t kTwin = 0x7477696e;
  const Origin& origin = of->origin_;
  // The library makes no parts of parts: both come from the whole.
  return split(origin.parent ? origin.parent : of, origin.ranks, origin.rank, origin.id ^ kTwin,
               Timeout(0));
}

Communicator::~Communicator() {
  if (!isForkedChild()) (void)HcclCommDestroy(handle_);
}

HcclError Communicator::failure(const std::string& call, int code) {
  const std::string news = recentMessage();
  const std::lock_guard<std::mutex> lock(failureMutex_);
  if (firstFailure_.empty()) firstFailure_ = news;
  return makeError(call, code, firstFailure_);
}

int Communicator::asyncError() {
  HcclResult result = HCCL_SUCCESS;
  const HcclResult asked = HcclGetCommAsyncError(handle_, &result);
  return asked != HCCL_SUCCESS ? asked : result;
}

}  // namespace hccl_torch
