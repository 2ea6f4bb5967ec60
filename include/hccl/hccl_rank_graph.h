/*
 * hccl_rank_graph.h - what a communicator knows about the network between its ranks (libhcomm,
 * libhccl).
 *
 * The ranks of a communicator form layers. Layer 0 joins the ranks of one server, layer 1 the
 * servers (a rank's instance of layer 1 is therefore the whole communicator, or its super pod),
 * layer 2 the super pods. A layer of one rank table level that is not there is not listed. Arrays
 * that functions hand out belong to the library and stay valid until the next call of the same
 * function on the communicator. Errors as in hccl_comm.h; an unknown layer or instance is
 * HCCL_E_PARA.
 */
#ifndef HCCL_RANK_GRAPH_H
#define HCCL_RANK_GRAPH_H

#include "hccl/hccl_res.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What HcclRankGraphGetEndpointInfo can be asked, and the type of the answer. */
typedef enum {
  ENDPOINT_ATTR_INVALID = -1,
  ENDPOINT_ATTR_BW_COEFF = 0, /* EndpointAttrBwCoeff */
  ENDPOINT_ATTR_DIE_ID = 1,   /* EndpointAttrDieId */
  ENDPOINT_ATTR_LOCATION = 2  /* EndpointAttrLocation, an EndpointLocType */
} EndpointAttr;

typedef uint32_t EndpointAttrBwCoeff;
typedef uint32_t EndpointAttrDieId; /* the NUMA node */
typedef uint32_t EndpointAttrLocation;

/* The shape of a layer. Hosts have 1DMESH inside a server and CLOS above. */
typedef enum {
  COMM_TOPO_RESERVED = -1,
  COMM_TOPO_CLOS = 0,
  COMM_TOPO_1DMESH = 1,
  COMM_TOPO_910_93 = 2,
  COMM_TOPO_310P = 3,
  COMM_TOPO_A2AXSERVER = 4,
  COMM_TOPO_CUSTOM = 5
} CommTopo;

/* Whether processors differ. Hosts answer HOMOGENEOUS. */
typedef enum {
  HCCL_HETEROG_MODE_INVALID = -1,
  HCCL_HETEROG_MODE_HOMOGENEOUS = 0,
  HCCL_HETEROG_MODE_MIX_A2_A3 = 1
} HcclHeterogMode;

#ifdef __cplusplus
const uint32_t COMM_LINK_MAGIC_WORD = 0x0f0e0f0fu;
const uint32_t COMM_LINK_VERSION = 1;
#else
#define COMM_LINK_MAGIC_WORD 0x0f0e0f0fu
#define COMM_LINK_VERSION 1u
#endif

/* A way between two ranks. */
typedef struct {
  CommAbiHeader header;
  EndpointDesc srcEndpointDesc;
  EndpointDesc dstEndpointDesc;
  union {
    uint8_t raws[128];
    __extension__ struct {
      CommProtocol linkProtocol;
      uint8_t hop; /* 1 */
    };
  } linkAttr;
} CommLink;

/* Sets linkNum links to "nothing", with valid headers. HCCL_E_PTR for NULL with linkNum > 0. */
static inline HcclResult CommLinkInit(CommLink* commLink, uint32_t linkNum) {
  uint32_t i;
  for (i = 0; i < linkNum; ++i) {
    if (commLink == NULL) {
      return HCCL_E_PTR;
    }
    memset(&commLink[i], 0xFF, sizeof(CommLink));
    commLink[i].header.version = COMM_LINK_VERSION;
    commLink[i].header.magicWord = COMM_LINK_MAGIC_WORD;
    commLink[i].header.size = (uint32_t)sizeof(CommLink);
    commLink[i].header.reserved = 0;
    (void)EndpointDescInit(&commLink[i].srcEndpointDesc, 1);
    (void)EndpointDescInit(&commLink[i].dstEndpointDesc, 1);
    commLink[i].linkAttr.linkProtocol = COMM_PROTOCOL_RESERVED;
    commLink[i].linkAttr.hop = 1;
  }
  return HCCL_SUCCESS;
}

/* Writes the numbers of the layers, ascending, and how many there are. */
HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t** netLayers, uint32_t* netLayerNum);

/* Writes the ranks, ascending, of the caller's instance of a layer. */
HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer, uint32_t** ranks,
                                        uint32_t* rankNum);

/* Writes how many ranks the caller's instance of a layer has. */
HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t* rankNum);

/* Writes the shape of a layer. */
HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo* topoType);

/* Writes the sizes, in ranks, of all instances of a layer, in the order of their lowest ranks. */
HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm, uint32_t netLayer,
                                               uint32_t** instSizeList, uint32_t* listSize);

/*
 * Writes the ways from srcRank to dstRank in a layer; linkNum is 0 when the layer does not join
 * them.
 */
HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
                                 uint32_t dstRank, CommLink** links, uint32_t* linkNum);

/* Writes the numbers of the topology instances of a layer that hold the caller (one: 0). */
HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer, uint32_t** topoInsts,
                                            uint32_t* topoInstNum);

/* Writes the shape of a topology instance. */
HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                    CommTopo* topoType);

/* Writes the ranks of a topology instance. */
HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                           uint32_t** ranks, uint32_t* rankNum);

/* Writes whether the ranks run on different processors. */
HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode* mode);

/* Writes how many end points the caller has in a topology instance. */
HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                       uint32_t* num);

/*
 * Writes the caller's end points to endpointDesc, an array of the caller with *descNum entries,
 * which must be the number of HcclRankGraphGetEndpointNum (else HCCL_E_PARA).
 */
HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                        uint32_t* descNum, EndpointDesc* endpointDesc);

/*
 * Writes one attribute of an end point of rankId; infoLen must be the size of its type.
 */
HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
                                        const EndpointDesc* endpointDesc, EndpointAttr endpointAttr,
                                        uint32_t infoLen, void* info);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_RANK_GRAPH_H */
