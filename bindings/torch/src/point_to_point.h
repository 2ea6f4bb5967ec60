// Messages with tags. HCCL knows no tags and pairs sends and receives in the order of the calls, so
// each message begins with an envelope that names the tag and holds the content if it is short.
// While somebody waits for a message of a rank, an envelope of that rank is being received; the
// content goes into the buffer of the first receive whose tag fits, or, if there is none, into
// memory of its own, where a later receive finds it. So no order of tags can stop a pair.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator.h"
#include "completer.h"
#include "work.h"

namespace hccl_torch {

class PointToPoint;

// A receive: ended by the arrival of its message.
class ReceiveWork : public HcclWork {
 public:
  static constexpr int kAnySource = -1;

  ReceiveWork(const Facts& facts, at::Tensor buffer, int source, int64_t tag);

  bool settle(const Deadline& deadline) override;
  int sourceRank() const override { return actualSource_; }

 private:
  friend class PointToPoint;

  bool fits(int source, int64_t tag) const {
    return tag == tag_ && (source_ == kAnySource || source_ == source);
  }

  const at::Tensor buffer_;  // contiguous
  const int source_;
  const int64_t tag_;
  int actualSource_;
  aclrtStream progress_ = nullptr;  // what a waiting thread helps along; nullptr for any source
};

class PointToPoint {
 public:
  PointToPoint(std::shared_ptr<Communicator> communicator, int rank);
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;
  ~PointToPoint();

  // Ends what is still awaited. Returns false when the object must live on, because the library may
  // still write into its envelopes.
  bool close();

  c10::intrusive_ptr<HcclWork> send(const HcclWork::Facts& facts, const at::Tensor& tensor,
                                    int destination, int64_t tag,
                                    const std::shared_ptr<Completer>& completer);
  c10::intrusive_ptr<HcclWork> receive(const HcclWork::Facts& facts, const at::Tensor& tensor,
                                       int source, int64_t tag);

 private:
  using Receive = c10::intrusive_ptr<ReceiveWork>;
  struct Envelope;
  struct Message;
  struct Peer;

  int64_t checkedPeer(int peer) const;
  bool takeWaiting(const Receive& work);
  void listen(Peer& peer);
  void onEnvelope(Peer& peer);
  void onContent(Peer& peer);
  Receive claim(int source, int64_t tag);
  void deliver(Receive work, int source, const void* content, uint64_t bytes);
  void goOn(Peer& peer);
  void failAll(Peer& peer);
  void endAll(const std::exception_ptr& error);
  static void call(aclrtStream stream, void (*function)(void*), Peer& peer);

  std::shared_ptr<Communicator> communicator_;  // none when closed
  const int rank_;
  std::recursive_mutex mutex_;
  std::list<Receive> receives_;  // posted and not yet matched, oldest first
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace hccl_torch
