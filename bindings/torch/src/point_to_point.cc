#include "point_to_point.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hccl_torch {
namespace {

constexpr uint64_t kMagic = 0x6863636c746f7263;

}  // namespace

struct PointToPoint::Envelope {
  static constexpr size_t kInline = 4096 - 24;

  uint64_t magic;
  int64_t tag;
  uint64_t bytes;
  char content[kInline];
};

// A message that nobody had asked for when it came.
struct PointToPoint::Message {
  int64_t tag;
  std::vector<char> content;
};

struct PointToPoint::Peer {
  PointToPoint* owner;
  int rank;
  aclrtStream stream = nullptr;
  bool listening = false;
  Envelope envelope;
  Receive claimed;   // the receive whose content is coming
  Message arriving;  // or the message that nobody has asked for
  std::deque<Message> waiting;
};

ReceiveWork::ReceiveWork(const Facts& facts, at::Tensor buffer, int source, int64_t tag)
    : HcclWork(facts),
      buffer_(std::move(buffer)),
      source_(source),
      tag_(tag),
      actualSource_(source) {}

bool ReceiveWork::settle(const Deadline& deadline) {
  useDevice();
  while (!isDone() && progress_ != nullptr && !deadline.expired()) {
    // The result is no concern of this thread: the stream's callbacks see errors, too.
    if (aclrtSynchronizeStreamWithTimeout(progress_, deadline.milliseconds()) != ACL_SUCCESS) {
      (void)recentMessage();
    }
  }
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ended = [this] { return isDone(); };
  if (deadline.isNever()) {
    cv_.wait(lock, [this] { return completed_; });
  } else if (!cv_.wait_until(lock, deadline.at(), [this] { return completed_; })) {
    return false;
  }
  lock.unlock();
  while (!ended()) std::this_thread::yield();  // complete() is between its last two lines
  return true;
}

PointToPoint::PointToPoint(std::shared_ptr<Communicator> communicator, int rank)
    : communicator_(std::move(communicator)), rank_(rank) {
  for (uint32_t r = 0; r < communicator_->size(); ++r) {
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->owner = this;
    peers_.back()->rank = static_cast<int>(r);
  }
}

PointToPoint::~PointToPoint() = default;

bool PointToPoint::close() {
  std::shared_ptr<Communicator> communicator;  // from now on callbacks find none and do nothing
  std::vector<aclrtStream> streams;
  bool idle = true;
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    communicator = std::exchange(communicator_, nullptr);
    for (const auto& peer : peers_) {
      idle = idle && !peer->listening;
      if (peer->stream != nullptr) streams.push_back(std::exchange(peer->stream, nullptr));
    }
    endAll(std::make_exception_ptr(
        HcclError("the process group was destroyed before the message came", HCCL_E_UNAVAIL, -1)));
  }
  // A callback that runs is waited for here, and it may wait for mutex_.
  for (aclrtStream stream : streams) (void)aclrtDestroyStreamForce(stream);
  return idle;
}

int64_t PointToPoint::checkedPeer(int peer) const {
  TORCH_CHECK(peer >= 0 && peer < static_cast<int>(peers_.size()), "hccl: rank ", peer,
              " is not one of the ", peers_.size(), " ranks of the group");
  TORCH_CHECK(peer != rank_, "hccl: a rank cannot exchange messages with itself");
  return peer;
}

c10::intrusive_ptr<HcclWork> PointToPoint::send(const HcclWork::Facts& facts,
                                                const at::Tensor& tensor, int destination,
                                                int64_t tag,
                                                const std::shared_ptr<Completer>& completer) {
  const auto to = static_cast<uint32_t>(checkedPeer(destination));
  const at::Tensor content = tensor.contiguous();
  const uint64_t bytes = content.nbytes();
  auto envelope = std::make_shared<Envelope>();
  envelope->magic = kMagic;
  envelope->tag = tag;
  envelope->bytes = bytes;
  const bool isShort = bytes <= Envelope::kInline;
  if (isShort && bytes > 0) std::memcpy(envelope->content, content.data_ptr(), bytes);
  auto work = c10::make_intrusive<StreamWork>(facts, communicator_,
                                              StreamWork::CompletedBy{completer, false});
  work->keep(envelope);
  work->keep(Tensors{content});
  work->start([&](HcclComm comm, aclrtStream stream) {
    check(HcclSend(envelope.get(), sizeof(Envelope), HCCL_DATA_TYPE_UINT8, to, comm, stream),
          "HcclSend");
    if (isShort) return;
    check(HcclSend(content.data_ptr(), bytes, HCCL_DATA_TYPE_UINT8, to, comm, stream), "HcclSend");
  });
  return work;
}

c10::intrusive_ptr<HcclWork> PointToPoint::receive(const HcclWork::Facts& facts,
                                                   const at::Tensor& tensor, int source,
                                                   int64_t tag) {
  const bool any = source == ReceiveWork::kAnySource;
  if (!any) checkedPeer(source);
  const bool direct = tensor.is_contiguous();
  const at::Tensor buffer = direct ? tensor : at::empty_like(tensor, at::MemoryFormat::Contiguous);
  auto work = c10::make_intrusive<ReceiveWork>(facts, buffer, source, tag);
  if (!direct) {
    work->setLastStep([tensor, buffer] {
      at::Tensor target = tensor;
      target.copy_(buffer);
    });
  }
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (takeWaiting(work)) return work;
  receives_.push_back(work);
  for (const auto& peer : peers_) {
    if (peer->rank == rank_ || (!any && peer->rank != source)) continue;
    if (!peer->listening) listen(*peer);
    if (!any) work->progress_ = peer->stream;
  }
  return work;
}

// Gives the work a message that is already here.
bool PointToPoint::takeWaiting(const Receive& work) {
  for (const auto& peer : peers_) {
    auto& waiting = peer->waiting;
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const Message& message) {
      return work->fits(peer->rank, message.tag);
    });
    if (found == waiting.end()) continue;
    const Message message = std::move(*found);
    waiting.erase(found);
    deliver(work, peer->rank, message.content.data(), message.content.size());
    return true;
  }
  return false;
}

void PointToPoint::call(aclrtStream stream, void (*function)(void*), Peer& peer) {
  check(aclrtLaunchHostFunc(stream, function, &peer), "aclrtLaunchHostFunc");
}

void PointToPoint::listen(Peer& peer) {
  if (peer.stream == nullptr) peer.stream = StreamPool::instance().acquire();
  peer.envelope.magic = 0;
  communicator_->use([&](HcclComm comm) {
    check(HcclRecv(&peer.envelope, sizeof(Envelope), HCCL_DATA_TYPE_UINT8,
                   static_cast<uint32_t>(peer.rank), comm, peer.stream),
          "HcclRecv");
  });
  peer.listening = true;
  call(
      peer.stream,
      [](void* p) {
        auto& arrived = *static_cast<Peer*>(p);
        arrived.owner->onEnvelope(arrived);
      },
      peer);
}

void PointToPoint::onEnvelope(Peer& peer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (communicator_ == nullptr) return;
  const Envelope& envelope = peer.envelope;
  if (envelope.magic != kMagic) return failAll(peer);
  peer.claimed = claim(peer.rank, envelope.tag);
  if (envelope.bytes <= Envelope::kInline) {
    if (peer.claimed) {
      deliver(std::move(peer.claimed), peer.rank, envelope.content, envelope.bytes);
      peer.claimed.reset();
    } else {
      peer.waiting.push_back(
          {envelope.tag, std::vector<char>(envelope.content, envelope.content + envelope.bytes)});
    }
    return goOn(peer);
  }
  void* target = nullptr;
  if (peer.claimed && peer.claimed->buffer_.nbytes() == envelope.bytes) {
    target = peer.claimed->buffer_.data_ptr();
  } else {
    peer.arriving.tag = envelope.tag;
    peer.arriving.content.resize(envelope.bytes);
    target = peer.arriving.content.data();
  }
  try {
    communicator_->use([&](HcclComm comm) {
      check(HcclRecv(target, envelope.bytes, HCCL_DATA_TYPE_UINT8, static_cast<uint32_t>(peer.rank),
                     comm, peer.stream),
            "HcclRecv");
    });
    call(
        peer.stream,
        [](void* p) {
          auto& arrived = *static_cast<Peer*>(p);
          arrived.owner->onContent(arrived);
        },
        peer);
  } catch (...) {
    failAll(peer);
  }
}

void PointToPoint::onContent(Peer& peer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (communicator_ == nullptr) return;
  if (communicator_->asyncError() != 0) return failAll(peer);
  Receive receive = std::exchange(peer.claimed, {});
  Message message = std::exchange(peer.arriving, {});
  const bool inPlace = message.content.empty();
  // Somebody may have asked for the message while it was coming.
  if (!receive) receive = claim(peer.rank, message.tag);
  if (receive) {
    deliver(std::move(receive), peer.rank, inPlace ? nullptr : message.content.data(),
            peer.envelope.bytes);
  } else {
    peer.waiting.push_back(std::move(message));
  }
  goOn(peer);
}

// The oldest receive that the message is for.
PointToPoint::Receive PointToPoint::claim(int source, int64_t tag) {
  const auto found = std::find_if(receives_.begin(), receives_.end(),
                                  [&](const Receive& work) { return work->fits(source, tag); });
  if (found == receives_.end()) return {};
  Receive work = std::move(*found);
  receives_.erase(found);
  return work;
}

// `content` nullptr: it lies in the buffer already.
void PointToPoint::deliver(Receive work, int source, const void* content, uint64_t bytes) {
  work->actualSource_ = source;
  const uint64_t room = work->buffer_.nbytes();
  if (room != bytes) {
    const std::string text = "a message of " + std::to_string(bytes) + " bytes from rank " +
                             std::to_string(source) + ", tag " + std::to_string(work->tag_) +
                             ", met a receive of " + std::to_string(room) + " bytes";
    work->complete(std::make_exception_ptr(HcclError(text, HCCL_E_PARA, source)));
    return;
  }
  if (content != nullptr && bytes > 0) std::memcpy(work->buffer_.data_ptr(), content, bytes);
  work->complete(nullptr);
}

void PointToPoint::goOn(Peer& peer) {
  peer.listening = false;
  const bool wanted = std::any_of(receives_.begin(), receives_.end(), [&](const Receive& work) {
    return work->source_ == peer.rank || work->source_ == ReceiveWork::kAnySource;
  });
  if (!wanted) return;
  try {
    listen(peer);
  } catch (...) {
    failAll(peer);
  }
}

// The communicator is broken: nothing will come any more.
void PointToPoint::failAll(Peer& peer) {
  peer.listening = false;
  const int code = communicator_->asyncError();
  const auto error = std::make_exception_ptr(
      communicator_->failure("HcclRecv", code == 0 ? static_cast<int>(HCCL_E_REMOTE) : code));
  endAll(error);
}

void PointToPoint::endAll(const std::exception_ptr& error) {
  std::list<Receive> ended = std::exchange(receives_, {});
  for (const auto& peer : peers_) {
    if (peer->claimed) ended.push_back(std::exchange(peer->claimed, {}));
  }
  for (const Receive& work : ended) work->complete(error);
}

}  // namespace hccl_torch
