// The life of a RootServer and its poll loop; what it decides stands in root_server_verdict.cc.
#include "src/bootstrap/root_server.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

#include "src/base/log.h"
#include "src/base/socket.h"
#include "src/base/system_error.h"

namespace hccl::bootstrap {
namespace {

constexpr uint64_t kStopId = 0;
constexpr uint64_t kListenerId = 1;
constexpr uint64_t kFirstConnectionId = 2;

constexpr size_t kMaxStrangers = 256;
constexpr uint64_t kStrangerGraceNs = 100'000'000;   // may be put out for a newer one after this
constexpr uint64_t kProofTimeoutNs = 3'000'000'000;  // to prove the secret
constexpr uint64_t kJoinTimeoutNs = 20'000'000'000;  // a member, to send its record
constexpr uint64_t kDescriptorPauseNs = 20'000'000;  // the process has no descriptor left
constexpr int kAcceptsPerTurn = 64;
constexpr unsigned kMaxRejectionLines = 20;
constexpr double kStopGraceSeconds = 1;

// Blocks every signal for threads made in its life.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t old_;
};

bool addToEpoll(int epoll, int fd, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

RootServer::RootServer(RootServerOptions options)
    : options_(std::move(options)),
      deadline_(Deadline::after(options_.timeoutSeconds)),
      nextId_(kFirstConnectionId) {}

Result<std::shared_ptr<RootServer>> RootServer::start(RootServerOptions options) {
  std::shared_ptr<RootServer> server(new RootServer(std::move(options)));
  HCCL_RETURN_IF_ERROR(server->prepare());
  const SignalBlock block;
  try {
    server->thread_ = std::thread([raw = server.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    server->finished_ = true;
    return threadStartError("the root's thread", error.code().value());
  }
  pthread_setname_np(server->thread_.native_handle(), "Hccl_TopoDetect");
  return server;
}

Status RootServer::prepare() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  stopEvent_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const bool isReady = epoll_ && stopEvent_ &&
                       addToEpoll(epoll_.get(), stopEvent_.get(), kStopId, EPOLLIN) &&
                       addToEpoll(epoll_.get(), options_.listener.get(), kListenerId, EPOLLIN);
  if (!isReady) {
    return systemCallError("preparing the root's poll loop", errno);
  }
  descriptors_ = {epoll_.get(), stopEvent_.get(), options_.listener.get()};
  return Status::ok();
}

RootServer::~RootServer() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void RootServer::stop() {
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  if (stopEvent_) (void)!::write(stopEvent_.get(), &one, sizeof(one));
}

void RootServer::closeDescriptorsInChild() {
  for (const int fd : descriptors_) ::close(fd);
}

void RootServer::run() {
  std::array<epoll_event, 128> events;
  try {
    while (!isDone()) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), waitMs());
      if (count < 0 && errno != EINTR) break;
      for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
      if (acceptPausedUntilNs_ != 0 && monotonicNs() >= acceptPausedUntilNs_) resumeAccepting();
      dropOverdue();
      if (verdict_ == nullptr && disputeDeadline_.expired()) settleDispute();
      if (verdict_ == nullptr && deadline_.expired()) onTimeout();
    }
  } catch (const std::exception& error) {
    HCCL_ERROR("[InitGroupStage][RanktableDetect] the root's thread ends: {}", error.what());
  }
  while (!connections_.empty()) close(connections_.begin()->first);
  stopListening();
  finished_.store(true, std::memory_order_release);
}

bool RootServer::isDone() const {
  if (stopping_.load(std::memory_order_acquire)) {
    const bool isSending = verdict_ != nullptr &&
                           std::any_of(connections_.begin(), connections_.end(),
                                       [](const auto& entry) { return entry.second->hasOutput(); });
    // A rank that has not asked yet would find nobody and learn nothing.
    const bool isAwaited = isLingering() && answered_ < expectedAnswers_;
    return (!isSending && !isAwaited) || verdictDeadline_.expired();
  }
  if (verdict_ == nullptr) return false;
  if (verdictDeadline_.expired()) return true;
  const bool anyLeft = std::any_of(connections_.begin(), connections_.end(),
                                   [](const auto& entry) { return entry.second->hasJoined; });
  if (anyLeft) return false;
  const bool areAllAnswered = expectedAnswers_ != 0 && answered_ >= expectedAnswers_;
  return !isLingering() || areAllAnswered || lingerDeadline_.expired();
}

int RootServer::waitMs() const {
  Deadline next = verdict_ == nullptr ? deadline_.earlier(disputeDeadline_) : verdictDeadline_;
  if (isLingering() && !lingerDeadline_.expired()) next = next.earlier(lingerDeadline_);
  if (stopping_.load(std::memory_order_acquire)) next = next.earlier(Deadline::after(0.05));
  if (acceptPausedUntilNs_ != 0) next = next.earlier(Deadline::atNs(acceptPausedUntilNs_));
  if (!pending_.empty()) {
    const RootConnection& oldest = *connections_.at(*pending_.begin());
    const uint64_t limit = oldest.isMember() ? kJoinTimeoutNs : kProofTimeoutNs;
    next = next.earlier(Deadline::atNs(oldest.acceptedNs() + limit));
  }
  return next.remainingMs();
}

void RootServer::handle(Id id, uint32_t events) {
  if (id == kStopId) {
    uint64_t value = 0;
    (void)!::read(stopEvent_.get(), &value, sizeof(value));
    verdictDeadline_ = verdictDeadline_.earlier(Deadline::after(kStopGraceSeconds));
    return;
  }
  if (id == kListenerId) return acceptAll();
  if (connections_.count(id) != 0 && (events & EPOLLOUT) != 0) flushTo(id);
  if (connections_.count(id) != 0 && (events & ~EPOLLOUT) != 0) readFrom(id);
}

void RootServer::acceptAll() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (!options_.listener || !makeRoom()) return;
    Result<AcceptedSocket> accepted = acceptOne();
    if (accepted) {
      if (!admit(std::move(*accepted))) return;
      continue;
    }
    // No descriptor left is the only failure that would repeat at once.
    if (accepted.status().code() != HCCL_E_TIMEOUT) {
      pauseAccepting(monotonicNs() + kDescriptorPauseNs);
    }
    return;
  }
}

// A fork finds either no descriptor or a known one.
Result<AcceptedSocket> RootServer::acceptOne() {
  const std::lock_guard lock(descriptorsMutex_);
  Result<AcceptedSocket> accepted = acceptTcp(options_.listener.get(), Deadline::after(0));
  if (accepted) descriptors_.insert(accepted->fd.get());
  return accepted;
}

void RootServer::forget(int fd) {
  const std::lock_guard lock(descriptorsMutex_);
  descriptors_.erase(fd);
}

bool RootServer::admit(AcceptedSocket accepted) {
  if (options_.whitelist && !options_.whitelist->allowsHost(accepted.peer.ip)) {
    if (rejected_++ < kMaxRejectionLines) {
      HCCL_ERROR(
          "[InitGroupStage][RanktableDetect] {} is not in the host_ip list of the white "
          "list: connection refused",
          accepted.peer.toString());
    }
    forget(accepted.fd.get());
    return true;
  }
  (void)setNoDelay(accepted.fd.get());
  const Id id = nextId_++;
  const int fd = accepted.fd.get();
  if (!addToEpoll(epoll_.get(), fd, id, EPOLLIN | EPOLLRDHUP)) {
    forget(fd);
    return false;
  }
  connections_[id] = std::make_unique<RootConnection>(std::move(accepted.fd),
                                                      std::move(accepted.peer), monotonicNs());
  pending_.insert(id);
  return true;
}

// At the bound the oldest stranger goes, once it had its chance; before that nobody new comes in.
bool RootServer::makeRoom() {
  Id oldest = 0;
  size_t strangers = 0;
  for (const Id id : pending_) {
    if (connections_.at(id)->isMember()) continue;
    if (strangers++ == 0) oldest = id;
  }
  if (strangers < kMaxStrangers) return true;
  const uint64_t grace = connections_.at(oldest)->acceptedNs() + kStrangerGraceNs;
  if (monotonicNs() < grace) {
    pauseAccepting(grace);
    return false;
  }
  close(oldest);
  return true;
}

void RootServer::pauseAccepting(uint64_t untilNs) {
  acceptPausedUntilNs_ = untilNs;
  epoll_event event{};
  event.data.u64 = kListenerId;
  if (options_.listener) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, options_.listener.get(), &event);
  }
}

void RootServer::resumeAccepting() {
  acceptPausedUntilNs_ = 0;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListenerId;
  if (options_.listener) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, options_.listener.get(), &event);
  }
}

void RootServer::stopListening() {
  const std::lock_guard lock(descriptorsMutex_);
  descriptors_.erase(options_.listener.get());
  options_.listener.reset();
}

void RootServer::dropOverdue() {
  const uint64_t now = monotonicNs();
  for (auto it = pending_.begin(); it != pending_.end();) {
    const Id id = *it++;
    const RootConnection& connection = *connections_.at(id);
    const uint64_t limit = connection.isMember() ? kJoinTimeoutNs : kProofTimeoutNs;
    if (now >= connection.acceptedNs() + limit) close(id);
  }
}

void RootServer::close(Id id) {
  pending_.erase(id);
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  const std::lock_guard lock(descriptorsMutex_);
  descriptors_.erase(it->second->fd());
  connections_.erase(it);
}

void RootServer::watch(Id id) {
  RootConnection& connection = *connections_.at(id);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (connection.hasOutput() ? EPOLLOUT : 0u);
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event);
}

void RootServer::readFrom(Id id) {
  while (connections_.count(id) != 0) {
    RootConnection& connection = *connections_.at(id);
    switch (connection.read(options_.secret, options_.version)) {
      case RootConnection::Input::kNothing:
        if (connection.hasOutput()) flushTo(id);
        return;
      case RootConnection::Input::kProved:
        welcome(id);
        break;
      case RootConnection::Input::kFrame:
        takeFrame(id);
        break;
      case RootConnection::Input::kInvalid:
        if (rejected_++ < kMaxRejectionLines) {
          HCCL_WARNING(
              "[InitGroupStage][RanktableDetect] {} did not prove that it belongs to this "
              "communicator: connection closed",
              connection.peer().toString());
        }
        return onLost(id);
      case RootConnection::Input::kClosed:
        return onLost(id);
    }
  }
}

void RootServer::flushTo(Id id) {
  RootConnection& connection = *connections_.at(id);
  if (!connection.flush()) return onLost(id);
  if (connection.isAnswered && !connection.hasOutput() && !connection.isHalfClosed) {
    // The agent closes once it has read the verdict; closing first could cut it off.
    connection.isHalfClosed = true;
    ::shutdown(connection.fd(), SHUT_WR);
  }
  watch(id);
}

}  // namespace hccl::bootstrap
