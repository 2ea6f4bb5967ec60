#include "tests/integration/support/rank.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace hccl::multirank {

void Rank::send(char kind, const std::string& text) {
  const std::string message = kind + text.substr(0, 60000);
  if (::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) < 0) throw JobAborted();
}

std::string Rank::argument(const std::string& name, const std::string& otherwise) const {
  for (const std::string& text : arguments_) {
    if (text.rfind(name + "=", 0) == 0) return text.substr(name.size() + 1);
  }
  return otherwise;
}

std::vector<std::string> Rank::allGather(const std::string& own) {
  send('G', own);
  std::string message(256 << 10, '\0');
  ssize_t got = 0;
  do {
    got = ::recv(socket_, message.data(), message.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0 || message[0] != 'G') throw JobAborted();
  std::vector<std::string> all;
  size_t at = 1;
  for (uint32_t r = 0; r < ranks_; ++r) {
    uint32_t size = 0;
    std::memcpy(&size, message.data() + at, sizeof(size));
    at += sizeof(size);
    all.push_back(message.substr(at, size));
    at += size;
  }
  return all;
}

void Rank::note(const std::string& text) {
  send('N', text);
}
void Rank::report(const std::string& text) {
  send('R', text);
}
void Rank::fail(const std::string& text) {
  try {
    send('F', text);
  } catch (const JobAborted&) {
    // The parent is gone, and with it everybody who would read this.
  }
}

std::string takeErrorText() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

void expectOk(HcclResult result, const char* expression) {
  if (result == HCCL_SUCCESS) return;
  throw RankFailure(std::string(expression) + " returned " + std::to_string(result) + " (" +
                    HcclGetErrorString(result) + "): " + takeErrorText());
}

void expectOk(aclError result, const char* expression) {
  if (result == ACL_SUCCESS) return;
  throw RankFailure(std::string(expression) + " returned " + std::to_string(result) + ": " +
                    takeErrorText());
}

void expect(bool condition, const std::string& text) {
  if (!condition) throw RankFailure(text);
}

HcclCommConfig makeConfig() {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  return config;
}

HcclComm openByRootInfo(Rank& rank, const HcclCommConfig* config) {
  HcclRootInfo info = {};
  std::string own;
  if (rank.rank() == 0) {
    HCCL_MUST(HcclGetRootInfo(&info));
    own.assign(info.internal, sizeof(info.internal));
  }
  const std::string root = rank.allGather(own)[0];
  std::memcpy(info.internal, root.data(), sizeof(info.internal));
  HcclComm comm = nullptr;
  if (config == nullptr) {
    HCCL_MUST(HcclCommInitRootInfo(rank.ranks(), &info, rank.rank(), &comm));
  } else {
    HCCL_MUST(HcclCommInitRootInfoConfig(rank.ranks(), &info, rank.rank(), config, &comm));
  }
  return comm;
}

Session::Session(int32_t device) : device_(device) {
  HCCL_MUST(aclrtSetDevice(device_));
  HCCL_MUST(aclrtCreateStream(&stream_));
}

Session::~Session() {
  (void)aclrtDestroyStreamForce(stream_);
  (void)aclrtResetDevice(device_);
}

void Session::synchronise(int seconds) {
  HCCL_MUST(aclrtSynchronizeStreamWithTimeout(stream_, seconds * 1000));
}

}  // namespace hccl::multirank
