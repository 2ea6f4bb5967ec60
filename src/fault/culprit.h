// The words by which every message names the rank at fault: "culprit rank N."
#pragma once

#include "src/base/status.h"

namespace hccl {

// The status with those words at the end of its text, when it knows the culprit and does not say
// so yet.
Status withCulprit(const Status& status);

}  // namespace hccl
