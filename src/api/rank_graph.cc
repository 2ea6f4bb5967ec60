// Rank-graph queries.
#include "src/communicator/rank_graph.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/topology/host.h"

namespace hccl::api {
namespace {

using Ranks = std::vector<uint32_t>;

// Checks what all of these functions have in common, then asks `body` with the communicator.
template <typename Body>
Status ask(const char* op, HcclComm comm, std::initializer_list<NamedPointer> outputs,
           const Body& body) {
  HCCL_RETURN_IF_ERROR(checkPointers(op, {{comm, "comm"}}));
  HCCL_RETURN_IF_ERROR(checkPointers(op, outputs));
  std::shared_ptr<Communicator> communicator;
  HCCL_RETURN_IF_ERROR(findCommunicator(op, comm, &communicator));
  return body(*communicator);
}

void handOut(const Communicator& communicator, GraphArray which, Ranks values, uint32_t** array,
             uint32_t* number) {
  *number = static_cast<uint32_t>(values.size());
  *array = keepArray(&communicator, which, std::move(values));
}

Result<Ranks> ownInstance(const Communicator& communicator, uint32_t layer) {
  return graphInstanceOf(communicator.cluster(), layer, communicator.rank());
}

// Each rank is in one topology instance of a layer, number 0.
Status checkInstance(const char* op, uint32_t instance) {
  if (instance == 0) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(instance), "topoInstId", "0");
}

template <typename T>
Status writeInfo(const char* op, T value, uint32_t infoLen, void* info) {
  if (infoLen != sizeof(value)) {
    return argumentError(HCCL_E_PARA, op, std::to_string(infoLen), "infoLen",
                         std::to_string(sizeof(value)));
  }
  std::memcpy(info, &value, sizeof(value));
  return Status::ok();
}

}  // namespace

HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t** netLayers, uint32_t* netLayerNum) {
  return entry([&] {
    return ask("HcclRankGraphGetLayers", comm,
               {{netLayers, "netLayers"}, {netLayerNum, "netLayerNum"}},
               [&](const Communicator& communicator) {
                 handOut(communicator, GraphArray::kLayers, graphLayers(communicator.cluster()),
                         netLayers, netLayerNum);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer, uint32_t** ranks,
                                        uint32_t* rankNum) {
  return entry([&] {
    return ask("HcclRankGraphGetRanksByLayer", comm, {{ranks, "ranks"}, {rankNum, "rankNum"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_ASSIGN_OR_RETURN(Ranks own, ownInstance(communicator, netLayer));
                 handOut(communicator, GraphArray::kRanks, std::move(own), ranks, rankNum);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t* rankNum) {
  return entry([&] {
    return ask("HcclRankGraphGetRankSizeByLayer", comm, {{rankNum, "rankNum"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_ASSIGN_OR_RETURN(const Ranks own, ownInstance(communicator, netLayer));
                 *rankNum = static_cast<uint32_t>(own.size());
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo* topoType) {
  return entry([&] {
    return ask("HcclRankGraphGetTopoTypeByLayer", comm, {{topoType, "topoType"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_RETURN_IF_ERROR(ownInstance(communicator, netLayer).status());
                 *topoType = graphShape(netLayer);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm, uint32_t netLayer,
                                               uint32_t** instSizeList, uint32_t* listSize) {
  return entry([&] {
    return ask("HcclRankGraphGetInstSizeListByLayer", comm,
               {{instSizeList, "instSizeList"}, {listSize, "listSize"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_ASSIGN_OR_RETURN(const auto instances,
                                       graphInstances(communicator.cluster(), netLayer));
                 Ranks sizes;
                 for (const Ranks& ranks : instances) {
                   sizes.push_back(static_cast<uint32_t>(ranks.size()));
                 }
                 handOut(communicator, GraphArray::kInstanceSizes, std::move(sizes), instSizeList,
                         listSize);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
                                 uint32_t dstRank, CommLink** links, uint32_t* linkNum) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetLinks";
    return ask(kOp, comm, {{links, "links"}, {linkNum, "linkNum"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_RETURN_IF_ERROR(checkRank(kOp, srcRank, communicator.size(), "srcRank"));
                 HCCL_RETURN_IF_ERROR(checkRank(kOp, dstRank, communicator.size(), "dstRank"));
                 HCCL_ASSIGN_OR_RETURN(
                     auto found, graphLinks(communicator.cluster(), netLayer, srcRank, dstRank));
                 *linkNum = static_cast<uint32_t>(found.size());
                 *links = keepLinks(&communicator, std::move(found));
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer, uint32_t** topoInsts,
                                            uint32_t* topoInstNum) {
  return entry([&] {
    return ask("HcclRankGraphGetTopoInstsByLayer", comm,
               {{topoInsts, "topoInsts"}, {topoInstNum, "topoInstNum"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_RETURN_IF_ERROR(ownInstance(communicator, netLayer).status());
                 handOut(communicator, GraphArray::kTopoInstances, {0}, topoInsts, topoInstNum);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                    CommTopo* topoType) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetTopoType";
    return ask(kOp, comm, {{topoType, "topoType"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_RETURN_IF_ERROR(ownInstance(communicator, netLayer).status());
                 HCCL_RETURN_IF_ERROR(checkInstance(kOp, topoInstId));
                 *topoType = graphShape(netLayer);
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                           uint32_t** ranks, uint32_t* rankNum) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetRanksByTopoInst";
    return ask(kOp, comm, {{ranks, "ranks"}, {rankNum, "rankNum"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_ASSIGN_OR_RETURN(Ranks own, ownInstance(communicator, netLayer));
                 HCCL_RETURN_IF_ERROR(checkInstance(kOp, topoInstId));
                 handOut(communicator, GraphArray::kTopoRanks, std::move(own), ranks, rankNum);
                 return Status::ok();
               });
  });
}

HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode* mode) {
  return entry([&] {
    return ask("HcclGetHeterogMode", comm, {{mode, "mode"}}, [&](const Communicator&) {
      *mode = HCCL_HETEROG_MODE_HOMOGENEOUS;
      return Status::ok();
    });
  });
}

HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                       uint32_t* num) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetEndpointNum";
    return ask(kOp, comm, {{num, "num"}}, [&](const Communicator& communicator) -> Status {
      HCCL_RETURN_IF_ERROR(ownInstance(communicator, layer).status());
      HCCL_RETURN_IF_ERROR(checkInstance(kOp, topoInstId));
      *num = 1;
      return Status::ok();
    });
  });
}

HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                        uint32_t* descNum, EndpointDesc* endpointDesc) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetEndpointDesc";
    return ask(kOp, comm, {{descNum, "descNum"}, {endpointDesc, "endpointDesc"}},
               [&](const Communicator& communicator) -> Status {
                 HCCL_RETURN_IF_ERROR(checkInstance(kOp, topoInstId));
                 if (*descNum != 1) {
                   return argumentError(HCCL_E_PARA, kOp, std::to_string(*descNum), "*descNum",
                                        "1, the number of end points");
                 }
                 HCCL_ASSIGN_OR_RETURN(*endpointDesc, graphEndpoint(communicator.cluster(), layer,
                                                                    communicator.rank()));
                 return Status::ok();
               });
  });
}

HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
                                        const EndpointDesc* endpointDesc, EndpointAttr endpointAttr,
                                        uint32_t infoLen, void* info) {
  return entry([&] {
    constexpr const char* kOp = "HcclRankGraphGetEndpointInfo";
    return ask(
        kOp, comm, {{endpointDesc, "endpointDesc"}, {info, "info"}},
        [&](const Communicator& communicator) -> Status {
          HCCL_RETURN_IF_ERROR(checkRank(kOp, rankId, communicator.size(), "rankId"));
          const uint32_t device = communicator.cluster().ranks[rankId].deviceId;
          switch (static_cast<int32_t>(endpointAttr)) {
            case ENDPOINT_ATTR_BW_COEFF:
              return writeInfo(kOp, EndpointAttrBwCoeff{1}, infoLen, info);
            case ENDPOINT_ATTR_DIE_ID:
              return writeInfo(kOp, EndpointAttrDieId{deviceCore(device).numaNode}, infoLen, info);
            case ENDPOINT_ATTR_LOCATION:
              return writeInfo(kOp, static_cast<EndpointAttrLocation>(endpointDesc->loc.locType),
                               infoLen, info);
            default:
              return argumentError(HCCL_E_PARA, kOp,
                                   std::to_string(static_cast<int32_t>(endpointAttr)),
                                   "endpointAttr", "a value of EndpointAttr");
          }
        });
  });
}

}  // namespace hccl::api
