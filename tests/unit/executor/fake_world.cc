#include "tests/unit/executor/fake_world.h"

#include <cstring>

namespace hccl::test {
namespace {

using transport::FrameHeader;
using transport::Io;

class FakeDirect final : public transport::DirectLink {
 public:
  std::byte* resolve(uint64_t ref, size_t bytes) noexcept override {
    if (sameProcess) return reinterpret_cast<std::byte*>(ref & ~transport::BufferRef::kAddressBit);
    runtime::Arena* arena = *runtime::Arena::ofDevice(0);
    return ref + bytes <= arena->size() ? arena->base() + ref : nullptr;
  }
  void ring() noexcept override {}
};

struct Pipe {
  std::deque<std::byte> bytes;
};

class FakeMessage final : public transport::MessageLink {
 public:
  FakeMessage(Pipe& out, Pipe& in, std::mt19937& random) : out_(out), in_(in), random_(random) {}

  Io send(transport::SendState& s) noexcept override {
    const size_t total = sizeof(FrameHeader) + s.header.bytes;
    size_t room = std::min<size_t>(total - s.sent, 1 + random_() % 4096);
    if (out_.bytes.size() > 16384) return Io::kIdle;  // a full socket
    while (room-- > 0) {
      const auto* header = reinterpret_cast<const std::byte*>(&s.header);
      out_.bytes.push_back(s.sent < sizeof(FrameHeader) ? header[s.sent]
                                                        : s.data[s.sent - sizeof(FrameHeader)]);
      ++s.sent;
    }
    return s.sent == total ? Io::kDone : Io::kProgress;
  }

  Io receive(transport::ReceiveState& s) noexcept override {
    if (in_.bytes.empty()) {
      return s.received == sizeof(FrameHeader) && s.expected.bytes == 0 ? Io::kDone : Io::kIdle;
    }
    size_t room = 1 + random_() % 4096;
    while (room-- > 0 && !in_.bytes.empty()) {
      if (s.received >= sizeof(FrameHeader) + s.expected.bytes) break;
      const std::byte b = in_.bytes.front();
      in_.bytes.pop_front();
      if (s.received < sizeof(FrameHeader)) {
        reinterpret_cast<std::byte*>(&s.got)[s.received++] = b;
        if (s.received == sizeof(FrameHeader) &&
            (s.got.sequence != s.expected.sequence || s.got.signature != s.expected.signature ||
             s.got.step != s.expected.step || s.got.bytes != s.expected.bytes ||
             s.got.count != s.expected.count)) {
          return Io::kMismatch;
        }
      } else {
        s.data[s.received - sizeof(FrameHeader)] = b;
        ++s.received;
      }
    }
    return s.received == sizeof(FrameHeader) + s.expected.bytes ? Io::kDone : Io::kProgress;
  }

  Status failure() const override { return Status(HCCL_E_INTERNAL, "fake link failed"); }
  uint64_t bytesSent() const override { return 0; }
  uint64_t bytesReceived() const override { return 0; }

 private:
  Pipe& out_;
  Pipe& in_;
  std::mt19937& random_;
};

}  // namespace

struct FakeWorld::Rank {
  explicit Rank(uint32_t self, uint32_t ranks)
      : boards(ranks),
        pipes(ranks),
        links(ranks),
        context("fake", self, ranks, 0, nullptr),
        execution(context) {}
  std::vector<transport::PairBoard> boards;  // what this rank tells each other one
  std::vector<Pipe> pipes;                   // what it sends
  std::vector<transport::Link> links;
  executor::Context context;
  executor::Execution execution;
  executor::Launch launch;
};

FakeWorld::FakeWorld(uint32_t ranks, std::function<Wire(uint32_t, uint32_t)> wire,
                     uint64_t bufferBytes, uint32_t seed)
    : ranks_(ranks), wire_(std::move(wire)), bufferBytes_(bufferBytes), random_(seed) {
  for (uint32_t r = 0; r < ranks; ++r) state_.push_back(std::make_unique<Rank>(r, ranks));
  for (uint32_t a = 0; a < ranks; ++a) {
    for (uint32_t b = 0; b < ranks; ++b) {
      if (a == b) continue;
      transport::Link& link = state_[a]->links[b];
      executor::Peer& peer = state_[a]->context.peer(b);
      const Wire kind = wire_(a, b);
      link.peer = b;
      if (kind == Wire::kMessage) {
        link.linkClass = transport::LinkClass::kMessage;
        link.message =
            std::make_unique<FakeMessage>(state_[a]->pipes[b], state_[b]->pipes[a], random_);
      } else {
        link.linkClass = transport::LinkClass::kDirect;
        link.direct = std::make_unique<FakeDirect>();
        link.direct->mine = &state_[a]->boards[b];
        link.direct->theirs = &state_[b]->boards[a];
        link.direct->sameProcess = kind == Wire::kDirect;
      }
      peer.link = &link;
      peer.direct = link.direct.get();
      peer.message = link.message.get();
    }
  }
}

FakeWorld::~FakeWorld() = default;

Status FakeWorld::prepare(uint32_t rank, const CollectiveCall& call, const plan::Topology& topology,
                          const plan::Choice& choice, uint64_t sequence, executor::Launch& launch) {
  plan::OpDesc op;
  op.type = call.type;
  op.dataType = call.dataType;
  op.reduceOp = call.reduceOp;
  op.root = call.root;
  op.count = agreedCount(call, ranks_);
  const plan::Schedule schedule = plan::compose(op, topology, choice);
  launch = executor::Launch();
  launch.plan = std::make_shared<plan::Plan>(plan::lower(op, schedule, rank, [&](uint32_t peer) {
    return wire_(rank, peer) == Wire::kMessage ? plan::PeerLink::kMessage : plan::PeerLink::kDirect;
  }));
  launch.op = op;
  launch.sequence = sequence;
  return fillLaunch(call, rank, ranks_, bufferBytes_, usualChunkBytes(true), launch);
}

std::string FakeWorld::run(const std::vector<CollectiveCall>& calls, const plan::Topology& topology,
                           const plan::Choice& choice) {
  return runAll({{calls, choice}}, topology);
}

std::string FakeWorld::runAll(const std::vector<Operation>& operations,
                              const plan::Topology& topology) {
  std::vector<size_t> next(ranks_, 0);  // operation that the rank runs
  std::vector<bool> begun(ranks_, false);
  uint64_t idle = 0;
  uint32_t finished = 0;
  while (finished < ranks_) {
    const uint32_t r = random_() % ranks_;
    if (next[r] == operations.size()) continue;
    Rank& rank = *state_[r];
    if (!begun[r]) {
      const Operation& operation = operations[next[r]];
      const Status s =
          prepare(r, operation.calls[r], topology, operation.choice, next[r], rank.launch);
      if (!s.isOk()) return "launch of rank " + std::to_string(r) + ": " + s.text();
      rank.execution.begin(rank.launch);
      begun[r] = true;
    }
    const runtime::Poll poll = rank.execution.advance();
    idle = poll == runtime::Poll::kIdle ? idle + 1 : 0;
    if (poll == runtime::Poll::kDone) {
      if (!rank.execution.status().isOk()) {
        return "rank " + std::to_string(r) + ": " + rank.execution.status().text();
      }
      begun[r] = false;
      if (++next[r] == operations.size()) ++finished;
    }
    if (idle > 2000ULL * ranks_) return "deadlock: nobody can go on";
  }
  for (uint32_t a = 0; a < ranks_; ++a) {
    for (uint32_t b = 0; b < ranks_; ++b) {
      if (!state_[a]->pipes[b].bytes.empty()) {
        return "rank " + std::to_string(a) + " sent bytes to rank " + std::to_string(b) +
               " that nobody took";
      }
    }
  }
  return {};
}

}  // namespace hccl::test
