// The world of a process: the communicator that its rank table describes, one per device.
#pragma once

#include "hccl/hccl_types.h"

namespace hccl {

// The world of the device, else of any device of the process; nullptr when there is none.
HcclComm worldHandle(int32_t device);

}  // namespace hccl
