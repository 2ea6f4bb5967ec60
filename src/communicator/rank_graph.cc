#include "src/communicator/rank_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "src/base/ip_address.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

// Arrays handed out, by communicator and function. One mutex: these are rare calls.
std::mutex mutex;
struct Kept {
  std::map<GraphArray, std::vector<uint32_t>> arrays;
  std::vector<CommLink> links;
};
std::map<const Communicator*, Kept>& keptArrays() {
  static auto* all = new std::map<const Communicator*, Kept>;  // lives until the process ends
  return *all;
}

Status unknownLayer(uint32_t layer) {
  return argumentError(HCCL_E_PARA, "HcclRankGraph", std::to_string(layer), "netLayer",
                       "a layer of HcclRankGraphGetLayers");
}

std::vector<uint32_t> allRanks(const Cluster& cluster) {
  std::vector<uint32_t> ranks(cluster.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

bool hasLayer(const Cluster& cluster, uint32_t layer) {
  const std::vector<uint32_t> layers = graphLayers(cluster);
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

void setAddress(const RankInfo& info, CommAddr& address) {
  const auto ip = IpAddress::parse(info.address());
  if (!ip) {
    address.type = COMM_ADDR_TYPE_ID;
    address.id = info.rank;
    return;
  }
  address.type = ip->isV6() ? COMM_ADDR_TYPE_IP_V6 : COMM_ADDR_TYPE_IP_V4;
  std::memcpy(address.raws, ip->bytes().data(), ip->isV6() ? 16 : 4);
}

void setLocation(const Cluster& cluster, const RankInfo& info, EndpointLoc& loc) {
  if (info.hostNic) {
    loc.locType = ENDPOINT_LOC_TYPE_HOST;
    loc.host.id = cluster.serverIndex(info.rank);
    return;
  }
  loc.locType = ENDPOINT_LOC_TYPE_DEVICE;
  loc.device.devPhyId = info.deviceId;
  const auto& text = info.superDeviceId;
  uint32_t superDevice = 0xffffffff;  // none
  (void)std::from_chars(text.data(), text.data() + text.size(), superDevice);
  loc.device.superDevId = superDevice;
  loc.device.serverIdx = cluster.serverIndex(info.rank);
  loc.device.superPodIdx = cluster.superPodIndex(info.rank);
}

}  // namespace

std::vector<uint32_t> graphLayers(const Cluster& cluster) {
  std::vector<uint32_t> layers{0};
  if (cluster.servers().size() > 1) layers.push_back(1);
  if (cluster.superPods().size() > 1) layers.push_back(2);
  return layers;
}

Result<std::vector<std::vector<uint32_t>>> graphInstances(const Cluster& cluster, uint32_t layer) {
  if (!hasLayer(cluster, layer)) return unknownLayer(layer);
  std::vector<std::vector<uint32_t>> instances;
  if (layer == 0) {
    for (ServerGroup& server : cluster.servers()) instances.push_back(std::move(server.ranks));
  } else if (layer == 1 && cluster.superPods().size() > 1) {
    for (SuperPodGroup& pod : cluster.superPods()) instances.push_back(std::move(pod.ranks));
  } else {
    instances.push_back(allRanks(cluster));
  }
  return instances;
}

Result<std::vector<uint32_t>> graphInstanceOf(const Cluster& cluster, uint32_t layer,
                                              uint32_t rank) {
  HCCL_ASSIGN_OR_RETURN(auto instances, graphInstances(cluster, layer));
  for (std::vector<uint32_t>& ranks : instances) {
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) return std::move(ranks);
  }
  return Status(HCCL_E_INTERNAL, fmt::format("rank {} is in no instance of layer {}", rank, layer));
}

CommTopo graphShape(uint32_t layer) {
  return layer == 0 ? COMM_TOPO_1DMESH : COMM_TOPO_CLOS;
}

Result<EndpointDesc> graphEndpoint(const Cluster& cluster, uint32_t layer, uint32_t rank) {
  if (!hasLayer(cluster, layer)) return unknownLayer(layer);
  EndpointDesc description;
  (void)EndpointDescInit(&description, 1);
  const RankInfo& info = cluster.ranks[rank];
  if (layer == 0) {
    description.protocol = COMM_PROTOCOL_PCIE;
    description.commAddr.type = COMM_ADDR_TYPE_ID;
    description.commAddr.id = info.deviceId;
  } else {
    description.protocol = COMM_PROTOCOL_ROCE;
    setAddress(info, description.commAddr);
  }
  setLocation(cluster, info, description.loc);
  return description;
}

Result<std::vector<CommLink>> graphLinks(const Cluster& cluster, uint32_t layer, uint32_t source,
                                         uint32_t destination) {
  HCCL_ASSIGN_OR_RETURN(const std::vector<uint32_t> together,
                        graphInstanceOf(cluster, layer, source));
  std::vector<CommLink> links;
  if (source == destination) return links;
  if (!std::binary_search(together.begin(), together.end(), destination)) return links;
  for (uint32_t lower = 0; lower < layer; ++lower) {
    HCCL_ASSIGN_OR_RETURN(const std::vector<uint32_t> closer,
                          graphInstanceOf(cluster, lower, source));
    if (std::binary_search(closer.begin(), closer.end(), destination)) return links;
  }
  CommLink& link = links.emplace_back();
  (void)CommLinkInit(&link, 1);
  HCCL_ASSIGN_OR_RETURN(link.srcEndpointDesc, graphEndpoint(cluster, layer, source));
  HCCL_ASSIGN_OR_RETURN(link.dstEndpointDesc, graphEndpoint(cluster, layer, destination));
  link.linkAttr.linkProtocol = link.srcEndpointDesc.protocol;
  link.linkAttr.hop = 1;
  return links;
}

uint32_t* keepArray(const Communicator* communicator, GraphArray which,
                    std::vector<uint32_t> values) {
  std::lock_guard lock(mutex);
  std::vector<uint32_t>& array = keptArrays()[communicator].arrays[which];
  array = std::move(values);
  return array.data();
}

CommLink* keepLinks(const Communicator* communicator, std::vector<CommLink> links) {
  std::lock_guard lock(mutex);
  std::vector<CommLink>& array = keptArrays()[communicator].links;
  array = std::move(links);
  return array.data();
}

void forgetRankGraph(const Communicator* communicator) {
  std::lock_guard lock(mutex);
  keptArrays().erase(communicator);
}

}  // namespace hccl
