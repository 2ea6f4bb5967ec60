// Flight: what is known about a rank of a communicator for diagnosis: its recorder, its state, the
// first failure. Shared with whoever asks; outlives the communicator. Rendered as JSON that
// Perfetto and chrome://tracing open, and as text.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/fault/recorder.h"
#include "src/topology/cluster.h"

namespace hccl {

struct Flight {
  Flight(std::string communicatorName, const Cluster& cluster, uint32_t ownRank,
         int32_t logicDevice);

  const std::string communicator;
  const uint32_t rank;
  const uint32_t size;
  const int32_t device;
  const std::string name;    // "ip/device"
  const std::string server;  // id
  const std::shared_ptr<Recorder> recorder;
  std::atomic<bool> isClosed{false};

  void setFailure(const Status& cause);
  Status failure() const;

 private:
  mutable std::mutex mutex_;
  Status failure_;  // guarded
};

// One JSON object: "traceEvents" for the viewers, everything else under "hccl".
std::string flightJson(const Flight& flight);
// The facts of flightJson() with the operations that have not ended, and the last few.
std::string flightStatusJson(const Flight& flight);
// One line for the communicator, and one for each operation that has not ended.
std::string flightText(const Flight& flight);
// Writes flightJson() into the folder "flight" of the log's root; the path, or why not.
Result<std::string> dumpFlight(const Flight& flight);

// What a program and its logs hear about the failure of a communicator: the task-exception lines,
// the heartbeat's conclusions, the error of aclGetRecentErrMsg, the recorder's dump.
void reportFailure(Flight& flight, const Status& cause, const std::vector<std::string>& locations);

}  // namespace hccl
