#include "transport/shm/shm_transport.h"

#include <fmt/core.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/runtime/arena.h"
#include "src/runtime/engine.h"
#include "transport/shm/boards.h"
#include "transport/shm/foreign_memory.h"
#include "transport/shm/peer_memory.h"

namespace hccl::transport {
namespace {

// What a pair of ranks holds together, whatever the kind of link.
struct RemotePair {
  std::shared_ptr<Board> board;
  std::shared_ptr<PeerMemory> memory;
  std::shared_ptr<PeerDoorbell> doorbell;
  ForeignMemory plain;  // of the peer's process
};

class RemoteLink final : public DirectLink {
 public:
  RemoteLink(std::shared_ptr<RemotePair> pair, uint64_t theirOffset) : pair_(std::move(pair)) {
    mine = pair_->board->get();
    theirs =
        reinterpret_cast<const PairBoard*>(pair_->memory->resolve(theirOffset, sizeof(PairBoard)));
    leastPlainBytes = ForeignMemory::leastBytes();
  }
  std::byte* resolve(uint64_t ref, size_t bytes) noexcept override {
    return pair_->memory->resolve(ref, bytes);
  }
  int read(void* to, uint64_t address, size_t bytes) noexcept override {
    return pair_->plain.read(to, address, bytes);
  }
  void ring() noexcept override { pair_->doorbell->ring(); }

 private:
  std::shared_ptr<RemotePair> pair_;
};

struct LocalPair {
  std::shared_ptr<Board> boards[2];
};

class LocalLink final : public DirectLink {
 public:
  LocalLink(std::shared_ptr<LocalPair> pair, int end, runtime::Arena* peerArena)
      : pair_(std::move(pair)), arena_(peerArena) {
    mine = pair_->boards[end]->get();
    theirs = pair_->boards[1 - end]->get();
    sameProcess = true;
  }
  std::byte* resolve(uint64_t ref, size_t bytes) noexcept override {
    if ((ref & BufferRef::kAddressBit) != 0) {
      return reinterpret_cast<std::byte*>(ref & ~BufferRef::kAddressBit);
    }
    if (ref > arena_->size() || bytes > arena_->size() - ref) return nullptr;
    return arena_->base() + ref;
  }
  void ring() noexcept override { runtime::Engine::instance().wake(); }

 private:
  std::shared_ptr<LocalPair> pair_;
  runtime::Arena* arena_;
};

MadeLink makeLink(uint32_t peer, LinkKind kind, std::unique_ptr<DirectLink> direct,
                  std::string description, std::shared_ptr<void> keep) {
  MadeLink made;
  made.kind = kind;
  made.link = std::make_unique<Link>();
  made.link->peer = peer;
  made.link->linkClass = LinkClass::kDirect;
  made.link->direct = std::move(direct);
  made.link->description = std::move(description);
  made.keep = std::move(keep);
  return made;
}

// Both ends say the same thing: arena, doorbell, the place of the board and a number written into
// it, which the other end must find there through its own mapping.
class ShmSetup final : public LinkSetup {
 public:
  explicit ShmSetup(SetupHost* host) : host_(host) {}

  void begin() override { (void)offer(); }

  void onMessage(std::string text, std::vector<UniqueFd> fds) override {
    const bool answer = !host_->facts().initiator;
    if (answer && !offer()) return;
    const Status status = take(text, std::move(fds));
    if (!status.isOk()) return host_->fail(status.text());
    if (answer) host_->send(offerText_, offerFds_);
    std::vector<MadeLink> links;
    for (const LinkKind kind : {LinkKind::kCollective, LinkKind::kPointToPoint}) {
      links.push_back(makeLink(host_->facts().peer, kind,
                               std::make_unique<RemoteLink>(pair_, theirOffset_),
                               fmt::format("shm: direct, device {} of process {:.8}{}",
                                           theirDevice_, host_->facts().theirs.process,
                                           pair_->plain.isReadable() ? ", plain memory read" : ""),
                               pair_->board));
    }
    host_->finish(std::move(links));
  }

 private:
  // Prepares what this end offers; the higher rank sends it at once.
  bool offer() {
    const auto& facts = host_->facts();
    const Status status = prepare(facts);
    if (!status.isOk()) {
      host_->fail(status.text());
      return false;
    }
    if (facts.initiator) host_->send(offerText_, offerFds_);
    return true;
  }

  Status prepare(const PairFacts& facts) {
    HCCL_ASSIGN_OR_RETURN(runtime::Arena * arena, runtime::Arena::ofDevice(facts.device));
    HCCL_ASSIGN_OR_RETURN(const runtime::Doorbell bell, runtime::Engine::instance().doorbell());
    HCCL_ASSIGN_OR_RETURN(pair_->board, Board::allocate(facts.device));
    static std::atomic<uint64_t> counter{0};
    const uint64_t mark = (monotonicNs() << 8) ^ ++counter;
    pair_->board->get()->entry[0].slotBytes = mark;
    offerText_ = nlohmann::json{
        {"device", facts.device},
        {"size", arena->size()},
        {"board", pair_->board->offset()},
        {"address", reinterpret_cast<uint64_t>(&pair_->board->get()->entry[0].slotBytes)},
        {"mark",
         mark}}.dump();
    offerFds_ = {arena->fd(), bell.pageFd, bell.eventFd};
    return Status();
  }

  Status take(const std::string& text, std::vector<UniqueFd> fds) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || fds.size() != 3) {
      return Status(HCCL_E_NETWORK, "the peer's shared memory offer is broken");
    }
    const auto number = [&](const char* key) {
      const auto it = json.find(key);
      return it != json.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
    };
    theirDevice_ = static_cast<int32_t>(number("device"));
    theirOffset_ = number("board");
    const std::string& process = host_->facts().theirs.process;
    HCCL_ASSIGN_OR_RETURN(pair_->memory,
                          PeerMemory::of(process, theirDevice_, number("size"), std::move(fds[0])));
    HCCL_ASSIGN_OR_RETURN(pair_->doorbell,
                          PeerDoorbell::of(process, std::move(fds[1]), std::move(fds[2])));
    if (theirOffset_ % alignof(PairBoard) != 0) {
      return Status(HCCL_E_NETWORK, "the peer's board is not aligned");
    }
    const auto* board =
        reinterpret_cast<const PairBoard*>(pair_->memory->resolve(theirOffset_, sizeof(PairBoard)));
    if (board == nullptr || board->entry[0].slotBytes != number("mark")) {
      return Status(HCCL_E_MEMORY, "the peer's mark was not found in its shared memory");
    }
    pair_->plain = ForeignMemory::of(host_->facts().peerProcess, number("address"), number("mark"));
    pair_->board->get()->readsPlain.value.store(pair_->plain.isReadable() ? 1 : 0,
                                                std::memory_order_release);
    return Status();
  }

  SetupHost* host_;
  std::shared_ptr<RemotePair> pair_ = std::make_shared<RemotePair>();
  std::string offerText_;
  std::vector<int> offerFds_;
  int32_t theirDevice_ = 0;
  uint64_t theirOffset_ = 0;
};

class ShmTransport final : public TransportClass {
 public:
  std::string_view name() const override { return "shm"; }
  bool expectedInsideKernel() const override { return true; }
  std::string probe(const PairFacts& facts) const override {
    if (!facts.mine.sameKernel(facts.theirs)) return "different kernels (boot ids)";
    if (!facts.mine.sameNetwork(facts.theirs)) return "different network namespaces";
    if (!facts.unixChannel) {
      return facts.noUnixReason.empty() ? "no unix socket joins the processes" : facts.noUnixReason;
    }
    return "";
  }
  std::unique_ptr<LinkSetup> start(SetupHost* host) const override {
    return std::make_unique<ShmSetup>(host);
  }
};

}  // namespace

const TransportClass* shmTransport() {
  static const ShmTransport transport;
  return &transport;
}

Status makeLocalLinks(const LocalEnd& a, const LocalEnd& b, std::vector<MadeLink>* ofA,
                      std::vector<MadeLink>* ofB) {
  const LocalEnd* ends[2] = {&a, &b};
  std::vector<MadeLink>* made[2] = {ofA, ofB};
  runtime::Arena* arenas[2];
  auto pair = std::make_shared<LocalPair>();
  for (int end = 0; end < 2; ++end) {
    HCCL_ASSIGN_OR_RETURN(arenas[end], runtime::Arena::ofDevice(ends[end]->device));
    HCCL_ASSIGN_OR_RETURN(pair->boards[end], Board::allocate(ends[end]->device));
  }
  for (int end = 0; end < 2; ++end) {
    for (const LinkKind kind : {LinkKind::kCollective, LinkKind::kPointToPoint}) {
      made[end]->push_back(makeLink(
          ends[1 - end]->rank, kind, std::make_unique<LocalLink>(pair, end, arenas[1 - end]),
          fmt::format("shm: direct, device {} of this process", ends[1 - end]->device), nullptr));
    }
  }
  return Status();
}

}  // namespace hccl::transport
