/*
 * hccl_sym_win.h - access to peers' parts of symmetric windows (libhcomm, libhccl). Windows
 * themselves are made with HcclCommSymWinRegister of hccl_comm.h.
 */
#ifndef HCCL_SYM_WIN_H
#define HCCL_SYM_WIN_H

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes an address of this process under which byte `offset` of peerRank's part of the window can
 * be loaded and stored; stores are seen by the peer. Valid until the window is freed. Returns
 * HCCL_E_PARA when offset is not inside the window or peerRank not in the communicator,
 * HCCL_E_NOT_SUPPORT when the peer is on another server or its memory cannot be mapped.
 */
HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
                                    void** ptr);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_SYM_WIN_H */
