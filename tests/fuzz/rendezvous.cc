// What travels in the rendezvous, and the root information that programs carry around.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "src/bootstrap/records.h"
#include "src/bootstrap/root_info.h"
#include "src/bootstrap/wire.h"

using namespace hccl;
using namespace hccl::bootstrap;

namespace {

// What is understood can be said again, and means the same.
void join(std::string_view bytes) {
  const auto record = decodeJoin(bytes);
  if (!record.isOk()) return;
  const auto again = encodeJoin(*record);
  if (!again.isOk()) return;  // e.g. an endpoint that is no text
  if (!decodeJoin(*again).isOk()) std::abort();
}

void verdict(std::string_view bytes) {
  const auto record = decodeVerdict(bytes);
  if (!record.isOk()) return;
  const auto again = encodeVerdict(*record);
  if (again.isOk() && !decodeVerdict(*again).isOk()) std::abort();
}

void rootInfo(std::string_view bytes) {
  HcclRootInfo info;
  std::memset(&info, 0, sizeof(info));
  std::memcpy(&info, bytes.data(), std::min(bytes.size(), sizeof(info)));
  const auto handle = decodeRootInfo(info);
  if (handle.isOk()) (void)handle->toString();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0:
      (void)decodeHello(bytes);
      break;
    case 1:
      if (bytes.size() >= kFrameHeaderBytes) {
        const auto header = Session::parseHeader(bytes.substr(0, kFrameHeaderBytes));
        if (header && header->length > kMaxFrameBytes) std::abort();
      }
      break;
    case 2:
      join(bytes);
      break;
    case 3:
      verdict(bytes);
      break;
    case 4:
      (void)decodeRankList(bytes);
      break;
    case 5:
      (void)decodeAgreed(bytes);
      break;
    default:
      rootInfo(bytes);
  }
  return 0;
}
