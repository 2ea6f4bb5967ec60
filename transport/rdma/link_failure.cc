#include "transport/rdma/link_failure.h"

#include <fmt/core.h>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace hccl::transport::rdma {

void LinkFailure::onError(const ibv_wc& completion, size_t rail) {
  if (completion.status == IBV_WC_WR_FLUSH_ERR && hasFailed()) return;
  const std::string local = fmt::format("server[{}],deviceId[{}],deviceIp[{}]", names_.local.server,
                                        names_.local.device, names_.local.ips[rail]);
  if (!hasFailed() && !peerLeft()) {
    HCCL_ERROR(
        "[TaskExecStage][HeartbeatAbnormal][CQE ERROR]cqe error status[{}], time:[{}], "
        "localInfo{{{}}}, remoteIP{{{}}}",
        static_cast<int>(completion.status), wallClockText(), local, names_.remote.ips[rail]);
  }
  (void)fail(fmt::format("error cqe status[{}] ({})", static_cast<int>(completion.status),
                         ibv_wc_status_str(completion.status)),
             rail);
}

Status LinkFailure::fail(const std::string& why, size_t rail) {
  std::lock_guard lock(mutex_);
  if (status_.isOk()) {
    const std::string cause = peerLeft() ? "the peer has destroyed its communicator; " + why : why;
    status_ = Status(
        HCCL_E_REMOTE,
        fmt::format("An error CQE occurred during operator execution. Local information: server "
                    "{}, device ID {}, device IP {}. Peer information: server {}, device ID {}, "
                    "device IP {}. Remote rank: {}. Communicator: {}. Cause: {}.",
                    names_.local.server, names_.local.device, names_.local.ips[rail],
                    names_.remote.server, names_.remote.device, names_.remote.ips[rail],
                    names_.peer, names_.communicator, cause),
        13, static_cast<int>(names_.peer));
  }
  if (!failed_.exchange(true, std::memory_order_acq_rel)) queues_->poison();
  return status_;
}

Status LinkFailure::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace hccl::transport::rdma
