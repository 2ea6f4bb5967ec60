#include "transport/listeners.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/base/env.h"
#include "src/base/env_parser.h"
#include "src/base/log.h"
#include "src/runtime/waiting.h"
#include "transport/links_core.h"
#include "transport/setup.h"

namespace hccl::transport {
namespace {

constexpr int kAcceptsPerEvent = 64;
constexpr double kPauseSeconds = 0.1;  // of accepting when descriptors ran out

Status listenError(const std::string& reason) {
  return Status(
      HCCL_E_UNAVAIL,
      fmt::format("Failed to enable listening for the NPU network adapter socket. Reason: {}",
                  reason),
      20);
}

std::string boundText(const IpAddress& ip, const std::string& ports) {
  return fmt::format("The IP address {} and port {} have already been bound.", ip.toString(),
                     ports);
}

}  // namespace

Listeners& Listeners::instance() {
  static auto* listeners = new Listeners;
  return *listeners;
}

// ---- listening (any thread, mutex_ held) ----

Status Listeners::startUnix(ControlThread* thread) {
  if (unix_) return Status();
  auto listener = std::make_unique<Listener>();
  const std::string name = "hccl-" + processIdentity().process;
  HCCL_ASSIGN_OR_RETURN(UniqueFd fd, listenUnix(name));
  listener->fd = GuardedFd(std::move(fd));
  unixName_ = name;
  unix_ = std::move(listener);
  adopt(thread, unix_.get(), true);
  return Status();
}

Result<SocketAddress> Listeners::listenOn(ControlThread* thread, const IpAddress& ip,
                                          uint16_t port) {
  auto fd = listenTcp(ip, port);
  if (!fd.isOk()) return fd.status();
  HCCL_ASSIGN_OR_RETURN(SocketAddress address, localAddress(fd->get()));
  address.ip.setIfname(ip.ifname());
  auto listener = std::make_unique<Listener>();
  listener->address = address;
  listener->fd = GuardedFd(std::move(*fd));
  adopt(thread, listener.get(), false);
  listeners_[address.toString()] = std::move(listener);
  return address;
}

Result<SocketAddress> Listeners::listenAt(ControlThread* thread, const IpAddress& ip,
                                          uint16_t port) {
  const SocketAddress address{ip, port};
  if (const auto known = listeners_.find(address.toString()); known != listeners_.end()) {
    return known->second->address;
  }
  auto made = listenOn(thread, ip, port);
  if (made.isOk()) return made;
  const Status& why = made.status();
  if (why.eiCode() != 0) return why;  // descriptors ran out: the port is not to blame
  return listenError(why.code() == HCCL_E_UNAVAIL
                         ? fmt::format("{} ({})", boundText(ip, std::to_string(port)), why.text())
                         : why.text());
}

Result<SocketAddress> Listeners::listenInRange(ControlThread* thread, const IpAddress& ip) {
  for (const auto& [name, listener] : listeners_) {
    if (listener->address.ip == ip) return listener->address;
  }
  HCCL_ASSIGN_OR_RETURN(const Environment* env, environment());
  if (!env->npuPortRange || env->npuPortRange->automatic) {
    auto address = listenOn(thread, ip, 0);
    return address.isOk() || address.status().eiCode() != 0
               ? address
               : Result<SocketAddress>(listenError(address.status().text()));
  }
  std::string tried;
  for (const PortRange& range : env->npuPortRange->ranges) {
    tried += fmt::format("{}{}-{}", tried.empty() ? "" : ",", range.first, range.last);
    for (uint32_t port = range.first; port <= range.last; ++port) {
      auto address = listenOn(thread, ip, static_cast<uint16_t>(port));
      if (address.isOk()) return address;
      if (address.status().eiCode() != 0) return address;
      if (address.status().code() != HCCL_E_UNAVAIL) return listenError(address.status().text());
    }
  }
  return listenError(boundText(ip, fmt::format("[{}]", tried)));
}

void Listeners::adopt(ControlThread* thread, Listener* listener, bool isUnix) {
  thread->run([&] {
    thread_ = thread;
    setLimits();
    listener->watch =
        thread->watch(listener->fd.get(), EPOLLIN,
                      [this, listener, isUnix](uint32_t) { acceptSome(listener, isUnix); });
  });
}

Result<std::string> Listeners::endpoint(int32_t device, const std::string& hostAddress,
                                        uint16_t port) {
  HCCL_ASSIGN_OR_RETURN(ControlThread * thread, ControlThread::instance());
  IpAddress ip;
  std::vector<IpAddress> more;
  if (hostAddress.empty()) {
    HCCL_ASSIGN_OR_RETURN(const Environment* env, environment());
    HCCL_ASSIGN_OR_RETURN(const HostNic nic, hostNic(*env));
    ip = nic.ip;
  } else {
    for (const std::string_view text : splitText(hostAddress, ',')) {
      const auto parsed = IpAddress::parse(std::string(text));
      if (!parsed) return Status(HCCL_E_PARA, fmt::format("\"{}\" is no IP address", text));
      more.push_back(*parsed);
    }
    ip = more.front();
    more.erase(more.begin());
  }
  std::lock_guard lock(mutex_);
  HCCL_RETURN_IF_ERROR(startUnix(thread));
  HCCL_ASSIGN_OR_RETURN(const SocketAddress address,
                        port == 0 ? listenInRange(thread, ip) : listenAt(thread, ip, port));
  Card card;
  const ProcessIdentity& identity = processIdentity();
  card.wire = kWireVersion;
  card.process = identity.process;
  card.boot = identity.boot;
  card.network = identity.network;
  card.lease = randomHex(8);
  card.unixName = unixName_;
  card.device = device;
  card.tcp = address;
  card.more = std::move(more);
  HCCL_ASSIGN_OR_RETURN(card.usable, usableTransports());
  card.processors = runtime::cpuBudget().cpus;
  leases_.insert(card.lease);
  return card.toText();
}

Status Listeners::linksMade(const Card& mine) {
  HCCL_ASSIGN_OR_RETURN(ControlThread * thread, ControlThread::instance());
  std::lock_guard lock(mutex_);
  HCCL_ASSIGN_OR_RETURN([[maybe_unused]] const SocketAddress address,
                        listenAt(thread, mine.tcp.ip, mine.tcp.port));
  leases_.erase(mine.lease);
  ++links_;
  return Status();
}

void Listeners::linksGone() {
  auto thread = ControlThread::instance();
  std::lock_guard lock(mutex_);
  if (--links_ != 0 || !leases_.empty() || !thread.isOk()) return;
  // Strangers have nobody to wait for, either.
  (*thread)->run([&] {
    for (auto& [name, listener] : listeners_) (*thread)->unwatch(listener->watch);
    while (!strangers_.empty()) take(strangers_.begin())->close();
  });
  listeners_.clear();
}

size_t Listeners::strangerCount() {
  size_t count = 0;
  if (auto thread = ControlThread::instance(); thread.isOk()) {
    (*thread)->run([&] { count = strangers_.size(); });
  }
  return count;
}

// ---- strangers (control thread) ----

void Listeners::setLimits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  constexpr rlim_t kFewest = 16;
  maxStrangers_ = std::clamp<rlim_t>(files.rlim_cur / 8, kFewest, kMaxStrangers);
  maxParked_ = std::clamp<rlim_t>(files.rlim_cur / 4, kFewest, kMaxParked);
}

void Listeners::acceptSome(Listener* listener, bool isUnix) {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    UniqueFd fd(::accept4(listener->fd.get(), isUnix ? nullptr : address,
                          isUnix ? nullptr : &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        outOfDescriptors(listener);
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (isUnix) {
      const auto uid = peerUid(fd.get());
      const bool welcome = uid.isOk() && (*uid == ::geteuid() || *uid == 0);
      auto connection = Connection::open(thread_, std::move(fd), true, "a process of this host");
      if (welcome) {
        add(connection);
        continue;
      }
      RejectBody reject;
      reject.reason = RejectReason::kUser;
      connection->send(MessageType::kReject, bytesOf(reject));
      connection->closeAfterFlush();
      continue;
    }
    const auto peer = SocketAddress::fromSockaddr(address);
    add(Connection::open(thread_, std::move(fd), false, peer ? peer->toString() : "?"));
  }
}

// The oldest strangers make room; when there are none, accepting pauses.
void Listeners::outOfDescriptors(Listener* listener) {
  if (!strangers_.empty()) return dropOldest(strangers_.size() == parked_);
  const uint64_t watch = listener->watch;
  thread_->rearm(watch, 0);
  thread_->at(Deadline::after(kPauseSeconds),
              [thread = thread_, watch] { thread->rearm(watch, EPOLLIN); });
}

void Listeners::add(const std::shared_ptr<Connection>& connection) {
  if (strangers_.size() - parked_ >= maxStrangers_) dropOldest(false);
  const auto it = strangers_.emplace(strangers_.end());
  it->connection = connection;
  connection->onMessage = [this, it](const Message& message) { onMessage(it, message); };
  connection->onClosed = [this, it](const Status&) { take(it); };
  arm(it, kHelloSeconds);
  // Who speaks at once is heard before later callers can push it out.
  connection->drain();
}

void Listeners::arm(Strangers::iterator it, double seconds) {
  if (it->timer != 0) thread_->cancel(it->timer);
  it->timer = thread_->at(Deadline::after(seconds), [this, it] {
    it->timer = 0;
    take(it)->close();
  });
}

std::shared_ptr<Connection> Listeners::take(Strangers::iterator it) {
  if (it->timer != 0) thread_->cancel(it->timer);
  if (it->parked) --parked_;
  auto connection = std::move(it->connection);
  strangers_.erase(it);
  connection->onMessage = nullptr;
  connection->onClosed = nullptr;
  return connection;
}

void Listeners::dropOldest(bool parked) {
  for (auto it = strangers_.begin(); it != strangers_.end(); ++it) {
    if (it->parked == parked) return take(it)->close();
  }
}

void Listeners::onMessage(Strangers::iterator it, const Message& message) {
  if (message.type == MessageType::kReject) {
    // The connection has already told the caller our version.
    HCCL_WARNING("{} speaks another version of the wire protocol than this library's {}",
                 it->connection->peer(), kWireVersion);
    return take(it)->closeAfterFlush();
  }
  if (message.type == MessageType::kHello && !it->parked && readBody(message.body, &it->hello)) {
    return route(it);
  }
  JoinBody join;
  if (message.type == MessageType::kJoin && !it->parked && readBody(message.body, &join)) {
    const auto connection = take(it);
    const auto core = Registry::instance().find(join.communicator, join.destination);
    Pair* pair = core ? core->pair(join.source) : nullptr;
    return pair != nullptr ? pair->onJoin(join, connection->detach()) : connection->close();
  }
  take(it)->close();
}

void Listeners::route(Strangers::iterator it) {
  const auto core = Registry::instance().find(it->hello.communicator, it->hello.destination);
  if (!core) {
    if (it->parked) return;
    if (parked_ >= maxParked_) dropOldest(true);
    it->parked = true;
    ++parked_;
    return arm(it, kParkedSeconds);
  }
  const HelloBody hello = it->hello;
  const auto connection = take(it);
  Pair* pair = core->pair(hello.source);
  return pair != nullptr ? pair->onHello(connection, hello) : connection->close();
}

void Listeners::unpark(const Digest& communicator, uint32_t rank) {
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    const auto next = std::next(it);
    if (it->parked && it->hello.destination == rank && it->hello.communicator == communicator) {
      route(it);
    }
    it = next;
  }
}

}  // namespace hccl::transport
