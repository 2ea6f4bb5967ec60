// Callbacks that a program registered for the destruction and resumption of communicators.
#pragma once

#include <string>

#include "hccl/hccl_comm.h"

namespace hccl {

// A name that is registered gets the new function.
void registerStateCallback(const std::string& name, HcclCommStateCallback callback, void* args);

// Calls all of them, in the order of their names, on this thread. A result other than HCCL_SUCCESS
// is logged and otherwise ignored.
void runStateCallbacks(HcclComm handle, HcclCommStatePhase phase);

}  // namespace hccl
