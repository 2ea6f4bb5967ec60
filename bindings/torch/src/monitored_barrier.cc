// A barrier that tells which ranks did not come: every rank reports to rank 0, which then lets them
// go.
#include <algorithm>

#include "process_group.h"

namespace hccl_torch {
namespace {

// Beyond the tags that users can give.
constexpr int64_t kFirstTag = int64_t{1} << 40;

bool arrives(HcclWork& work, const Deadline& deadline) {
  return work.settle(deadline) && work.isSuccess();
}

std::string listOf(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace

void ProcessGroupHccl::monitoredBarrier(const c10d::BarrierOptions& options, bool waitAllRanks) {
  // Rank 0 is the only one that waits for nothing when there is no time.
  const Timeout timeout = options.timeout < kNoTimeout ? timeout_ : options.timeout;
  const int64_t tag = kFirstTag + static_cast<int64_t>(begin());
  if (size_ == 1) return;
  if (rank_ != 0) return reportTo0(tag, timeout);
  TORCH_CHECK(timeout > kNoTimeout, "Rank 0 timed out in monitoredBarrier after ", timeout.count(),
              " ms.");
  const Deadline deadline(timeout);
  std::vector<int> missing;
  for (int r = 1; r < size_ && (missing.empty() || waitAllRanks); ++r) {
    if (!arrives(*note(r, tag, false), deadline)) missing.push_back(r);
  }
  TORCH_CHECK(missing.empty(), missing.size() == 1 ? "Rank " : "Ranks ", listOf(missing),
              " failed to pass monitoredBarrier in ", timeout.count(), " ms");
  for (int r = 1; r < size_; ++r) note(r, tag, true);
}

void ProcessGroupHccl::reportTo0(int64_t tag, Timeout timeout) {
  const Deadline deadline(std::max(timeout, Timeout(1)));
  const auto answer = note(0, tag, false);
  const auto report = note(0, tag, true);
  TORCH_CHECK(arrives(*report, deadline) && arrives(*answer, deadline), "Rank ", rank_,
              " successfully reached monitoredBarrier, but received errors while waiting for "
              "send/recv from rank 0: the faulty rank is in the error of rank 0");
}

// An empty message to a rank or from it.
c10::intrusive_ptr<HcclWork> ProcessGroupHccl::note(int rank, int64_t tag, bool send) {
  const at::Tensor nothing = at::empty({0}, at::TensorOptions(at::kByte));
  const HcclWork::Facts facts{rank_, c10d::OpType::BARRIER, "hccl:monitored_barrier", {},
                              {},    Deadline(timeout_)};
  if (!send) return messages().receive(facts, nothing, rank, tag);
  auto work = messages().send(facts, nothing, rank, tag, completer_);
  remember(work);
  return work;
}

}  // namespace hccl_torch
