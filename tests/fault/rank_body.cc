// What the ranks of a job do: they reach the stage, one of them is broken, the others work until
// they hear of it, and say what they heard.
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <utility>

#include "tests/fault/culprit.h"
#include "tests/fault/injection.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::faults {
namespace {

using multirank::Rank;
using multirank::takeErrorText;

constexpr uint64_t kCount = 20000;
constexpr int kGoodRounds = 20;

struct Heard {
  int code = 0;  // HcclResult or aclError
  std::string text;
  explicit operator bool() const { return code != 0; }
};

class Job {
 public:
  explicit Job(Rank& rank)
      : rank_(rank),
        fault_(rank.argument("fault")),
        stage_(rank.argument("stage")),
        isCulprit_(rank.argument("culprit") == std::to_string(rank.rank())),
        seed_(static_cast<uint32_t>(std::stoul(rank.argument("seed")))),
        session_(static_cast<int32_t>(rank.rank())),
        data_(kCount * rank.ranks() * 2, 1) {}

  void run() {
    Heard heard = join();
    if (!heard) heard = work();
    if (rank_.argument("survives") == "1") {
      multirank::expect(!heard, "the job was disturbed: " + heard.text);
      (void)HcclCommDestroy(comm_);
      return;
    }
    const uint64_t learnt = sharedNow();
    const bool silent = isCulprit_ && fault_ != "late" && fault_ != "cut";
    if (!silent) {
      rank_.report("heard " + std::to_string(rank_.rank()) + " " + std::to_string(learnt) + " " +
                   std::to_string(heard.code) + " " + std::to_string(destroy()) + " " + heard.text);
      // What a late rank asks is answered as long as the root's process lives.
      if (fault_ == "late" && !isCulprit_) ::poll(nullptr, 0, 3000);
    } else if (comm_ != nullptr) {
      (void)HcclCommDestroy(comm_);
    }
  }

 private:
  bool mine(const char* fault) const { return isCulprit_ && fault_ == fault; }
  void tellFault() { rank_.report("fault " + std::to_string(sharedNow())); }

  Heard join() {
    HcclRootInfo info = {};
    std::string own = std::to_string(::getpid()) + "\n";
    if (rank_.rank() == 0) {
      HCCL_MUST(HcclGetRootInfo(&info));
      own.append(info.internal, sizeof(info.internal));
    }
    const std::vector<std::string> all = rank_.allGather(own);
    for (const std::string& text : all) processes_.push_back(text.substr(0, text.find('\n')));
    std::memcpy(info.internal, all[0].data() + all[0].find('\n') + 1, sizeof(info.internal));
    uint32_t ranks = rank_.ranks();
    uint32_t me = rank_.rank();
    if (stage_ == "init" && isCulprit_) {
      if (isSelfInflicted(fault_)) breakNow(rank_, fault_);
      if (fault_ == "flood") botherListeners(processes_, fault_, seed_);
      if (fault_ == "missing") {
        tellFault();
        throw multirank::JobAborted();
      }
      if (fault_ == "late") {
        tellFault();
        ::poll(nullptr, 0, (kConnectTimeout + 1) * 1000);
      }
      if (fault_ == "ranks") ++ranks;
      if (fault_ == "duplicate") me = me - 1;
      if (fault_ == "ranks" || fault_ == "duplicate") tellFault();
    }
    if (stage_ == "joining" && isCulprit_) breakLater(rank_, fault_, seed_ % 3000);
    const HcclResult result = HcclCommInitRootInfo(ranks, &info, me, &comm_);
    if (result == HCCL_SUCCESS) return {};
    comm_ = nullptr;
    return {result, takeErrorText()};
  }

  Heard work() {
    if (stage_ == "link") {
      rank_.meet();
      if (isCulprit_ && isSelfInflicted(fault_)) breakNow(rank_, fault_);
      if (isCulprit_ && rank_.argument("survives") == "1") {
        botherListeners(processes_, fault_, seed_);
      }
      return keepWorking(0);
    }
    for (int i = 0; i < 3; ++i) {
      if (Heard heard = allReduce(kCount); heard) return heard;
    }
    rank_.meet();
    if (isCulprit_ && stage_ == "between") {
      if (isSelfInflicted(fault_)) breakNow(rank_, fault_);
      tellFault();
      HCCL_MUST(HcclCommDestroy(std::exchange(comm_, nullptr)));
      // Its process lives on until the others have heard that it will not come.
      ::poll(nullptr, 0, 500);
      return {};
    }
    if (isCulprit_ && (isSelfInflicted(fault_) || fault_ == "cut")) {
      breakLater(rank_, fault_, seed_ % 20000);
    }
    return keepWorking(static_cast<int>(seed_ % 5));
  }

  // Operations until one fails; the one with number `odd` differs on the culprit.
  Heard keepWorking(int odd) {
    const bool good = rank_.argument("survives") == "1";
    for (int i = 0; !good || i < kGoodRounds; ++i) {
      const bool differs = !good && !isSelfInflicted(fault_) && fault_ != "cut" && i == odd;
      if (differs && isCulprit_) tellFault();
      if (Heard heard = differs ? differing(isCulprit_) : allReduce(kCount); heard) return heard;
    }
    return {};
  }

  Heard differing(bool odd) {
    int32_t* in = data_.data();
    int32_t* out = in + kCount * rank_.ranks();
    const auto type = HCCL_DATA_TYPE_INT32;
    const auto sum = HCCL_REDUCE_SUM;
    const aclrtStream stream = session_.stream();
    const auto reduce = [&](uint64_t count, HcclDataType t, HcclReduceOp op) {
      return HcclAllReduce(in, out, count, t, op, comm_, stream);
    };
    const auto gather = [&] { return HcclAllGather(in, out, kCount, type, comm_, stream); };
    if (fault_ == "count") return finish(reduce(odd ? kCount - 1 : kCount, type, sum));
    if (fault_ == "dataType") {
      return finish(reduce(kCount, odd ? HCCL_DATA_TYPE_FP32 : type, sum));
    }
    if (fault_ == "op") return finish(reduce(kCount, type, odd ? HCCL_REDUCE_MAX : sum));
    if (fault_ == "root")
      return finish(HcclBroadcast(in, kCount, type, odd ? 1 : 0, comm_, stream));
    if (fault_ == "cmdType") return finish(odd ? gather() : reduce(kCount, type, sum));
    // order: the culprit makes the same two calls the other way round.
    const HcclResult first = odd ? gather() : reduce(kCount, type, sum);
    if (first != HCCL_SUCCESS) return {first, takeErrorText()};
    return finish(odd ? reduce(kCount, type, sum) : gather());
  }

  Heard allReduce(uint64_t count) {
    int32_t* in = data_.data();
    return finish(HcclAllReduce(in, in + kCount * rank_.ranks(), count, HCCL_DATA_TYPE_INT32,
                                HCCL_REDUCE_SUM, comm_, session_.stream()));
  }

  Heard finish(HcclResult called) {
    if (called != HCCL_SUCCESS) return {called, takeErrorText()};
    const aclError ended =
        aclrtSynchronizeStreamWithTimeout(session_.stream(), kExecTimeout * 2000);
    return ended == ACL_SUCCESS ? Heard{} : Heard{ended, takeErrorText()};
  }

  // Milliseconds that it took.
  uint64_t destroy() {
    if (comm_ == nullptr) return 0;
    const uint64_t begin = sharedNow();
    const HcclResult result = HcclCommDestroy(std::exchange(comm_, nullptr));
    multirank::expect(result == HCCL_SUCCESS, "HcclCommDestroy returned " + std::to_string(result));
    return (sharedNow() - begin) / 1'000'000;
  }

  Rank& rank_;
  const std::string fault_;
  const std::string stage_;
  const bool isCulprit_;
  const uint32_t seed_;
  multirank::Session session_;
  std::vector<int32_t> data_;
  std::vector<std::string> processes_;
  HcclComm comm_ = nullptr;
};

void broken(Rank& rank) {
  Job(rank).run();
}

const multirank::RegisterBody body("broken", broken);

}  // namespace
}  // namespace hccl::faults
