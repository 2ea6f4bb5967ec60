// Copies and fills as tasks of a stream, done in pieces so that other streams get their turns.
#pragma once

#include <cstddef>

#include "src/base/status.h"
#include "src/runtime/stream.h"

namespace hccl::runtime {

Status enqueueCopy(Stream* stream, void* destination, const void* source, size_t bytes);
Status enqueueFill(Stream* stream, void* destination, int value, size_t bytes);

}  // namespace hccl::runtime
