#include "tests/integration/matrix/run_case.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/integration/support/element.h"

namespace hccl::multirank {
namespace {

struct Buffers {
  unsigned char* send;
  unsigned char* recv;
};

void ringStep(const TestCase& c, const Layout& l, Buffers b, uint32_t rank, HcclComm comm,
              aclrtStream stream) {
  const uint32_t n = c.ranks();
  const uint32_t next = (rank + 1) % n;
  const uint32_t before = (rank + n - 1) % n;
  const auto send = [&] {
    HCCL_MUST(HcclSend(b.send, l.sendElements, c.type(), next, comm, stream));
  };
  const auto receive = [&] {
    HCCL_MUST(HcclRecv(b.recv, l.recvElements, c.type(), before, comm, stream));
  };
  // A stream runs them one after the other: neighbours begin with different ones.
  if (rank % 2 == 0) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

void batch(const TestCase& c, const Layout& l, Buffers b, HcclComm comm, aclrtStream stream) {
  std::vector<HcclSendRecvItem> items;
  const size_t size = elementSize(c.type());
  for (uint32_t i = 0; i < l.sendCounts.size(); ++i) {
    const uint32_t peer = i / Layout::kItemsPerPeer;
    items.push_back({HCCL_SEND, b.send + l.sendDispls[i] * size, l.sendCounts[i], c.type(), peer});
    items.push_back({HCCL_RECV, b.recv + l.recvDispls[i] * size, l.recvCounts[i], c.type(), peer});
  }
  HCCL_MUST(HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), comm, stream));
}

void call(const TestCase& c, const Layout& l, Buffers b, uint32_t rank, HcclComm comm,
          aclrtStream stream) {
  const uint64_t n = c.count();
  const HcclDataType type = c.type();
  switch (c.collective()) {
    case Collective::kAllReduce:
      return HCCL_MUST(HcclAllReduce(b.send, b.recv, n, type, c.op(), comm, stream));
    case Collective::kReduce:
      return HCCL_MUST(HcclReduce(b.send, b.recv, n, type, c.op(), c.root(), comm, stream));
    case Collective::kReduceScatter:
      return HCCL_MUST(HcclReduceScatter(b.send, b.recv, n, type, c.op(), comm, stream));
    case Collective::kReduceScatterV:
      return HCCL_MUST(HcclReduceScatterV(b.send, l.sendCounts.data(), l.sendDispls.data(), b.recv,
                                          l.recvElements, type, c.op(), comm, stream));
    case Collective::kAllGather:
      return HCCL_MUST(HcclAllGather(b.send, b.recv, n, type, comm, stream));
    case Collective::kAllGatherV:
      return HCCL_MUST(HcclAllGatherV(b.send, l.sendElements, b.recv, l.recvCounts.data(),
                                      l.recvDispls.data(), type, comm, stream));
    case Collective::kBroadcast:
      return HCCL_MUST(HcclBroadcast(b.recv, n, type, c.root(), comm, stream));
    case Collective::kScatter:
      return HCCL_MUST(HcclScatter(rank == c.root() ? b.send : nullptr, b.recv, n, type, c.root(),
                                   comm, stream));
    case Collective::kAllToAll:
      return HCCL_MUST(HcclAlltoAll(b.send, n, type, b.recv, n, type, comm, stream));
    case Collective::kAllToAllV:
      return HCCL_MUST(HcclAlltoAllV(b.send, l.sendCounts.data(), l.sendDispls.data(), type, b.recv,
                                     l.recvCounts.data(), l.recvDispls.data(), type, comm, stream));
    case Collective::kAllToAllVC:
      return HCCL_MUST(HcclAlltoAllVC(b.send, l.matrix.data(), type, b.recv, type, comm, stream));
    case Collective::kSendRecv:
      return ringStep(c, l, b, rank, comm, stream);
    case Collective::kBatchSendRecv:
      return batch(c, l, b, comm, stream);
    case Collective::kBarrier:
      return HCCL_MUST(HcclBarrier(comm, stream));
  }
}

std::string firstDifference(const unsigned char* got, const std::vector<unsigned char>& expected,
                            size_t size) {
  if (expected.empty() || std::memcmp(got, expected.data(), expected.size()) == 0) return "";
  size_t wrong = 0;
  size_t first = 0;
  const size_t elements = expected.size() / size;
  for (size_t i = elements; i-- > 0;) {
    if (std::memcmp(got + i * size, expected.data() + i * size, size) == 0) continue;
    ++wrong;
    first = i;
  }
  const auto hex = [&](const unsigned char* from) {
    std::string text;
    for (size_t i = size; i-- > 0;) {
      static const char digits[] = "0123456789abcdef";
      text += digits[from[first * size + i] >> 4];
      text += digits[from[first * size + i] & 0xf];
    }
    return text;
  };
  return std::to_string(wrong) + " of " + std::to_string(elements) +
         " elements are wrong, the first is " + std::to_string(first) + ": 0x" + hex(got) +
         ", expected 0x" + hex(expected.data());
}

int64_t now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Nobody leaves a barrier before the last has come.
std::string runBarrier(Rank& rank, HcclComm comm, Session& session) {
  int64_t times[2] = {};
  const aclrtHostFunc stamp = [](void* time) { *static_cast<int64_t*>(time) = now(); };
  HCCL_MUST(aclrtLaunchHostFunc(session.stream(), stamp, &times[0]));
  HCCL_MUST(HcclBarrier(comm, session.stream()));
  HCCL_MUST(aclrtLaunchHostFunc(session.stream(), stamp, &times[1]));
  session.synchronise();
  int64_t lastEntry = 0;
  for (const std::string& bytes : rank.allGather({reinterpret_cast<char*>(times), sizeof(times)})) {
    int64_t entry = 0;
    std::memcpy(&entry, bytes.data(), sizeof(entry));
    lastEntry = std::max(lastEntry, entry);
  }
  return times[1] >= lastEntry ? "" : "left the barrier before the last rank had come";
}

}  // namespace

CaseRunner::~CaseRunner() {
  for (const auto& [algo, comm] : communicators_) (void)HcclCommDestroy(comm);
}

void CaseRunner::close() {
  for (const auto& [algo, comm] : communicators_) HCCL_MUST(HcclCommDestroy(comm));
  communicators_.clear();
}

HcclComm CaseRunner::communicator(const TestCase& test) {
  const std::string key = test.strict() ? "strict" : test.algo();
  const auto known = communicators_.find(key);
  if (known != communicators_.end()) return known->second;
  HcclCommConfig config = makeConfig();
  std::snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", test.algo());
  if (test.strict()) config.hcclDeterministic = 2;
  return communicators_[key] = openByRootInfo(rank_, &config);
}

PreparedCase::PreparedCase(const TestCase& test, uint32_t rank, uint64_t seed)
    : test_(test),
      rank_(rank),
      layout_(test_, rank, seed),
      first_(test.factor[kMemory] == 1 ? Memory::kMalloc : Memory::kDevice, firstBytes(),
             test.misalignment()),
      second_(test.factor[kMemory] == 0 ? Memory::kDevice : Memory::kMalloc,
              layout_.aliased ? 0 : layout_.recvElements * elementSize(test.type()),
              test.misalignment()) {
  const size_t size = elementSize(test.type());
  send_ = first_.data() + layout_.sendInRecv * size;
  recv_ = second_.data();
  if (layout_.aliased) {
    recv_ = first_.data() + layout_.recvInSend * size;
  } else {
    send_ = first_.data();
  }
  // Broadcast reads its root's input from the buffer that is its output.
  layout_.fillSend(test.collective() == Collective::kBroadcast ? recv_ : send_);
}

size_t PreparedCase::firstBytes() const {
  const uint64_t elements =
      layout_.aliased ? std::max(layout_.sendElements, layout_.recvElements) : layout_.sendElements;
  return elements * elementSize(test_.type());
}

void PreparedCase::issue(HcclComm comm, aclrtStream stream) const {
  call(test_, layout_, {send_, recv_}, rank_, comm, stream);
}

std::string PreparedCase::verify() const {
  const size_t size = elementSize(test_.type());
  if (const std::string damage = first_.damage(); !damage.empty()) return "input buffer: " + damage;
  if (const std::string damage = second_.damage(); !damage.empty())
    return "output buffer: " + damage;
  const auto image = [](uint64_t bytes) {
    return std::vector<unsigned char>(bytes, GuardedBuffer::kPoison);
  };
  const uint64_t sendBytes = layout_.sendElements * size;
  const uint64_t recvBytes = layout_.recvElements * size;
  if (!layout_.outputIsFree) {
    std::vector<unsigned char> expected = image(recvBytes);
    if (test_.count() == 0) {  // nothing happens: what lay there is there
      if (layout_.aliased) return "";
      if (test_.collective() == Collective::kBroadcast) layout_.fillSend(expected.data());
    }
    layout_.fillExpected(expected.data());
    const std::string wrong = firstDifference(recv_, expected, size);
    if (!wrong.empty()) return wrong;
  }
  if (layout_.sendElements == 0 || layout_.aliased) return "";
  std::vector<unsigned char> sent = image(sendBytes);
  layout_.fillSend(sent.data());
  const std::string changed = firstDifference(send_, sent, size);
  return changed.empty() ? "" : "the input was changed: " + changed;
}

std::string CaseRunner::run(const TestCase& test) {
  const HcclComm comm = communicator(test);
  ++number_;
  if (test.collective() == Collective::kBarrier) return runBarrier(rank_, comm, session_);
  PreparedCase prepared(test, rank_.rank(), mix(number_));
  prepared.issue(comm, session_.stream());
  session_.synchronise();
  return prepared.verify();
}

}  // namespace hccl::multirank
