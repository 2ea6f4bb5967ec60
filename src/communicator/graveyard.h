// Keeps the parts of destroyed communicators whose operations sit on streams that do not let go of
// them.
#pragma once

#include <memory>

#include "src/executor/tasks.h"
#include "transport/transport.h"

namespace hccl {

void bury(std::unique_ptr<transport::Links> links, std::unique_ptr<executor::Context> context,
          std::unique_ptr<executor::TaskPool> tasks);

}  // namespace hccl
