#include "transport/process_watch.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace hccl::transport {

std::shared_ptr<ProcessWatch> ProcessWatch::of(ControlThread* thread, const std::string& process,
                                               pid_t pid) {
  static auto* known = new std::map<std::string, std::weak_ptr<ProcessWatch>>;
  std::erase_if(*known, [](const auto& entry) { return entry.second.expired(); });
  auto& slot = (*known)[process];
  if (auto alive = slot.lock()) return alive;
  if (pid <= 0) return nullptr;
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return nullptr;
  auto made = std::make_shared<ProcessWatch>();
  made->thread_ = thread;
  made->fd_ = GuardedFd(std::move(fd));
  made->watch_ = thread->watch(made->fd_.get(), EPOLLIN, [weak = std::weak_ptr(made)](uint32_t) {
    const auto self = weak.lock();
    if (!self) return;
    self->thread_->unwatch(std::exchange(self->watch_, 0));
    // A callback may remove others.
    while (!self->callbacks_.empty()) {
      auto node = self->callbacks_.extract(self->callbacks_.begin());
      node.mapped()();
    }
  });
  slot = made;
  return made;
}

ProcessWatch::~ProcessWatch() {
  if (watch_ != 0) thread_->unwatch(watch_);
}

uint64_t ProcessWatch::add(std::function<void()> ended) {
  callbacks_.emplace(next_, std::move(ended));
  return next_++;
}

}  // namespace hccl::transport
