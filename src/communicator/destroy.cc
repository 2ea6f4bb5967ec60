// The end of a communicator.
#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/communicator/initialize.h"
#include "src/communicator/rank_graph.h"
#include "src/communicator/registry.h"
#include "src/communicator/state_callbacks.h"
#include "src/communicator/windows.h"
#include "src/fault/ei_errors.h"

namespace hccl {

Status destroyCommunicator(HcclComm handle) {
  const uint64_t begin = monotonicNs();
  std::shared_ptr<Communicator> communicator = Registry::instance().find(handle);
  if (communicator == nullptr) {
    return argumentError(HCCL_E_PARA, "HcclCommDestroy", "an unknown handle", "comm",
                         "a communicator that exists");
  }
  HCCL_RUN_INFO("Entry-HcclCommDestroy: op_base comm destroy begin, group[{}], deviceLogicId[{}]",
                communicator->name(), communicator->device());
  if (communicator->pending() != 0 && communicator->asyncError().isOk()) {
    HCCL_WARNING("comm is in use, please try again later");
    return argumentError(HCCL_E_AGAIN, "HcclCommDestroy", "in use, please try again later", "comm",
                         "a communicator whose streams have been synchronised");
  }
  runStateCallbacks(handle, HCCL_COMM_STATE_PHASE_DESTROY_PRE);
  if (Registry::instance().remove(handle) == nullptr) {  // another thread was faster
    return argumentError(HCCL_E_PARA, "HcclCommDestroy", "an unknown handle", "comm",
                         "a communicator that exists");
  }
  communicator->cancel();  // a thread that sets up links leaves
  forgetMemory(communicator.get());
  forgetRankGraph(communicator.get());
  const Status closed = communicator->shutdown();
  if (!closed.isOk()) {
    HCCL_WARNING("communicator {} was not closed in good order: {}", communicator->name(),
                 closed.text());
  }
  runStateCallbacks(handle, HCCL_COMM_STATE_PHASE_DESTROY_POST);
  HCCL_RUN_INFO(
      "Entry-HcclCommDestroy: op_base comm destroy complete, take time [{}]us, group[{}], "
      "deviceLogicId[{}].",
      (monotonicNs() - begin) / 1000, communicator->name(), communicator->device());
  return Status::ok();
}

}  // namespace hccl
