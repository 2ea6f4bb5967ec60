// This library. PEER_RANK, PEER_RANKS: the place; PEER_MEMORY=malloc: plain memory instead of
// device memory.
#include <cstdlib>
#include <cstring>

#include "contender.h"
#include "hccl/hccl.h"

namespace hccl::peers {
namespace {

void must(int result, const char* what) {
  if (result == 0) return;
  const char* text = aclGetRecentErrMsg();
  giveUp(std::string(what) + " returned " + std::to_string(result) + ": " +
         (text == nullptr ? "" : text));
}
#define MUST(call) must((call), #call)

// Root infos are binary; the leader's lines are text.
std::string toHex(const HcclRootInfo& info) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : info.internal) {
    text += kDigits[(static_cast<unsigned char>(c) >> 4) & 15];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

HcclRootInfo fromHex(const std::string& text) {
  HcclRootInfo info;
  std::memset(&info, 0, sizeof info);
  for (size_t i = 0; i < sizeof info.internal && 2 * i + 1 < text.size(); ++i) {
    info.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return info;
}

class Own final : public Contender {
 public:
  Own() {
    place_ = placeFromLeader();
    const char* memory = std::getenv("PEER_MEMORY");
    plain_ = memory != nullptr && std::strcmp(memory, "malloc") == 0;
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(place_.rank));
    MUST(aclrtCreateStream(&stream_));
  }
  ~Own() override {
    MUST(HcclCommDestroy(comm_));
    MUST(aclrtDestroyStream(stream_));
    MUST(aclFinalize());
  }
  Place place() const override { return place_; }
  std::string invitation() override {
    HcclRootInfo info;
    MUST(HcclGetRootInfo(&info));
    return toHex(info);
  }
  void join(const std::string& invitation) override {
    const HcclRootInfo info = fromHex(invitation);
    MUST(HcclCommInitRootInfo(static_cast<uint32_t>(place_.ranks), &info,
                              static_cast<uint32_t>(place_.rank), &comm_));
  }

  float* allocate(size_t count) override {
    const size_t bytes = (count * sizeof(float) + 127) / 64 * 64;
    if (plain_) return Contender::allocate(count);
    void* memory = nullptr;
    MUST(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return static_cast<float*>(memory);
  }
  void free(float* memory) override {
    if (plain_) return Contender::free(memory);
    MUST(aclrtFree(memory));
  }

  void allReduce(const float* in, float* out, size_t count) override {
    MUST(HcclAllReduce(const_cast<float*>(in), out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                       comm_, stream_));
  }
  void allGather(const float* in, float* out, size_t count) override {
    MUST(HcclAllGather(const_cast<float*>(in), out, count, HCCL_DATA_TYPE_FP32, comm_, stream_));
  }
  void reduceScatter(const float* in, float* out, size_t count) override {
    MUST(HcclReduceScatter(const_cast<float*>(in), out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                           comm_, stream_));
  }
  void allToAll(const float* in, float* out, size_t count) override {
    MUST(HcclAlltoAll(in, count, HCCL_DATA_TYPE_FP32, out, count, HCCL_DATA_TYPE_FP32, comm_,
                      stream_));
  }
  void broadcast(float* buffer, size_t count) override {
    MUST(HcclBroadcast(buffer, count, HCCL_DATA_TYPE_FP32, 0, comm_, stream_));
  }
  void barrier() override {
    MUST(HcclBarrier(comm_, stream_));
    finish();
  }
  void finish() override { MUST(aclrtSynchronizeStream(stream_)); }

 private:
  Place place_;
  bool plain_ = false;
  HcclComm comm_ = nullptr;
  aclrtStream stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Own>();
}

}  // namespace hccl::peers
