#include "tools/tune/team.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hccl::tune {
namespace {

constexpr size_t kWordBytes = sizeof(HcclRootInfo) + 64;

}  // namespace

void giveUp(const std::string& why) {
  std::fprintf(stderr, "hccl_tune: %s\n", why.c_str());
  std::_Exit(1);
}

void must(int result, const char* call) {
  if (result == 0) return;
  const char* text = aclGetRecentErrMsg();
  giveUp(std::string(call) + " returned " + std::to_string(result) + ": " +
         (text == nullptr ? "" : text));
}

Team::Team(Invitation& invitation) : rank_(invitation.rank()), ranks_(invitation.ranks()) {
  HCCL_TUNE_MUST(aclInit(nullptr));
  uint32_t devices = 0;
  HCCL_TUNE_MUST(aclrtGetDeviceCount(&devices));
  HCCL_TUNE_MUST(aclrtSetDevice(static_cast<int32_t>(rank_ % devices)));
  HCCL_TUNE_MUST(aclrtCreateStream(&stream_));
  void* words = nullptr;
  HCCL_TUNE_MUST(aclrtMalloc(&words, kWordBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  words_ = static_cast<std::byte*>(words);
  HcclRootInfo info;
  std::memset(&info, 0, sizeof(info));
  if (rank_ == 0) HCCL_TUNE_MUST(HcclGetRootInfo(&info));
  invitation.share(&info);
  control_ = join(info, "");
}

Team::~Team() {
  HCCL_TUNE_MUST(HcclCommDestroy(control_));
  HCCL_TUNE_MUST(aclrtFree(words_));
  HCCL_TUNE_MUST(aclrtDestroyStream(stream_));
}

HcclComm Team::join(const HcclRootInfo& info, const std::string& algo) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  if (algo.size() >= sizeof(config.hcclAlgo)) giveUp("a configuration is too long: " + algo);
  std::snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", algo.c_str());
  HcclComm comm = nullptr;
  HCCL_TUNE_MUST(HcclCommInitRootInfoConfig(ranks_, &info, rank_, &config, &comm));
  return comm;
}

HcclComm Team::open(const std::string& algo) {
  HcclRootInfo info;
  if (rank_ == 0) {
    HCCL_TUNE_MUST(HcclGetRootInfo(&info));
    std::memcpy(words_, &info, sizeof(info));
  }
  HCCL_TUNE_MUST(HcclBroadcast(words_, sizeof(info), HCCL_DATA_TYPE_INT8, 0, control_, stream_));
  synchronise();
  std::memcpy(&info, words_, sizeof(info));
  return join(info, algo);
}

void Team::barrier() {
  HCCL_TUNE_MUST(HcclBarrier(control_, stream_));
  synchronise();
}

double Team::most(double mine) {
  std::memcpy(words_, &mine, sizeof(mine));
  HCCL_TUNE_MUST(
      HcclAllReduce(words_, words_, 1, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_MAX, control_, stream_));
  synchronise();
  std::memcpy(&mine, words_, sizeof(mine));
  return mine;
}

double Team::ofFirst(double value) {
  std::memcpy(words_, &value, sizeof(value));
  HCCL_TUNE_MUST(HcclBroadcast(words_, 1, HCCL_DATA_TYPE_FP64, 0, control_, stream_));
  synchronise();
  std::memcpy(&value, words_, sizeof(value));
  return value;
}

}  // namespace hccl::tune
