/*
 * hccl.h - collective operations (libhccl). Brings in communicator management and the acl types, so
 * that a program needs no other header.
 *
 * Every operation here is asynchronous: it checks its arguments, adds the operation to `stream` and
 * returns. Buffers must stay valid, and outputs hold nothing final, until the stream has passed it
 * (aclrtSynchronizeStream, events). All ranks of `comm` must call the same operations in the same
 * order with matching arguments; calls on one communicator come from one thread at a time.
 *
 * Counts and displacements are in elements of the data type, 64 bits wide. Arrays of counts and
 * displacements are read during the call. Buffers may be any memory of the process; memory of
 * aclrtMalloc is the fastest. No alignment is asked for. Buffers that partly overlap are refused
 * (HCCL_E_PARA, EI0003); `in place` below says which may be equal.
 *
 * Data types. Operations that only move data take INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64
 * FP16 FP32 FP64 BFP16 HIF8 FP8E4M3 FP8E5M2 FP8E8M0. Operations that reduce take SUM, MAX and MIN
 * on INT8 INT16 INT32 INT64 UINT64 FP16 FP32 FP64 BFP16, and PROD on the same without INT16 and
 * BFP16. Integers wrap on overflow; floating point rounds to nearest even, MAX and MIN propagate
 * NaN.
 *
 * Common results, in the order of the checks: HCCL_SUCCESS for count 0, without any effect (all
 * counts 0 for the operations with count arrays); HCCL_E_PTR for a NULL stream, communicator or
 * buffer (EI0003); HCCL_E_PARA for a count above 34359738367 or a rank outside the communicator;
 * HCCL_E_NOT_SUPPORT for a data type or reduction that the operation does not take (EI0003);
 * HCCL_E_SUSPENDING on a suspended communicator; HCCL_E_UNAVAIL after fork in the child; link
 * set-up errors such as HCCL_E_TIMEOUT (EI0006) at the first operation between two ranks. What goes
 * wrong later is returned by aclrtSynchronizeStream and HcclGetCommAsyncError. Each error leaves a
 * text for aclGetRecentErrMsg.
 */
#ifndef HCCL_H_
#define HCCL_H_

#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * recvBuf[i] = sendBuf of rank 0 [i] op ... op sendBuf of the last rank [i], on every rank.
 * sendBuf and recvBuf hold count elements. In place: sendBuf == recvBuf.
 */
HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, HcclComm comm, aclrtStream stream);

/*
 * Copies root's buf to buf of every other rank. buf holds count elements.
 */
HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                         HcclComm comm, aclrtStream stream);

/*
 * As HcclAllReduce, with the result on root only; the other ranks' recvBuf may be used for
 * intermediate results but must not be NULL. sendBuf and recvBuf hold count elements. In place:
 * sendBuf == recvBuf.
 */
HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);

/*
 * Reduces as HcclAllReduce; rank r gets elements [r * recvCount, (r + 1) * recvCount) of the
 * result. sendBuf holds recvCount * size elements, recvBuf recvCount. In place: recvBuf == sendBuf,
 * or recvBuf
 * == the caller's part of sendBuf.
 */
HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream);

/*
 * As HcclReduceScatter with parts of different sizes: rank r gets the sendCounts[r] elements that
 * begin at sendDispls[r]. sendCounts and sendDispls are arrays of uint64_t, size entries each,
 * equal on all ranks; recvBuf holds recvCount == sendCounts[rank] elements (else HCCL_E_PARA). Not
 * in place: recvBuf must differ from sendBuf. A buffer may be NULL when its counts are 0.
 */
HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                              void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm, aclrtStream stream);

/*
 * Joins all ranks' sendBuf in recvBuf of every rank: rank r's part begins at element r * sendCount.
 * sendBuf holds sendCount elements, recvBuf sendCount * size. In place: sendBuf == the caller's
 * part of recvBuf, or sendBuf == recvBuf.
 */
HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream);

/*
 * As HcclAllGather with parts of different sizes: rank r's recvCounts[r] elements begin at
 * recvDispls[r]. recvCounts and recvDispls are arrays of uint64_t, size entries each, equal on all
 * ranks; sendBuf holds sendCount == recvCounts[rank] elements (else HCCL_E_PARA). Not in place:
 * recvBuf must differ from sendBuf. A buffer may be NULL when its counts are 0.
 */
HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                          const void* recvDispls, HcclDataType dataType, HcclComm comm,
                          aclrtStream stream);

/*
 * Cuts root's sendBuf into parts of recvCount elements and gives part r to rank r. sendBuf holds
 * recvCount * size elements on root and may be NULL elsewhere; recvBuf holds recvCount. In place:
 * on root, recvBuf == its part of sendBuf.
 */
HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream);

/*
 * Sends sendCount elements to each rank and gets as many from each: part r of sendBuf goes to rank
 * r, part r of recvBuf comes from rank r. Both buffers hold sendCount * size elements. Not in
 * place. Returns HCCL_E_PARA unless sendCount == recvCount, sendType == recvType and sendBuf !=
 * recvBuf.
 */
HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream);

/*
 * As HcclAlltoAll with parts of different sizes: sendCounts[r] elements at sdispls[r] of sendBuf go
 * to rank r, recvCounts[r] elements from rank r go to rdispls[r] of recvBuf. The four arrays hold
 * size entries of uint64_t; recvCounts[r] must equal rank r's sendCounts for the caller. Not in
 * place (HCCL_E_PARA). A buffer may be NULL when all its counts are 0.
 */
HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                         HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                         const void* rdispls, HcclDataType recvType, HcclComm comm,
                         aclrtStream stream);

/*
 * As HcclAlltoAllV with the counts of all ranks: entry [i * size + j] of the uint64_t matrix
 * sendCountMatrix, equal on all ranks, is how many elements rank i sends to rank j. Parts lie one
 * after the other in both buffers, in the order of ranks. Not in place (HCCL_E_PARA). A buffer may
 * be NULL when all its counts are 0.
 */
HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                          const void* recvBuf, HcclDataType recvType, HcclComm comm,
                          aclrtStream stream);

/*
 * Sends count elements of sendBuf to destRank, which must call HcclRecv with the same count and
 * type. Sends to one rank match its receives in order and wait for no other rank. Returns
 * HCCL_E_NOT_SUPPORT when destRank is the caller.
 */
HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                    HcclComm comm, aclrtStream stream);

/*
 * Receives count elements from srcRank into recvBuf; see HcclSend. Returns HCCL_E_NOT_SUPPORT when
 * srcRank is the caller.
 */
HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                    HcclComm comm, aclrtStream stream);

/*
 * Runs itemNum sends and receives at the same time, as one operation. Per peer, sends match the
 * peer's receives in the order of the lists; the order of different items never deadlocks. An item
 * may name the caller itself: its sends match its own receives. The array is read during the call.
 * itemNum 0 does nothing.
 */
HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                             aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_H_ */
