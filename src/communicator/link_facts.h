// What all ranks know alike about the links between them before any link exists.
#pragma once

#include "src/base/status.h"
#include "src/plan/cost_model.h"
#include "src/topology/cluster.h"

namespace hccl {

// Out of the ranks' endpoints. A link that is made may turn out slower than it promises; the choice
// of algorithms does not follow, since the other ranks do not know.
Result<plan::LevelClasses> levelClasses(const Cluster& cluster, const plan::Topology& topology);

}  // namespace hccl
