#include "error.h"

#include <cstdlib>
#include <cstring>

namespace hccl_torch {
namespace {

// Every text of the library names the rank at fault by these words.
int culpritOf(const std::string& message) {
  static constexpr char kWords[] = "culprit rank ";
  const size_t at = message.find(kWords);
  return at == std::string::npos ? -1 : std::atoi(message.c_str() + at + std::strlen(kWords));
}

}  // namespace

std::string recentMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? std::string() : std::string(text);
}

HcclError makeError(const std::string& call, int code, const std::string& message) {
  std::string text = call + " failed with code " + std::to_string(code);
  if (!message.empty()) text += ":\n" + message;
  return HcclError(text, code, culpritOf(message));
}

void check(int code, const char* call) {
  if (code != 0) throw makeError(call, code, recentMessage());
}

}  // namespace hccl_torch
