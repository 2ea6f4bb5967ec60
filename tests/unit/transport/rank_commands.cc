#include "tests/unit/transport/rank_commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "src/runtime/arena.h"
#include "src/runtime/engine.h"

namespace hccl::transport {
namespace {

constexpr size_t kGuard = 64;  // bytes behind a buffer that nobody may touch

std::string errorText(const Status& status) {
  return fmt::format("error {} {} {} {}", static_cast<int>(status.code()), status.eiCode(),
                     status.culprit(), status.text());
}

std::string answer(const Status& status) {
  return status.isOk() ? "ok" : errorText(status);
}

std::byte patternAt(uint64_t seed, size_t index) {
  uint64_t x = (seed + index) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::byte>(x >> 56);
}
void fillPattern(std::byte* data, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes; ++i) data[i] = patternAt(seed, i);
}
// Index of the first wrong byte, or `bytes`.
size_t checkPattern(const std::byte* data, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes; ++i) {
    if (data[i] != patternAt(seed, i)) return i;
  }
  return bytes;
}
std::string verdict(const std::byte* data, size_t bytes, uint64_t seed) {
  const size_t wrong = checkPattern(data, bytes, seed);
  return wrong == bytes ? "ok" : fmt::format("wrong at {}", wrong);
}

}  // namespace

size_t openFds() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

size_t mappings() {
  std::ifstream file("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

std::string RankCommands::run(const std::string& line) {
  std::istringstream in(line);
  std::string command;
  in >> command;
  if (command == "endpoint") {
    int32_t device;
    std::string host;
    uint16_t port;
    in >> device >> host >> port;
    auto text = localEndpoint(device, host, port);
    return text.isOk() ? *text : errorText(text.status());
  }
  if (command == "card") {
    RankCard card;
    card.rank = static_cast<uint32_t>(config_.cards.size());
    in >> card.endpoint;
    config_.cards.push_back(card);
    return "ok";
  }
  if (command == "links") {
    in >> config_.communicator >> config_.secret >> config_.rank >> config_.device >>
        config_.transports >> config_.connectTimeout;
    auto links = makeLinks(config_);
    config_.cards.clear();
    if (!links.isOk()) return errorText(links.status());
    links_ = std::move(*links);
    links_->onFailure([this](uint32_t peer, const Status& status) {
      std::lock_guard lock(mutex_);
      failure_ = fmt::format("{} {} {}", peer, status.eiCode(), status.text());
      changed_.notify_all();
    });
    return "ok";
  }
  if (command == "destroy") {
    links_.reset();
    return "ok";
  }
  if (command == "fork") {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::pause();
      ::_exit(0);
    }
    return std::to_string(child);
  }
  if (command == "exit") ::exit(0);
  if (command == "fds") return std::to_string(openFds());
  if (command == "maps") return std::to_string(mappings());
  if (command == "alloc" || command == "verify") return memory(command, in);
  if (!links_) return "error: no links";
  if (command == "connect") return connect(in);
  if (command == "await") return await(in);
  if (command == "send") return exchangePlain(parseExchange(in), true, false);
  if (command == "receive") return exchangePlain(parseExchange(in), false, true);
  if (command == "exchange") return exchangePlain(parseExchange(in), true, true);
  if (command == "exchange-device") return exchangeDevice(parseExchange(in));
  if (command == "cancel") {
    links_->cancel();
    return "ok";
  }
  if (command == "failure") {
    double seconds;
    in >> seconds;
    return failure(seconds);
  }
  uint32_t peer;
  in >> peer;
  if (command == "left") {
    double seconds;
    in >> seconds;
    const Deadline deadline = Deadline::after(seconds);
    while (!links_->hasLeft(peer) && !deadline.expired()) std::this_thread::yield();
    return links_->hasLeft(peer) ? "left" : "there";
  }
  if (command == "describe" || command == "counters") {
    int kind;
    in >> kind;
    const Link* link = links_->find(peer, static_cast<LinkKind>(kind));
    if (link == nullptr) return "none";
    if (command == "counters") {
      return fmt::format("{} {}", link->message->bytesSent(), link->message->bytesReceived());
    }
    return fmt::format("{} {} {}", static_cast<int>(link->linkClass),
                       link->direct && link->direct->sameProcess ? 1 : 0, link->description);
  }
  Link* link = links_->find(peer, LinkKind::kCollective);
  if (link == nullptr || !link->direct) return "error: no direct link";
  if (command == "publish") {
    uint64_t value;
    in >> value;
    link->direct->mine->open.value.store(value, std::memory_order_release);
    link->direct->ring();
    return "ok";
  }
  uint64_t ref = 0, seed = 0;
  size_t bytes = 0;
  in >> ref >> bytes >> seed;
  std::byte* data = link->direct->resolve(ref, bytes);
  if (command == "reach") return data == nullptr ? "outside" : "address";
  if (data == nullptr) return "outside";
  if (command == "check") return verdict(data, bytes, seed);
  if (command == "store") {
    fillPattern(data, bytes, seed);
    return "ok";
  }
  return "error: unknown command " + command;
}

std::string RankCommands::connect(std::istringstream& in) {
  std::string list;
  int kind;
  double seconds;
  in >> list >> kind >> seconds;
  std::vector<uint32_t> peers;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    peers.push_back(static_cast<uint32_t>(std::stoul(item)));
  }
  return answer(links_->connect(peers, static_cast<LinkKind>(kind), Deadline::after(seconds)));
}

std::string RankCommands::await(std::istringstream& in) {
  uint32_t peer;
  uint64_t value;
  double seconds;
  in >> peer >> value >> seconds;
  Link* link = links_->find(peer, LinkKind::kCollective);
  if (link == nullptr || !link->direct) return "error: no direct link";
  const uint64_t start = monotonicNs();
  const auto& line = link->direct->theirs->open.value;
  const bool came = runtime::Engine::instance().helpUntil(
      [&] { return line.load(std::memory_order_acquire) >= value; }, Deadline::after(seconds));
  if (!came) return "timeout";
  return fmt::format("ok {:.6f}", static_cast<double>(monotonicNs() - start) * 1e-9);
}

RankCommands::Exchange RankCommands::parseExchange(std::istringstream& in) {
  Exchange e;
  in >> e.peer >> e.kind >> e.bytes >> e.seed >> e.sequence >> e.seconds;
  return e;
}

std::string RankCommands::exchangeDevice(const Exchange& e) {
  auto arena = runtime::Arena::ofDevice(config_.device);
  if (!arena.isOk()) return errorText(arena.status());
  std::byte* memory[2];
  for (std::byte*& one : memory) {
    auto made = (*arena)->allocate(e.bytes + kGuard);
    if (!made.isOk()) return errorText(made.status());
    one = static_cast<std::byte*>(*made);
  }
  const std::string result = transfer(e, memory[0], memory[1]);
  for (std::byte* one : memory) {
    if (const Status status = (*arena)->release(one); !status.isOk()) return errorText(status);
  }
  return result;
}

std::string RankCommands::exchangePlain(const Exchange& e, bool sends, bool receives) {
  std::vector<std::byte> out(e.bytes + kGuard), into(e.bytes + kGuard);
  return transfer(e, sends ? out.data() : nullptr, receives ? into.data() : nullptr);
}

// `out` has room for the bytes, `into` for kGuard more; nullptr: nothing is sent, or received.
std::string RankCommands::transfer(const Exchange& e, std::byte* out, std::byte* into) {
  Link* link = links_->find(e.peer, static_cast<LinkKind>(e.kind));
  if (link == nullptr || !link->message) return "error: no message link";
  const size_t bytes = e.bytes;
  FrameHeader header;
  header.epoch = 1;
  header.sequence = e.sequence;
  header.signature = 0x1234;
  header.count = bytes;
  header.bytes = bytes;
  // Each rank sends a pattern that starts at its own seed.
  if (out != nullptr) fillPattern(out, bytes, e.seed + config_.rank);
  if (into != nullptr) std::fill_n(into, bytes + kGuard, std::byte{0xee});
  SendState send;
  send.header = header;
  send.data = out;
  ReceiveState receive;
  receive.expected = header;
  receive.data = into;
  std::string result;
  bool sent = out == nullptr, received = into == nullptr;
  const bool done = runtime::Engine::instance().helpUntil(
      [&] {
        if (!sent) {
          const Io io = link->message->send(send);
          if (io == Io::kFailed) result = errorText(link->message->failure());
          sent = io == Io::kDone;
        }
        if (!received) {
          const Io io = link->message->receive(receive);
          if (io == Io::kFailed) result = errorText(link->message->failure());
          if (io == Io::kMismatch) result = fmt::format("mismatch {}", receive.got.sequence);
          received = io == Io::kDone;
        }
        return !result.empty() || (sent && received);
      },
      Deadline::after(e.seconds));
  if (!result.empty()) return result;
  if (!done) return "timeout";
  if (into == nullptr) return "ok";
  for (size_t i = bytes; i < bytes + kGuard; ++i) {
    if (into[i] != std::byte{0xee}) return "wrote beyond the end";
  }
  return verdict(into, bytes, e.seed + e.peer);
}

std::string RankCommands::memory(const std::string& command, std::istringstream& in) {
  auto arena = runtime::Arena::ofDevice(config_.device);
  if (!arena.isOk()) return errorText(arena.status());
  if (command == "alloc") {
    size_t bytes;
    uint64_t seed;
    in >> bytes >> seed;
    auto memory = (*arena)->allocate(bytes);
    if (!memory.isOk()) return errorText(memory.status());
    fillPattern(static_cast<std::byte*>(*memory), bytes, seed);
    return std::to_string(static_cast<std::byte*>(*memory) - (*arena)->base());
  }
  uint64_t offset, seed;
  size_t bytes;
  in >> offset >> bytes >> seed;
  return verdict((*arena)->base() + offset, bytes, seed);
}

std::string RankCommands::failure(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [this] { return !failure_.empty(); });
  return failure_.empty() ? "none" : failure_;
}

}  // namespace hccl::transport
