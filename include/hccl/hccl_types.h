/*
 * hccl_types.h - handles, enumerations, structures and constants of the HCCL interface.
 * Valid C99, C++11 and later. Values and layouts are those of Ascend HCCL and never change.
 */
#ifndef HCCL_TYPES_H_
#define HCCL_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A communicator: one rank's membership in a group of ranks. Owned by the library. */
typedef void* HcclComm;

/* A connection handle of the one-sided interfaces. Owned by the library. */
typedef void* HcclConn;

/* A registered symmetric memory window (HcclCommSymWinRegister). Owned by the library. */
typedef void* HcclCommSymWindow;

/* What every HCCL function returns. */
typedef enum {
  HCCL_SUCCESS = 0,              /* done, or accepted when the function is asynchronous */
  HCCL_E_PARA = 1,               /* an argument has an illegal value */
  HCCL_E_PTR = 2,                /* a pointer is NULL */
  HCCL_E_MEMORY = 3,             /* memory could not be used as asked */
  HCCL_E_INTERNAL = 4,           /* a fault inside the library */
  HCCL_E_NOT_SUPPORT = 5,        /* this combination is not offered */
  HCCL_E_NOT_FOUND = 6,          /* no such object */
  HCCL_E_UNAVAIL = 7,            /* a resource cannot be had now */
  HCCL_E_SYSCALL = 8,            /* a system call failed */
  HCCL_E_TIMEOUT = 9,            /* a deadline passed */
  HCCL_E_OPEN_FILE_FAILURE = 10, /* a file could not be opened */
  HCCL_E_TCP_CONNECT = 11,       /* a TCP connection could not be made */
  HCCL_E_ROCE_CONNECT = 12,      /* an RDMA connection could not be made */
  HCCL_E_TCP_TRANSFER = 13,      /* a TCP connection failed in use */
  HCCL_E_ROCE_TRANSFER = 14,     /* an RDMA connection failed in use */
  HCCL_E_RUNTIME = 15,           /* the runtime (acl) reported an error */
  HCCL_E_DRV = 16,               /* a driver reported an error */
  HCCL_E_PROFILING = 17,         /* profiling reported an error */
  HCCL_E_CCE = 18,               /* kept for compatibility, never returned on a host */
  HCCL_E_NETWORK = 19,           /* a network interface reported an error */
  HCCL_E_AGAIN = 20,             /* in use: try again later */
  HCCL_E_REMOTE = 21,            /* a work request completed in error, or a peer failed */
  HCCL_E_SUSPENDING = 22,        /* the communicator is suspended */
  HCCL_E_OPRETRY_FAIL = 23,      /* the operation could not be run again */
  HCCL_E_OOM = 24,               /* out of memory */
  HCCL_E_IN_STATUS = 1041,       /* the error stands in a separate status argument */
  HCCL_E_RESERVED                /* one past the last code */
} HcclResult;

/* How ReduceScatter, AllReduce and Reduce combine elements. */
typedef enum {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3,
  HCCL_REDUCE_RESERVED = 255
} HcclReduceOp;

/* The type of one element. The value 13 is unused. */
typedef enum {
  HCCL_DATA_TYPE_INT8 = 0,
  HCCL_DATA_TYPE_INT16 = 1,
  HCCL_DATA_TYPE_INT32 = 2,
  HCCL_DATA_TYPE_FP16 = 3, /* IEEE 754 binary16 */
  HCCL_DATA_TYPE_FP32 = 4,
  HCCL_DATA_TYPE_INT64 = 5,
  HCCL_DATA_TYPE_UINT64 = 6,
  HCCL_DATA_TYPE_UINT8 = 7,
  HCCL_DATA_TYPE_UINT16 = 8,
  HCCL_DATA_TYPE_UINT32 = 9,
  HCCL_DATA_TYPE_FP64 = 10,
  HCCL_DATA_TYPE_BFP16 = 11,  /* bfloat16 */
  HCCL_DATA_TYPE_INT128 = 12, /* named only: every operation rejects it */
  HCCL_DATA_TYPE_HIF8 = 14,   /* the 8-bit types are moved, never reduced */
  HCCL_DATA_TYPE_FP8E4M3 = 15,
  HCCL_DATA_TYPE_FP8E5M2 = 16,
  HCCL_DATA_TYPE_FP8E8M0 = 17,
  HCCL_DATA_TYPE_RESERVED = 255
} HcclDataType;

/* Process-wide settings of HcclSetConfig and HcclGetConfig. */
typedef enum {
  HCCL_DETERMINISTIC = 0, /* 0 off, 1 on, 2 strict */
  HCCL_CONFIG_RESERVED
} HcclConfig;

typedef union HcclConfigValue {
  int32_t value;
} HcclConfigValue;

/* Constants: typed in C++, macros in C, where they size arrays too. Lengths include the final NUL.
 */
#ifdef __cplusplus
const uint32_t HCCL_ROOT_INFO_BYTES = 4108;
const uint32_t COMM_NAME_MAX_LENGTH = 128;
const uint32_t BUFFER_NAME_MAX_LENGTH = 128;
const uint32_t UDI_MAX_LENGTH = 128;
const uint32_t HCCL_COMM_ALGO_MAX_LENGTH = 1600;
const uint32_t HCCL_COMM_RETRY_ENABLE_MAX_LENGTH = 50;
const uint32_t HCCL_COMM_RETRY_PARAMS_MAX_LENGTH = 128;
const uint32_t HCCL_COMM_CONFIG_INFO_BYTES = 24;
const uint32_t HCCL_COMM_CONFIG_MAGIC_WORD = 0xf0f0f0f0u;
const uint32_t HCCL_COMM_CONFIG_VERSION = 11;
const uint32_t HCCL_COMM_DEFAULT_BUFFSIZE = 200;
const uint32_t HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET = 0xffffffffu;
const uint32_t HCCL_COMM_DEFAULT_DETERMINISTIC = 0;
const uint32_t HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET = 0xffffffffu;
const uint32_t HCCL_COMM_DEFAULT_OP_EXPANSION_MODE = 0;
const uint32_t HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET = 0xffffffffu;
const uint32_t HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET = 0xffffffffu;
const int32_t HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET = -1;
const uint32_t HCCL_COMM_QOS_CONFIG_NOT_SET = 0xffffffffu;
const uint64_t HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE = 16;
const uint32_t HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET = 0xffffffffu;
#else
#define HCCL_ROOT_INFO_BYTES 4108u
#define COMM_NAME_MAX_LENGTH 128u
#define BUFFER_NAME_MAX_LENGTH 128u
#define UDI_MAX_LENGTH 128u
#define HCCL_COMM_ALGO_MAX_LENGTH 1600u
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH 50u
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH 128u
#define HCCL_COMM_CONFIG_INFO_BYTES 24u
#define HCCL_COMM_CONFIG_MAGIC_WORD 0xf0f0f0f0u
#define HCCL_COMM_CONFIG_VERSION 11u
#define HCCL_COMM_DEFAULT_BUFFSIZE 200u
#define HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_DEFAULT_DETERMINISTIC 0u
#define HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_DEFAULT_OP_EXPANSION_MODE 0u
#define HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET 0xffffffffu
#define HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET (-1)
#define HCCL_COMM_QOS_CONFIG_NOT_SET 0xffffffffu
#define HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE 16u
#define HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET 0xffffffffu
#endif

/*
 * What ranks need in order to find the root. Made by HcclGetRootInfo on one rank and carried to the
 * others by the application, byte by byte (MPI_Bcast, a file, a store). It holds a secret: whoever
 * reads it can join.
 */
typedef struct HcclRootInfoDef {
  char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

/*
 * Settings of one communicator. Call HcclCommConfigInit first, then change what should differ: a
 * field left as it is takes the environment's value, then the default.
 */
typedef struct HcclCommConfigDef {
  char reserved[HCCL_COMM_CONFIG_INFO_BYTES]; /* size, magic word and version: not for the caller */
  uint32_t hcclBufferSize;                    /* staging buffer, MB, at least 1 */
  uint32_t hcclDeterministic;                 /* 0 off, 1 on, 2 strict */
  char hcclCommName[COMM_NAME_MAX_LENGTH];    /* unique among this process's communicators */
  char hcclUdi[UDI_MAX_LENGTH];               /* free text for logs */
  uint32_t hcclOpExpansionMode;  /* 0 default, 1 host; the others are accepted, see porting notes */
  uint32_t hcclRdmaTrafficClass; /* 0..255, a multiple of 4 */
  uint32_t hcclRdmaServiceLevel; /* 0..7 */
  uint32_t hcclWorldRankID;      /* this rank's number in the whole job, for logs */
  uint64_t hcclJobID;            /* the job's number, for logs */
  uint8_t aclGraphZeroCopyEnable; /* 0 or 1 */
  int32_t hcclExecTimeOut;        /* seconds that an operation waits for a peer, 0 = for ever */
  char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];                /* grammar of HCCL_ALGO */
  char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH]; /* grammar of HCCL_OP_RETRY_ENABLE */
  char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH]; /* grammar of HCCL_OP_RETRY_PARAMS */
  char hcclBufferName[BUFFER_NAME_MAX_LENGTH]; /* communicators of one name share staging */
  uint32_t hcclQos;
  uint64_t hcclSymWinMaxMemSizePerRank; /* GB that symmetric windows may take per rank */
  uint32_t hcclChannelSqDepth;          /* send queue entries per RDMA channel */
} HcclCommConfig;

/* Field i of HcclCommConfig is understood if HcclGetCommConfigCapability() > i. */
typedef enum {
  HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
  HCCL_COMM_CONFIG_DETERMINISTIC = 1,
  HCCL_COMM_CONFIG_COMM_NAME = 2,
  HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
  HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
  HCCL_COMM_CONFIG_WORLD_RANKID = 5,
  HCCL_COMM_CONFIG_JOBID = 6,
  HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
  HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
  HCCL_COMM_CONFIG_ALGO = 9,
  HCCL_COMM_CONFIG_RETRY = 10,
  HCCL_COMM_CONFIG_BUFFER_NAME = 11,
  HCCL_COMM_CONFIG_RESERVED
} HcclCommConfigCapability;

typedef enum { HCCL_SEND = 0, HCCL_RECV = 1, HCCL_SEND_RECV_RESERVED } HcclSendRecvType;

/* One entry of HcclBatchSendRecv. */
typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void* buf;             /* count elements */
  uint64_t count;        /* elements */
  HcclDataType dataType; /* the same at both ends */
  uint32_t remoteRank;   /* may be this rank */
} HcclSendRecvItem;

/* Operation kinds, as they appear in logs and consistency checks. */
typedef enum {
  HCCL_CMD_INVALID = 0,
  HCCL_CMD_BROADCAST = 1,
  HCCL_CMD_ALLREDUCE = 2,
  HCCL_CMD_REDUCE = 3,
  HCCL_CMD_SEND = 4,
  HCCL_CMD_RECEIVE = 5,
  HCCL_CMD_ALLGATHER = 6,
  HCCL_CMD_REDUCE_SCATTER = 7,
  HCCL_CMD_ALLTOALLV = 8,
  HCCL_CMD_ALLTOALLVC = 9,
  HCCL_CMD_ALLTOALL = 10,
  HCCL_CMD_GATHER = 11,
  HCCL_CMD_SCATTER = 12,
  HCCL_CMD_BATCH_SEND_RECV = 13,
  HCCL_CMD_BATCH_PUT = 14,
  HCCL_CMD_BATCH_GET = 15,
  HCCL_CMD_ALLGATHER_V = 16,
  HCCL_CMD_REDUCE_SCATTER_V = 17,
  HCCL_CMD_BATCH_WRITE = 18,
  HCCL_CMD_HALF_ALLTOALLV = 20,
  HCCL_CMD_ALL = 21,
  HCCL_CMD_FINALIZE = 100,
  HCCL_CMD_INTER_GROUP_SYNC = 101,
  HCCL_CMD_INIT = 102,
  HCCL_CMD_BARRIER = 103,
  HCCL_CMD_MAX = 104
} HcclCMDType;

/* What HcclCommGetStatus tells. */
typedef enum {
  HCCL_COMM_STATUS_READY = 0,
  HCCL_COMM_STATUS_SUSPENDING = 1,
  HCCL_COMM_STATUS_INVALID = 254, /* no such communicator */
  HCCL_COMM_STATUS_RESERVED = 255
} HcclCommStatus;

/* When a callback of HcclCommRegCommStateCallback runs. */
typedef enum {
  HCCL_COMM_STATE_PHASE_INVALID = -1,
  HCCL_COMM_STATE_PHASE_DESTROY_PRE = 0,
  HCCL_COMM_STATE_PHASE_DESTROY_POST = 1,
  HCCL_COMM_STATE_PHASE_RESUME_PRE = 2,
  HCCL_COMM_STATE_PHASE_RESUME_POST = 3
} HcclCommStatePhase;

#ifdef __cplusplus
}
#endif

#endif /* HCCL_TYPES_H_ */
