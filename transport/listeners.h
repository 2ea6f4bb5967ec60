// Listeners: the process' sockets for incoming connections, and the strangers that have not yet
// said or proven who they are. Their number and their time are bounded, so a flood of them delays
// nobody for long and leaks nothing.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "src/base/socket.h"
#include "transport/card.h"
#include "transport/connection.h"
#include "transport/control_thread.h"

namespace hccl::transport {

inline constexpr size_t kMaxStrangers = 512;   // connections that have said nothing yet
inline constexpr size_t kMaxParked = 4096;     // that wait for a communicator to be registered
inline constexpr double kHelloSeconds = 5;     // to say hello
inline constexpr double kProofSeconds = 20;    // to prove membership afterwards
inline constexpr double kParkedSeconds = 600;  // to find the communicator

class Listeners {
 public:
  static Listeners& instance();

  // localEndpoint() of transport.h. Any thread.
  Result<std::string> endpoint(int32_t device, const std::string& hostAddress, uint16_t port);

  // A Links object exists from registration to its end; an endpoint is in use from its making until
  // a Links took its lease over. When nothing is left the TCP listeners close. Any thread.
  // An endpoint whose listener was closed meanwhile gets it back, or EI0020 when its port is taken.
  Status linksMade(const Card& mine);
  void linksGone();

  // Control thread: connections waiting for this communicator's rank go on.
  void unpark(const Digest& communicator, uint32_t rank);

  // For tests: connections that are not (yet) members.
  size_t strangerCount();

 private:
  struct Listener {
    SocketAddress address;
    GuardedFd fd;
    uint64_t watch = 0;
  };
  struct Stranger {
    std::shared_ptr<Connection> connection;
    uint64_t timer = 0;
    bool parked = false;
    HelloBody hello;
  };
  using Strangers = std::list<Stranger>;

  Status startUnix(ControlThread* thread);
  Result<SocketAddress> listenOn(ControlThread* thread, const IpAddress& ip, uint16_t port);
  Result<SocketAddress> listenAt(ControlThread* thread, const IpAddress& ip, uint16_t port);
  Result<SocketAddress> listenInRange(ControlThread* thread, const IpAddress& ip);
  void adopt(ControlThread* thread, Listener* listener, bool isUnix);
  void acceptSome(Listener* listener, bool isUnix);
  void add(const std::shared_ptr<Connection>& connection);
  void arm(Strangers::iterator it, double seconds);
  void onMessage(Strangers::iterator it, const Message& message);
  void route(Strangers::iterator it);
  // Takes the connection out; it has no callbacks any more.
  std::shared_ptr<Connection> take(Strangers::iterator it);
  void dropOldest(bool parked);
  void setLimits();
  void outOfDescriptors(Listener* listener);

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Listener>> listeners_;  // "ip:port"; guarded
  std::unique_ptr<Listener> unix_;                              // guarded
  std::string unixName_;                                        // guarded
  std::set<std::string> leases_;                                // guarded
  size_t links_ = 0;                                            // guarded
  // Control thread only.
  ControlThread* thread_ = nullptr;
  Strangers strangers_;
  size_t parked_ = 0;
  size_t maxStrangers_ = kMaxStrangers;
  size_t maxParked_ = kMaxParked;
};

}  // namespace hccl::transport
