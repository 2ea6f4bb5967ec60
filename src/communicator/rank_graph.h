// What a communicator knows about the network between its ranks: layers of instances, out of its
// cluster. Layer 0 joins the ranks of a server, layer 1 the servers (of a super-pod, when there are
// super-pods), layer 2 the super-pods.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hccl/hccl_rank_graph.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"

namespace hccl {

// The layers that the cluster has, ascending.
std::vector<uint32_t> graphLayers(const Cluster& cluster);
// The instances of a layer, by their lowest rank; the ranks of each ascending. HCCL_E_PARA for a
// layer that the cluster does not have.
Result<std::vector<std::vector<uint32_t>>> graphInstances(const Cluster& cluster, uint32_t layer);
// The instance that `rank` belongs to.
Result<std::vector<uint32_t>> graphInstanceOf(const Cluster& cluster, uint32_t layer,
                                              uint32_t rank);
CommTopo graphShape(uint32_t layer);
// The ways from one rank to another in a layer: one, or none when the layer does not join them (the
// lowest layer that holds both does).
Result<std::vector<CommLink>> graphLinks(const Cluster& cluster, uint32_t layer, uint32_t source,
                                         uint32_t destination);
// The end point of a rank in a layer.
Result<EndpointDesc> graphEndpoint(const Cluster& cluster, uint32_t layer, uint32_t rank);

// Arrays that callers see belong to the library: the storage of an array of a communicator, by the
// function that hands it out. Its content is valid until the same function's next call.
enum class GraphArray { kLayers, kRanks, kInstanceSizes, kTopoInstances, kTopoRanks };
uint32_t* keepArray(const Communicator* communicator, GraphArray which,
                    std::vector<uint32_t> values);
CommLink* keepLinks(const Communicator* communicator, std::vector<CommLink> links);
void forgetRankGraph(const Communicator* communicator);

}  // namespace hccl
