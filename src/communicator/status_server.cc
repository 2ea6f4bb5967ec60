#include "src/communicator/status_server.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/log.h"
#include "src/base/socket.h"
#include "src/communicator/flight.h"
#include "src/communicator/registry.h"
#include "transport/control_thread.h"

namespace hccl {
namespace {

using transport::ControlThread;
using transport::GuardedFd;

constexpr int kSendBytes = 1 << 20;

std::string statusText() {
  std::string text = fmt::format("process {}\n", ::getpid());
  for (const auto& communicator : Registry::instance().all()) {
    text += flightText(*communicator->flight());
  }
  return text;
}

std::string statusJson() {
  std::string text = fmt::format("{{\"pid\":{},\"communicators\":[", ::getpid());
  bool first = true;
  for (const auto& communicator : Registry::instance().all()) {
    text += (first ? "" : ",") + flightStatusJson(*communicator->flight());
    first = false;
  }
  return text + "]}\n";
}

// One caller after the other; what a caller does not take at once is lost to it.
void answer(int listener, const std::function<std::string()>& text) {
  for (;;) {
    const UniqueFd caller(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller) return;
    const auto uid = peerUid(caller.get());
    if (!uid.isOk() || (*uid != ::geteuid() && *uid != 0)) continue;
    ::setsockopt(caller.get(), SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
    const std::string reply = text();
    (void)!::send(caller.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

Status serve(ControlThread* thread, const std::string& name,
             const std::function<std::string()>& text) {
  HCCL_ASSIGN_OR_RETURN(UniqueFd fd, listenUnix(name));
  // The handler keeps it, as long as the process lives, like the control thread.
  const auto listener = std::make_shared<GuardedFd>(std::move(fd));
  thread->run([&] {
    thread->watch(listener->get(), EPOLLIN,
                  [listener, text](uint32_t) { answer(listener->get(), text); });
  });
  return Status::ok();
}

}  // namespace

void startStatusServer() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto thread = ControlThread::instance();
    if (!thread.isOk()) return;
    const std::string name = fmt::format("hccl-status-{}", ::getpid());
    Status status = serve(*thread, name, statusText);
    if (status.isOk()) status = serve(*thread, name + ".json", statusJson);
    if (!status.isOk()) HCCL_WARNING("no status socket: {}", status.text());
  });
}

}  // namespace hccl
