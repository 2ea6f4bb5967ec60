/*
 * hcom.h - the group interface that graph frameworks use: one world per process, groups by name
 * (libhcomm, libhccl). `group` NULL means "hccl_world_group". All functions return HCCL_E_PTR for
 * other NULL pointers, HCCL_E_PARA for an illegal or unknown name, HCCL_E_UNAVAIL before
 * HcomInitByRankTable.
 */
#ifndef HCCL_HCOM_H_
#define HCCL_HCOM_H_

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Joins the world that the rank table rankTable (its text, not a path) describes as rank rankId.
 * Blocks until all ranks have joined. HCCL_E_UNAVAIL when the process has joined already.
 */
HcclResult HcomInitByRankTable(const char* rankTable, uint32_t rankId);

/* Leaves the world and frees all groups. */
HcclResult HcomDestroy(void);

/*
 * Makes the group of rankNum world ranks rankIds; all members call it with the same list. A
 * member's rank in the group is its place in the list.
 */
HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds);

/* Frees a group. The world cannot be freed this way (HCCL_E_PARA). */
HcclResult HcomDestroyGroup(const char* group);

/* Writes the group's communicator, owned by the group. */
HcclResult HcomGetCommHandleByGroup(const char* group, HcclComm* commHandle);

/* Writes the number of ranks of the group. */
HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize);

/* Writes the caller's rank in the group. */
HcclResult HcomGetRankId(const char* group, uint32_t* rankId);

/* Writes how many ranks of the group run on the caller's server. */
HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize);

/* Writes the caller's place among the ranks of the group on its server. */
HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId);

/* Writes the world rank of a rank of the group. */
HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
                                         uint32_t* worldRank);

/* Writes the rank in the group of a world rank. HCCL_E_PARA when it is no member. */
HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
                                         uint32_t* groupRank);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCOM_H_ */
