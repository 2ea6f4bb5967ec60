#include "bench/parts/error.h"

namespace hccl::bench {

void require(int code, const char* call) {
  if (code == 0) return;
  std::string text = std::string(call) + " returned " + std::to_string(code);
  if (code > 0 && code < HCCL_E_RESERVED) {
    text += std::string(" (") + HcclGetErrorString(static_cast<HcclResult>(code)) + ")";
  }
  const char* cause = aclGetRecentErrMsg();
  if (cause != nullptr) text += std::string(": ") + cause;
  throw BenchError(text);
}

}  // namespace hccl::bench
