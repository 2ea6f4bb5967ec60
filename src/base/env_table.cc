// The table of environment variables, in parse order. Everything that a user reads about a variable
// comes from here.
#include "src/base/env_parser.h"

namespace hccl {
namespace {

using namespace env_rows;  // NOLINT(google-build-using-namespace): the rows of this very table

constexpr std::string_view kFixedEffect =
    "Parsed, checked and logged as on Ascend; hosts have nothing that it could switch.";
constexpr std::string_view kSameOnAllRanks = "Must be equal on all ranks.";

constexpr EnvVariable kTable[] = {
    {"HCCL_CONNECT_TIMEOUT", "integer", "1 to 7200", "120", "s",
     "a number greater than or equal to 120s and less than or equal to 7200s",
     "How long bootstrap and the set-up of links wait for the other ranks. Data links wait 20 s "
     "longer.",
     "Ascend accepts 120 to 7200; this library accepts 1 to 119 as well.", connectTimeout},
    {"HCCL_EXEC_TIMEOUT", "decimal", "0 to 2147483647, at most two decimals; 0 waits for ever",
     "1836", "s", "a number greater than or equal to 0s and less than or equal to 2147483647s",
     "How long a rank waits for a peer inside an operation.", "", execTimeout},
    {"HCCL_INTRA_PCIE_ENABLE", "boolean", "0, 1", "1", "", "0 or 1 (but not both 1)",
     "Links inside a server: 1 alone, or both unset or 0, uses the server's own links (shared "
     "memory here).",
     "Illegal: both 1; 0 while HCCL_INTRA_ROCE_ENABLE is unset.", intraPcie},
    {"HCCL_INTRA_ROCE_ENABLE", "boolean", "0, 1", "0", "", "0 or 1 (but not both 1)",
     "1 uses RoCE between ranks of the same server.",
     "Illegal: both 1; 0 while HCCL_INTRA_PCIE_ENABLE is unset.", intraRoce},
    {"HCCL_WHITELIST_DISABLE", "boolean", "0, 1", "1", "", "0 or 1",
     "0 lets only the hosts of HCCL_WHITELIST_FILE join the bootstrap.", "", whitelistDisable},
    {"HCCL_WHITELIST_FILE", "path", "absolute path, shorter than 4096", "none", "",
     "absolute file path with length less than 4096",
     R"(JSON file {"host_ip":["ip",...],"device_ip":["ip",...]}; mandatory when )"
     "HCCL_WHITELIST_DISABLE is 0. Bootstrap checks host_ip.",
     "", whitelistFile},
    {"HCCL_IF_IP", "address", "IPv4 or IPv6, with an optional %ifname", "none", "",
     R"("ip[%ifname]")",
     "The address of this host that bootstrap uses. Wins over every other choice.",
     "Must be an address of a local interface.", ifIp},
    {"HCCL_SOCKET_FAMILY", "word", "AF_INET, AF_INET6", "AF_INET", "", "AF_INET or AF_INET6",
     "The address family that is looked for first; the other one is used when there is none.", "",
     socketFamily},
    {"HCCL_SOCKET_IFNAME", "list", "[=|^|^=]name[,name...]", "none", "",
     "Format: [=|^=|<interface>[,<interface>...]]",
     "Interfaces that bootstrap may use. Names are prefixes, or whole names after \"=\"; \"^\" "
     "means all but these. Among those left, docker* and lo* come last.",
     "", socketIfname},
    {"HCCL_IF_BASE_PORT", "integer", "1024 to 65520", "60000", "", "range[1024,65520]",
     "First of the 32 host ports that bootstrap may listen on; the device id is added to it.",
     "Unset: the first free one of 60000 to 60031.", number<&Environment::ifBasePort, 1024, 65520>},
    {"HCCL_RDMA_TC", "integer", "0 to 255, a multiple of 4", "132", "",
     "range[0, 255], Must be a multiple of 4",
     "Traffic class of RoCE packets (DSCP is a quarter of it).", "",
     number<&Environment::rdmaTrafficClass, 0, 255, 4>},
    {"HCCL_RDMA_SL", "integer", "0 to 7", "4", "", "range[0, 7]", "Service level of RoCE links.",
     "", number<&Environment::rdmaServiceLevel, 0, 7>},
    {"HCCL_RDMA_TIMEOUT", "integer", "5 to 20", "20", "", "range[5 ,20]",
     "Time n after which a queue pair sends again: 4.096 us * 2^n.", "",
     number<&Environment::rdmaTimeout, 5, 20>},
    {"HCCL_RDMA_RETRY_CNT", "integer", "1 to 7", "7", "", "range[1, 7]",
     "How often a queue pair sends again before it reports an error.", "",
     number<&Environment::rdmaRetryCount, 1, 7>},
    {"HCCL_BUFFSIZE", "integer", "1 or more", "200", "M", "equal to or greater than 1(MB)",
     "Size of a communicator's staging buffer in MB, once for each direction. Larger data go in "
     "chunks.",
     "A ceiling here: staging memory is made when it is first needed. Must be equal on all ranks.",
     bufferSize},
    {"HCCL_DETERMINISTIC", "word", "true, false, strict (any case)", "false", "",
     "true, false or strict",
     "Whether reductions give the same bits on every run (true), and in rank order for every "
     "element (strict).",
     kSameOnAllRanks, deterministic},
    {"HCCL_DIAGNOSE_ENABLE", "boolean", "0, 1", "0", "", "0 or 1",
     "1 collects more about each task for the error report.", "",
     flag<&Environment::diagnoseEnabled>},
    {"HCCL_ENTRY_LOG_ENABLE", "boolean", "0, 1", "0", "", "0 or 1",
     "1 writes an Entry- line to the run log for each operation.", "",
     flag<&Environment::entryLogEnabled>},
    {"HCCL_INTER_HCCS_DISABLE", "word", "true, false (any case)", "FALSE", "", "true or false",
     "true keeps ranks of different servers off HCCS links.", kFixedEffect, interHccsDisable},
    {"HCCL_OP_EXPANSION_MODE", "word",
     "AI_CPU, AICPU_TS, AICPU_CacheDisable, AIV, HOST, HOST_TS, CCU_MS, CCU_SCHED", "HOST", "",
     "Atlas A3: AI_CPU | AIV; Atlas A2 AIV | HOST | HOST_TS; Atlas 300I AI_CPU | HOST",
     "Where operations are orchestrated. Every value means the host here; the value shows in logs "
     "and in HcclConfigGetInfo.",
     kSameOnAllRanks, opExpansionMode},
    {"HCCL_RDMA_QPS_PER_CONNECTION", "integer", "1 to 32", "1", "", "range[1, 32]",
     "Queue pairs between two ranks; large messages are striped over them.", "", qpsPerConnection},
    {"HCCL_MULTI_QP_THRESHOLD", "integer", "1 to 8192", "512", "KB",
     "larger than 0, less than 8193(KB)",
     "Least number of KB that each queue pair carries when striping.", "", multiQpThreshold},
    {"HCCL_OP_RETRY_ENABLE", "list", "L1:0|1,L2:0|1", "L1:0,L2:0", "", "0 or 1",
     "Whether a failed operation is run again, inside a super-pod (L1) and between them (L2).",
     "L0 is accepted and ignored.", retryEnable},
    {"HCCL_OP_RETRY_PARAMS", "list", "MaxCnt 1 to 10, HoldTime and IntervalTime 0 to 60000 ms",
     "MaxCnt:1,HoldTime:5000,IntervalTime:1000", "",
     R"(format must be: "MaxCnt:cnt,HoldTime:time,IntervalTime:time".cnt range is [1, 10], )"
     "time range is [0, 60000]",
     "How often, how long after the fault and how far apart an operation is run again.", "",
     retryParams},
    {"HCCL_LOGIC_SUPERPOD_ID", "text", "fewer than 128 characters", "none", "",
     "length must be less than 128",
     "Splits a super-pod: ranks with different texts are in different ones.", "", logicSuperPodId},
    {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", "word", "true, false (any case)", "FALSE", "",
     "true or false", "Relaxed posting of work requests.", kFixedEffect, rdmaFastPost},
    {"HCCL_RDMA_QP_PORT_CONFIG_PATH", "path", "directory that holds MultiQpSrcPort.cfg", "none", "",
     "a valid existing file path",
     "UDP source ports of queue pairs. Lines srcIP,dstIP=port0,port1,...; 0.0.0.0 is any address; "
     "at most 32 ports, from 49152 to 65535, and 131072 lines. The number of ports replaces "
     "HCCL_RDMA_QPS_PER_CONNECTION.",
     "", qpPortConfigPath},
    {"HCCL_DEBUG_CONFIG", "list", "[^]ALG,TASK,RESOURCE,AIV_OPS_EXC", "none", "",
     "ALG,TASK,RESOURCE(optionally prefixed with'^')",
     "Modules that write more to the run log; \"^\" in front means all but these.", "",
     debugConfig},
    {"HCCL_HOST_SOCKET_PORT_RANGE", "list", "auto, or ports and ranges p1-p2 from 1 to 65535",
     "none", "",
     "a valid port range in the format of port1-port2, where port1 and port2 are valid port "
     "numbers "
     "(0-65535)",
     "Ports that bootstrap may listen on; auto lets the system choose.",
     "Ranges must not overlap. Several processes share a host here even when it is unset.",
     hostPortRange},
    {"HCCL_NPU_SOCKET_PORT_RANGE", "list", "auto, or ports and ranges p1-p2 from 1 to 65535",
     "none", "",
     "a valid port range in the format of port1-port2, where port1 and port2 are valid port "
     "numbers "
     "(0-65535)",
     "Ports that data links may listen on; auto lets the system choose.", "As above.",
     npuPortRange},
    {"HCCL_DFS_CONFIG", "list",
     "cluster_heartbeat:on|off, stuck_detection:on|off, inconsistent_check:first|on|off, "
     "connection_fault_detection_time:0 or 20 to 7200 (s), task_monitor_interval:0 to 7200000 "
     "(ms), "
     "task_exception:on|off",
     "cluster_heartbeat:on,stuck_detection:on,inconsistent_check:first,"
     "connection_fault_detection_time:20,task_monitor_interval:0,task_exception:on",
     "", "comma-separated key-value pairs (e.g., cluter_heartbeat=on,stuck_detection=off)",
     "Fault diagnosis. Case and spaces do not matter; \"=\" is taken for \":\" too.",
     "An unknown word after on/off keys only warns; an unknown key is an error.", dfsConfig},
    {"HCCL_ALGO", "list",
     "level0:NA;level1:A;level2:B, or OP=level0:NA;level1:A for several OPs with \"/\" between; "
     "A, B: ring, H-D_R, NHR, NHR_V1, NB, AHC, AHC_BROKE, pipeline, pairwise, fullmesh, null, NA, "
     "and only here star, doubling, doubletree, bruck, groupedmesh; also only here, beside the "
     "levels, oneshot:yes|no and chunk:BYTES (4K to 1G)",
     "none", "",
     "level0:NA;level1:<algo> or <op0>=level0:NA;level1:<algo0>/<op1>=level0:NA;level1:<algo1>",
     "Algorithm of each level, for all operations or for each. OP: allgather, reducescatter, "
     "allreduce, broadcast, reduce, scatter, alltoall, and others for the rest.",
     "level0:null makes one flat level. What an operation does not offer falls back to the "
     "library's own choice.",
     algo},
    {"HCCL_ALGO_TABLE", "path", "a file that hccl_tune wrote", "none", "",
     "a readable JSON file that hccl_tune wrote",
     "Measured choices of algorithms, for operations about which HCCL_ALGO says nothing. A wrong "
     "file is an error that names row and field; a row that is not legal for an operation is "
     "skipped, with a line in the log.",
     "Only here. Must say the same on all ranks (EI0005). docs/algorithms.md has the format.",
     algoTable},
    {"HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", "decimal", "0 to 1, at most two decimals", "0.5",
     "", "a non-negative number (with up to 2 decimals)",
     "Share of the data that the first of two mesh dimensions carries.", kFixedEffect, splitRatio},
    {"HCCL_UB_TIMEOUT", "integer", "0 to 31", "20", "", "range[0, 31]", "Time-out of UB links.",
     kFixedEffect, number<&Environment::ubTimeout, 0, 31>},
    {"HCCL_UBOE_TIMEOUT", "integer", "0 to 31", "20", "", "range[0, 31]", "Time-out of UBoE links.",
     kFixedEffect, number<&Environment::uboeTimeout, 0, 31>},
    {"CM_CHIEF_IP", "address", "IPv4 or IPv6", "none", "", "a valid IP address",
     "Address of the host that gathers the cluster (cluster information by environment).",
     "Not together with a rank table.", cmChiefIp},
    {"CM_CHIEF_PORT", "integer", "0 to 65520", "none", "", "range[0,65520]",
     "Port that the gathering host listens on.", "", cmNumber<&CmEnvironment::chiefPort, 0, 65520>},
    {"CM_CHIEF_DEVICE", "integer", "0 to 1023", "none", "", "range[0,1023]",
     "Device of the gathering host that counts the ranks.", "",
     cmNumber<&CmEnvironment::chiefDevice, 0, 1023>},
    {"CM_WORKER_SIZE", "integer", "0 to 32768", "none", "", "range[0,32768]",
     "Number of ranks of the cluster.", "", cmNumber<&CmEnvironment::workerSize, 0, 32768>},
    {"CM_WORKER_IP", "address", "IPv4 or IPv6", "none", "", "a valid IP address",
     "Address of this host; comes before HCCL_IF_IP.", "", cmWorkerIp},
    {"HCCL_TRANSPORT", "list", "auto, or some of shm,rdma,tcp", "auto", "",
     "auto or a comma-separated list of shm, rdma and tcp",
     "Transports that links may use. auto: shared memory inside a server, else RDMA, else TCP.",
     "Only here.", transport},
    {"HCCL_HOST_WORKERS", "integer", "1 to 64", "1", "", "range[1, 64]",
     "Threads of a process that advance operations.", "Only here.",
     number<&Environment::hostWorkers, 1, 64>},
    {"HCCL_HOST_DEVICES", "integer", "1 to 1024", "physical cores", "", "range[1, 1024]",
     "Number of devices that the runtime offers.", "Only here.",
     number<&Environment::hostDevices, 1, 1024>},
    {"HCCL_HOST_TCP_STREAMS", "integer", "1 to 16", "1", "", "range[1, 16]",
     "TCP connections between two ranks.", "Only here.",
     number<&Environment::hostTcpStreams, 1, 16>},
    {"HCCL_HOST_READ_KB", "integer", "0 to 1048576", "16", "KB", "range[0, 1048576]",
     "Least size of an input in plain memory that ranks of a server read straight from each "
     "other's "
     "processes (cross-memory attach) instead of through a copy in shared memory. 0: never.",
     "Only here. Where the kernel does not allow it, copies are made.",
     number<&Environment::readKb, 0, 1048576>},
    {"HCCL_HOST_RDMA_DIRECT_KB", "integer", "0 to 1048576", "128", "KB", "range[0, 1048576]",
     "Least size of messages that RDMA writes from and into registered memory without copies. 0: "
     "all are copied.",
     "Only here. Memory of aclrtMalloc and aclrtMallocHost, and what was registered with a "
     "communicator.",
     number<&Environment::rdmaDirectKb, 0, 1048576>},
    {"HCCL_HOST_RDMA_FLAG_POLLING", "list", "none, all, or names of RDMA devices", "none", "",
     "none, all, or a comma-separated list of RDMA devices",
     "Devices whose receivers look at flags in memory instead of completions. Only for devices "
     "that "
     "place the bytes of a connection in order.",
     "Only here. Both ends must name their device. A receiver that sleeps may be woken up to 20 ms "
     "late.",
     rdmaFlagPolling},
    {"HCCL_HOST_SPIN_US", "integer", "0 to 1000000", "automatic", "us", "range[0, 1000000]",
     "How long a waiting thread spins before it sleeps.",
     "Only here. Automatic: from the processors that the ranks share.",
     number<&Environment::hostSpinUs, 0, 1000000>},
    {"HCCL_HOST_HEARTBEAT_MS", "integer", "10 to 60000", "1000", "ms", "range[10, 60000]",
     "Time between two heartbeats of a rank to its neighbours in the heartbeat rings.",
     "Only here. HCCL_DFS_CONFIG=cluster_heartbeat:off ends them.",
     number<&Environment::hostHeartbeatMs, 10, 60000>},
    {"HCCL_HOST_HEARTBEAT_LOST_MS", "integer", "100 to 600000", "30000", "ms", "range[100, 600000]",
     "A neighbour that gave no sign for this time is LOST, and its communicators fail.",
     "Only here.", number<&Environment::hostHeartbeatLostMs, 100, 600000>},
    {"HCCL_HOST_STUCK_MS", "integer", "0 to 7200000", "0", "ms", "range[0, 7200000]",
     "Time between two looks for an operation that does not get on. 0: a third of "
     "HCCL_EXEC_TIMEOUT, at least 60 s.",
     "Only here. HCCL_DFS_CONFIG=stuck_detection:off ends them.",
     number<&Environment::hostStuckMs, 0, 7200000>},
    {"ASCEND_PROCESS_LOG_PATH", "path", "directory", "$HOME/ascend/log", "", "",
     "Root of the log: run/plog and debug/plog are made below it.", "Read by the log."},
    {"ASCEND_GLOBAL_LOG_LEVEL", "integer", "0 debug, 1 info, 2 warning, 3 error, 4 nothing", "3",
     "", "", "Lowest level that goes to debug/plog. The run log is always written.",
     "Read by the log."},
    {"ASCEND_MODULE_LOG_LEVEL", "list", "HCCL=level[:MODULE=level...]", "none", "", "",
     "Level of the module HCCL; comes before ASCEND_GLOBAL_LOG_LEVEL.", "Read by the log."},
    {"ASCEND_SLOG_PRINT_TO_STDOUT", "boolean", "0, 1", "0", "", "",
     "1 prints all log lines to standard output instead of files.", "Read by the log."},
    {"ASCEND_HOST_LOG_FILE_NUM", "integer", "1 to 1000", "10", "", "",
     "How many files of 20 MB a process keeps in each log directory; the oldest go.",
     "Read by the log."},
};

}  // namespace

std::span<const EnvVariable> environmentTable() {
  return kTable;
}

}  // namespace hccl
