/*
 * hccl_comm.h - communicators: how they are made, asked, configured and ended (libhcomm, libhccl).
 *
 * Unless a function says otherwise it returns HCCL_SUCCESS or
 *   HCCL_E_PTR          a pointer is NULL (EI0003)
 *   HCCL_E_PARA         a value is illegal, the handle is unknown, or, at the first call of the
 *                       process, an environment variable is illegal (EI0001)
 *   HCCL_E_UNAVAIL      after fork in the child, or a resource cannot be had
 *   HCCL_E_INTERNAL     a fault inside the library
 * and the text of the error can be read with aclGetRecentErrMsg. Functions that create or destroy
 * communicators block until they are done; they may be called from several threads.
 */
#ifndef HCCL_COMM_H_
#define HCCL_COMM_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl_types.h"

/*
 * Programs may compare the newer functions with NULL, to learn whether a library has them. The old
 * ones are strong, so that a program that calls nothing else keeps the library under --as-needed.
 */
#ifndef HCOMM_WEAK_SYMBOL
#define HCOMM_WEAK_SYMBOL __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Creation and destruction ---- */

/*
 * Makes the root information that the ranks of one new communicator need. Call it on one rank, the
 * root, and carry the result to the others. Starts a listener inside the library and returns at
 * once; the listener ends when the communicator exists or the time of HCCL_CONNECT_TIMEOUT is over.
 * Needs a current device. Returns HCCL_E_UNAVAIL when no port can be listened on (EI0019).
 */
HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo);

/*
 * Joins the communicator of rootInfo as rank `rank` of nRanks, on the current device. All nRanks
 * must call it; it blocks until they have, at most HCCL_CONNECT_TIMEOUT (HCCL_E_TIMEOUT, EI0015).
 * Returns HCCL_E_PARA when nRanks is 0, rank >= nRanks, or rootInfo is not what HcclGetRootInfo
 * made.
 */
HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                HcclComm* comm);

/*
 * As HcclCommInitRootInfo, with settings (see HcclCommConfig). Also returns HCCL_E_PARA when config
 * was not made by HcclCommConfigInit, a setting is illegal, or its name is in use (EI0003).
 */
HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                      const HcclCommConfig* config, HcclComm* comm);

/*
 * As HcclGetRootInfo, for communicators with several roots: call it on nRoot ranks and carry all
 * results, in one order, to every rank.
 */
HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo);

/*
 * As HcclCommInitRootInfoConfig, with the nRoot root informations of rootInfoList, the same on
 * every rank; the work of the rendezvous is shared among the roots. nExtRoot must be 0; config may
 * be NULL. Returns HCCL_E_PARA unless 0 < nRoot <= nRanks.
 */
HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
                                        const HcclRootInfo* rootInfoList, uint32_t rank,
                                        uint32_t nExtRoot, const HcclCommConfig* config,
                                        HcclComm* comm);

/*
 * Joins the communicator that the rank table file clusterInfo describes (path of at most 4096
 * characters, ending ".json"), as rank `rank`, on the device that the table names. Its name is
 * "hccl_world_group". Blocks until all ranks have joined, at most HCCL_CONNECT_TIMEOUT.
 * Returns HCCL_E_PARA for an illegal path, table or rank (EI0004, EI0014); HCCL_E_UNAVAIL when the
 * process has such a communicator already.
 */
HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm);

/* As HcclCommInitClusterInfo, with settings (see HcclCommConfig). */
HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                         HcclCommConfig* config, HcclComm* comm);

/*
 * Makes a communicator of rankNum members of *comm: member i is rank rankIds[i] of the parent and
 * rank i of the new one; the caller is member subCommRankId. All members pass the same list and
 * subCommId. No message is exchanged. A rank that is no member passes rankIds NULL and subCommId
 * 0xFFFFFFFF: nothing is made and HCCL_SUCCESS returned. The name is "<parent>_sub_<subCommId>"
 * unless config gives one. Returns HCCL_E_PARA when only one of these two is passed, rankNum is 0,
 * subCommRankId >= rankNum, rankIds holds a duplicate or an unknown rank, or *comm is itself such a
 * sub-communicator.
 */
HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
                                   uint64_t subCommId, uint32_t subCommRankId,
                                   HcclCommConfig* config, HcclComm* subComm);

/*
 * Makes, in this process alone, a communicator of ndev ranks: rank i runs on device devices[i] and
 * its handle is written to comms[i] (room for ndev). Returns HCCL_E_PARA when ndev is 0 or a device
 * is illegal or repeated.
 */
HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms);

/*
 * Frees a communicator. Synchronise its streams first. NULL is accepted (with a warning in the
 * log). Returns HCCL_E_AGAIN when another thread is inside a call on it, HCCL_E_PARA for an unknown
 * handle.
 */
HcclResult HcclCommDestroy(HcclComm comm);

/* ---- Questions ---- */

/* Writes the number of ranks. */
HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize);

/* Writes the caller's rank, 0 .. size - 1. */
HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank);

/* Writes the name, with its final NUL; commName has room for 128 characters. */
HcclResult HcclGetCommName(HcclComm comm, char* commName);

/* Writes the communicator of this process that has the name. HCCL_E_NOT_FOUND when there is none.
 */
HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm);

/*
 * Writes the communicator's first error since it exists, without waiting: HCCL_SUCCESS,
 * HCCL_E_REMOTE (a peer or a link failed; EI0013 when a work request completed in error) or, with
 * HCCL_DFS_CONFIG inconsistent_check:on, HCCL_E_PARA (ranks called different operations, EI0005).
 */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError);

/* A short English text for a code. Never NULL; lives as long as the library. */
const char* HcclGetErrorString(HcclResult code);

/* How many HcclCommConfigCapability features this library knows: HCCL_COMM_CONFIG_RESERVED. */
uint32_t HcclGetCommConfigCapability(void);

/* ---- Barrier ---- */

/*
 * Adds a barrier to the stream: later tasks of it run when every rank's barrier has been reached.
 * Asynchronous. Moves no data. Returns HCCL_E_PTR for NULL stream or comm.
 */
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/* ---- Settings ---- */

/*
 * Changes a setting of the process, for existing communicators too. HCCL_DETERMINISTIC takes 0, 1
 * or 2 (else HCCL_E_PARA); the call has no effect, and succeeds, while the environment variable of
 * that name is set.
 */
HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);

/* Writes a setting of the process. */
HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue);

/* Prepares a configuration: every field as if not set. NULL is accepted. */
static inline void HcclCommConfigInit(HcclCommConfig* config) {
  struct {
    size_t size;
    uint32_t magicWord;
    uint32_t version;
    uint64_t reserved;
  } info;
  if (config == NULL) {
    return;
  }
  memset(config, 0, sizeof(*config));
  info.size = sizeof(HcclCommConfig);
  info.magicWord = HCCL_COMM_CONFIG_MAGIC_WORD;
  info.version = HCCL_COMM_CONFIG_VERSION;
  info.reserved = 0;
  memcpy(config->reserved, &info, HCCL_COMM_CONFIG_INFO_BYTES);
  config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
  config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
  config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
  config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
  config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
  config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
  config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
  config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
  config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

/* How operations are driven. On a host the answer is always HOST. */
typedef enum {
  HCCL_OP_EXPANSION_MODE_INVALID = -1,
  HCCL_OP_EXPANSION_MODE_AI_CPU = 0,
  HCCL_OP_EXPANSION_MODE_AIV = 1,
  HCCL_OP_EXPANSION_MODE_HOST = 2,
  HCCL_OP_EXPANSION_MODE_HOST_TS = 3,
  HCCL_OP_EXPANSION_MODE_CCU_MS = 4,
  HCCL_OP_EXPANSION_MODE_CCU_SCHED = 5,
  HCCL_OP_EXPANSION_AIV_ONLY = 6
} HcclOpExpansionMode;

typedef HcclOpExpansionMode HcclConfigTypeOpExpansionMode;

/* What HcclConfigGetInfo can be asked. */
typedef enum {
  HCCL_CONFIG_TYPE_INVALID = -1,
  HCCL_CONFIG_TYPE_OP_EXPANSION_MODE = 0,   /* HcclOpExpansionMode */
  HCCL_CONFIG_TYPE_HCCL_ALGO = 1,           /* text, infoLen >= HCCL_COMM_ALGO_MAX_LENGTH */
  HCCL_CONFIG_TYPE_UB_MULTI_CHANNEL_NUM = 2 /* not on a host: HCCL_E_NOT_SUPPORT */
} HcclConfigType;

/*
 * Writes the communicator's setting in force to info, which has room for infoLen bytes.
 * Returns HCCL_E_PARA when infoLen does not fit the type asked for.
 */
HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void* info);

/* ---- Suspension ---- */

/*
 * Marks the communicator suspended: collectives on it return HCCL_E_SUSPENDING until
 * HcclCommResume. End running operations with aclrtDeviceTaskAbort.
 */
HcclResult HcclCommSuspend(HcclComm comm) HCOMM_WEAK_SYMBOL;

/*
 * Brings a suspended communicator back, with fresh connections. Call it when all ranks agreed to;
 * blocks until they have called it.
 */
HcclResult HcclCommResume(HcclComm comm) HCOMM_WEAK_SYMBOL;

/* Writes the state of the communicator named commId; HCCL_COMM_STATUS_INVALID when there is none.
 */
HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status);

typedef HcclResult (*HcclCommStateCallback)(HcclComm comm, HcclCommStatePhase state, void* args);

/*
 * Registers cb under regName (shorter than 160 characters) to be called with args on the thread
 * that destroys or resumes a communicator of this process, before and after. A name that is
 * registered gets the new function.
 */
HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb, void* args);

/* ---- Memory registration ---- */

/*
 * Announces an address range of aclrtReserveMemAddress, whose active parts collectives may use
 * directly. alignment and flags must be 0. Local: nothing is exchanged.
 */
HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment,
                                  uint64_t flags) HCOMM_WEAK_SYMBOL;

/* Undoes HcclCommSetMemoryRange; the range must have no active part. */
HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) HCOMM_WEAK_SYMBOL;

/*
 * Activates size bytes at virPtr, mapped from handle, inside an announced range. offset and flags
 * must be 0.
 */
HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset,
                                      aclrtDrvMemHandle handle, uint64_t flags) HCOMM_WEAK_SYMBOL;

/* Undoes HcclCommActivateCommMemory. */
HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) HCOMM_WEAK_SYMBOL;

/*
 * Registers size bytes at addr as this rank's part of a symmetric window: all ranks call it, in the
 * same order and with the same size. flag must be 1 (0 is HCCL_E_PARA). Collectives on such memory
 * need no copy. Blocks until all ranks have called it.
 */
HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
                                  HcclCommSymWindow* winHandle, uint32_t flag);

/* Frees a window. All ranks call it; synchronise operations that use the memory first. */
HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);

/*
 * Writes the window that holds all size bytes at ptr, and the offset of ptr in it, in bytes.
 * HCCL_E_NOT_FOUND when there is none.
 */
HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size, HcclCommSymWindow* winHandle,
                             size_t* offset);

/*
 * Registers size bytes at addr with the communicator and writes a handle. flag must be 0. Local;
 * the memory stays the caller's.
 */
HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag);

/* Frees a handle of HcclCommRegister. */
HcclResult HcclCommDeregister(HcclComm comm, void* handle);

/*
 * Tells the peerRankNum ranks of peerRanks about registered memory and learns about theirs; each of
 * them must call it too. Blocks until they have, at most HCCL_CONNECT_TIMEOUT.
 */
HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                               uint32_t peerRankNum);

/* ---- Network devices ---- */

/*
 * Switches the nRanks ranks of `ranks` to their backup network device (useBackup[i]) or back to the
 * primary one. All ranks of the communicator call it with equal arguments while it is idle or
 * suspended. Returns HCCL_E_NOT_SUPPORT when a rank has no second device.
 */
HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                    uint32_t nRanks) HCOMM_WEAK_SYMBOL;

/* ---- Groups ---- */

/*
 * Opens a group: this thread's following HCCL calls are queued instead of run. Groups nest; only
 * the outermost end runs them. One group holds one kind of call: communicator management in one
 * process, collectives, or HcclSend and HcclRecv (HcclBatchSendRecv is not allowed).
 */
HcclResult HcclGroupStart(void);

/*
 * Closes a group and, if it is the outermost, runs it: communicators are made at the same time,
 * sends and receives of a communicator become one HcclBatchSendRecv. Handles are valid when it
 * returns. Returns HCCL_E_NOT_SUPPORT without HcclGroupStart or with mixed kinds; else the first
 * error.
 */
HcclResult HcclGroupEnd(void);

/* Writes whether the calling thread has an open group. */
HcclResult HcclGroupStatusGet(bool* isGroupEnabled);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_COMM_H_ */
