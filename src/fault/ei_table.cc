// The table of EI and EJ codes. docs/errors.md is made from it.
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

constexpr EiInfo kTable[] = {
    {Ei::kEnvironment, "Config_Error_Invalid_Environment_Variable",
     "Value %s for environment variable %s is invalid. Expected value: %s.",
     "[InitGroupStage][EnvConfig]", "An environment variable has a value outside its range.",
     "Set the variable to an expected value, or unset it, on every rank; docs/environment.md lists "
     "all of them."},
    {Ei::kExecTimeout, "Communication_Error_Timeout",
     "A timeout occurs when the Notify register waits for execution. Waiting peer rank: %s; task "
     "information: %s; communication operator information: %s; communicator: %s.",
     "[TaskExecStage][Timeout]",
     "A peer failed, left, is stuck, or reached this operation later than HCCL_EXEC_TIMEOUT "
     "allows; "
     "or the ranks called different operations.",
     "Look for ranks that report nothing or report an earlier error. When all ranks report, "
     "compare "
     "their times: a gap above the timeout means a slow rank, so balance the work or raise "
     "HCCL_EXEC_TIMEOUT; equal times mean that the ranks' calls differ."},
    {Ei::kOperatorArgument, "Invalid_Argument_Collective_Communication_Operator",
     "Failed to verify parameters of operator %s. Value %s for parameter %s is invalid. The "
     "expected "
     "value is %s.",
     "[TaskExecStage][InvalidArgument]",
     "The program passed an argument that the call does not allow.",
     "Correct the argument in the program."},
    {Ei::kRankTableFile, "File_Operation_Error_Parse",
     "Failed to parse the ranktable file %s. Reason: %s", "[InitGroupStage][RanktableConfig]",
     "The rank table is not there, may not be read, or is no correct JSON.",
     "Check the path, the permission and the syntax of the file on this host."},
    {Ei::kInconsistent, "Invalid_Argument",
     "The arguments for collective communication are inconsistent between ranks, operator %s, "
     "group "
     "%s, parameter %s, local rank %s, remote rank %s.",
     "[InitChannelStage][ParameterConflict]",
     "The ranks called different operations, or the same one with different counts, types, roots "
     "or "
     "settings.",
     "Compare scripts, data and settings of both ranks; HCCL_ENTRY_LOG_ENABLE=1 logs every call."},
    {Ei::kGetSocket, "Communication_Error_Get_Socket", "Getting socket times out. Reason: %s",
     "[InitChannelStage][Timeout]",
     "A peer did not set up its link in time: it failed, is in another operation, or cannot be "
     "reached.",
     "Read the detection result in the reason, look at the log of the ranks that it names, and "
     "check "
     "the network between them. HCCL_CONNECT_TIMEOUT is the time allowed."},
    {Ei::kResource, "Resource_Error",
     "Failed to allocate resource %s with info %s. Reason: Resources are exhausted.",
     "[InitGroupStage][Resource]", "Memory, queue pairs, descriptors or streams ran out.",
     "Use fewer communicators or queue pairs, lower HCCL_BUFFSIZE, or raise the limit (ulimit, "
     "cgroup)."},
    {Ei::kVersion, "Package_Error_Incorrect_HCCL_Version",
     "The %s versions are inconsistent. The local %s, while the remote %s.",
     "[InitChannelStage][VersionConflict]", "The hosts have different versions of the library.",
     "Install the same version on every host."},
    {Ei::kTransport, "Communication_Error_Initialize_Transport",
     "Device %s transport init error. Reason: %s.", "[InitChannelStage][RunFailed]",
     "The link could not be made: the port is down, or the address is wrong.",
     "Check the link's state, its addresses and its partner."},
    {Ei::kP2p, "Communication_Error_P2P", "P2P communication failed. Reason: %s",
     "[InitChannelStage][RunFailed]", "Two devices of a server cannot reach each other directly.",
     "Set HCCL_INTRA_ROCE_ENABLE=1 to go through the network, or leave the choice to the library."},
    {Ei::kDeviceMemory, "Resource_Error_Insufficient_Device_Memory",
     "Failed to allocate %s bytes of NPU memory.", "[InitGroupStage][Resource]",
     "Device memory (host memory here) is exhausted.",
     "Free memory, use fewer communicators, or lower HCCL_BUFFSIZE."},
    {Ei::kMemoryCopy, "Execution_Error_SDMA",
     "SDMA memory copy task exception occurred. Remote rank: %s. Base information: %s. Task "
     "information: %s. Communicator information: %s.",
     "[TaskExecStage][RunFailed]",
     "A peer exited during the operation, or a buffer was freed or too small.",
     "Find the first error among the ranks; check that buffers live until the stream is "
     "synchronised."},
    {Ei::kCqe, "Execution_Error_ROCE_CQE",
     "An error CQE occurred during operator execution. Local information: server %s, device ID %s, "
     "device IP %s. Peer information: server %s, device ID %s, device IP %s.",
     "[TaskExecStage][RunFailed]",
     "The network failed between the two ranks, or the peer's process ended.",
     "Look at the peer's log first. If it is alive, check the network; HCCL_RDMA_TIMEOUT and "
     "HCCL_RDMA_RETRY_CNT bridge short failures."},
    {Ei::kRankTableValue, "Config_Error_Ranktable",
     "Value %s for ranktable variable %s is invalid. Expected value: %s.",
     "[InitGroupStage][RanktableCheck]",
     "The rank table holds a value that is illegal or contradicts another.",
     "Correct the value as told, in the file of every host."},
    {Ei::kRankTableDetect, "Communication_Error_Ranktable_Detect",
     "Failed to collect cluster information of the communicator based on rootInfo detection. "
     "Reason: "
     "%s.",
     "[InitGroupStage][RanktableDetect]",
     "Some ranks did not reach the root: not started, failed earlier, or no route to the root's "
     "host.",
     "Check that all ranks were started and what the missing ones report, that HCCL_SOCKET_IFNAME "
     "or HCCL_IF_IP selects the right network, and HCCL_CONNECT_TIMEOUT."},
    {Ei::kConfig, "Config_Error", "Value %s for config %s is invalid. Expected value: %s.",
     "[InitGroupStage][RanktableCheck]", "A setting differs between ranks or is illegal.",
     "Make the setting equal on all ranks, as told."},
    {Ei::kRankTableMissing, "Config_Error_Ranktable", "Config %s is missing in the ranktable file.",
     "[InitGroupStage][RanktableCheck]",
     "The rank table lacks a key, or the key has another JSON type.",
     "Add the key in the form that the version of the table wants."},
    {Ei::kUbCqe, "Execution_Error_UB_CQE",
     "An error CQE occurred during operator execution. Local information: server %s, device ID %s, "
     "device IP %s. Peer information: server %s, device ID %s, device IP %s.",
     "[TaskExecStage][RunFailed]", "As EI0013, on a UB link.", "As EI0013."},
    {Ei::kHostListen, "Communication_Error_Bind_IP_Port",
     "Failed to enable listening for the host network adapter socket. Reason: %s",
     "[InitGroupStage][RanktableDetect]",
     "The port for bootstrap is in use, often by a process left over.",
     "End that process, or choose other ports with HCCL_IF_BASE_PORT or "
     "HCCL_HOST_SOCKET_PORT_RANGE."},
    {Ei::kNpuListen, "Communication_Error_Bind_IP_Port",
     "Failed to enable listening for the NPU network adapter socket. Reason: %s",
     "[InitChannelStage][RunFailed]",
     "The port for data links is in use, often by a second process.",
     "End that process, or set HCCL_NPU_SOCKET_PORT_RANGE=auto."},
    {Ei::kInner, "Inner_Error", "%s", "", "A fault that has no code of its own.",
     "Read the ERROR lines of the log (debug/plog), the first one first."},
    {Ei::kEjInit, "HCCP_Process_Initialization_Failure",
     "Failed to initialize the HCCP process. Reason: Maybe the last training process is running.",
     "[InitGroupStage][Resource]", "The job before has not ended yet.",
     "Wait some seconds after ending a job."},
    {Ei::kEjEnvironment, "Environment_Error", "The network port is down.Suggest: %s",
     "[InitGroupStage][Resource]", "The network port has no link.", "Bring the port up."},
    {Ei::kEjBind, "Communication_Error_Bind_IP_Port", "Failed to bind the IP port. Reason: %s",
     "[InitChannelStage][RunFailed]", "The address or the port cannot be bound.",
     "Check that the address belongs to this host and that the port is free."},
    {Ei::kEjAddress, "Invalid_Argument_IP_Address", "Check ip fail. Reason: %s",
     "[InitGroupStage][RanktableCheck]", "A configured address is not the one of the device.",
     "Correct the address in the rank table or on the interface."},
};

}  // namespace

std::span<const EiInfo> eiTable() {
  return kTable;
}

}  // namespace hccl
