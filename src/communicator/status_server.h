// The status socket: an abstract unix socket per process, "hccl-status-<pid>" for text and
// "hccl-status-<pid>.json", on which a live job tells what its ranks do (tools/hccl_status).
// Nothing is asked and nothing is changed: whoever connects, and is the same user or root, gets the
// answer.
#pragma once

namespace hccl {

// At the process' first communicator; later calls do nothing. A process without it only lacks the
// answer, so a failure is logged and no more.
void startStatusServer();

}  // namespace hccl
