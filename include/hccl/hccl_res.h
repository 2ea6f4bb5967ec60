/*
 * hccl_res.h - resources of a communicator and descriptions of its end points (libhcomm, libhccl).
 * The interfaces of Ascend HCCL for kernels that run on a device (threads, channels, engine
 * contexts) have no meaning on a host and are not declared.
 */
#ifndef HCCL_RES_H
#define HCCL_RES_H

#include <netinet/in.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins every structure that may grow. */
typedef struct {
  uint32_t version;
  uint32_t magicWord;
  uint32_t size; /* bytes of the whole structure */
  uint32_t reserved;
} CommAbiHeader;

/* How two end points talk. Hosts use ROCE, and PCIE to say "inside one server, by memory". */
typedef enum {
  COMM_PROTOCOL_RESERVED = -1,
  COMM_PROTOCOL_HCCS = 0,
  COMM_PROTOCOL_ROCE = 1,
  COMM_PROTOCOL_PCIE = 2,
  COMM_PROTOCOL_SIO = 3,
  COMM_PROTOCOL_UBC_CTP = 4,
  COMM_PROTOCOL_UBC_TP = 5,
  COMM_PROTOCOL_UB_MEM = 6,
  COMM_PROTOCOL_UBOE = 7,
  COMM_PROTOCOL_HCCS_ONLY = 8
} CommProtocol;

typedef enum {
  COMM_ADDR_TYPE_RESERVED = -1,
  COMM_ADDR_TYPE_IP_V4 = 0,
  COMM_ADDR_TYPE_IP_V6 = 1,
  COMM_ADDR_TYPE_ID = 2,
  COMM_ADDR_TYPE_EID = 3
} CommAddrType;

/* The address of an end point. */
typedef struct {
  CommAddrType type;
  __extension__ union {
    uint8_t raws[36];
    struct in_addr addr;   /* IP_V4 */
    struct in6_addr addr6; /* IP_V6 */
    uint32_t id;           /* ID */
    uint8_t eid[16];       /* EID */
  };
} CommAddr;

typedef enum {
  ENDPOINT_LOC_TYPE_RESERVED = -1,
  ENDPOINT_LOC_TYPE_DEVICE = 0,
  ENDPOINT_LOC_TYPE_HOST = 1
} EndpointLocType;

/* Where an end point is. */
typedef struct {
  EndpointLocType locType;
  __extension__ union {
    uint8_t raws[60];
    struct {
      uint32_t devPhyId;
      uint32_t superDevId;
      uint32_t serverIdx;
      uint32_t superPodIdx;
    } device; /* DEVICE */
    struct {
      uint32_t id;
    } host; /* HOST */
  };
} EndpointLoc;

/* One end of links: a network interface, or the memory of a server. */
typedef struct {
  CommProtocol protocol;
  CommAddr commAddr;
  EndpointLoc loc;
  __extension__ union { uint8_t raws[52]; };
} EndpointDesc;

/*
 * Sets num descriptions to "nothing": all bytes 0xFF, kinds RESERVED. Returns 0, or HCCL_E_PTR for
 * NULL with num > 0.
 */
static inline int32_t EndpointDescInit(EndpointDesc* endpoint, uint32_t num) {
  uint32_t i;
  for (i = 0; i < num; ++i) {
    if (endpoint == NULL) {
      return (int32_t)HCCL_E_PTR;
    }
    memset(&endpoint[i], 0xFF, sizeof(EndpointDesc));
    endpoint[i].protocol = COMM_PROTOCOL_RESERVED;
    endpoint[i].commAddr.type = COMM_ADDR_TYPE_RESERVED;
    endpoint[i].loc.locType = ENDPOINT_LOC_TYPE_RESERVED;
  }
  return 0;
}

/*
 * Writes the address and the size in bytes of the communicator's staging buffer, which the library
 * owns and allocates at the first call; peers on the server can map it. Do not use it while
 * collectives of the communicator run.
 */
HcclResult HcclGetHcclBuffer(HcclComm comm, void** buffer, uint64_t* size);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_RES_H */
