// The registry: one row an algorithm. Ids travel in signatures, never change, and are below 32.
#include "algorithms/algorithms.h"

namespace hccl::plan {

const std::vector<AlgorithmRow>& algorithmRows() {
  static const std::vector<AlgorithmRow> rows = {
      {1, "fullmesh", "fullmesh", "direct links between all ranks, one step", &algorithms::mesh()},
      {2, "ring", "ring", "neighbour to neighbour, bandwidth optimal", &algorithms::ring()},
      {3, "NHR", "NHR", "log2 steps at ring's volume, any rank count; trees for small data",
       &algorithms::nhr()},
      {5, "NB", "NB", "as NHR with growing messages (nonuniform Bruck)", &algorithms::nb()},
      {6, "H-D_R", "H-D", "recursive halving and doubling, pairs for other than powers of two",
       &algorithms::halvingDoubling()},
      {4, "pairwise", "pairwise", "AlltoAll with one partner at a time", &algorithms::pairwise()},
      {7, "NHR_V1", "NHR_V1", "rings along the rows and columns of a grid", &algorithms::nhrV1()},
      {8, "pipeline", "pipeline", "ring between servers, overlapped with the exchange inside",
       &algorithms::pipeline()},
      {9, "AHC", "AHC", "servers or super-pods of unequal sizes, all members take part",
       &algorithms::ahc()},
      {10, "AHC_BROKE", "AHC_BROKE", "as AHC, as many members of each as the smallest has",
       &algorithms::ahcBroke()},
      {11, "star", "star", "one member talks to all others", &algorithms::star()},
      {12, "doubling", "doubling", "AllReduce of small data, whole vectors in log2 steps",
       &algorithms::recursiveDoubling()},
      {13, "doubletree", "doubletree", "Broadcast and Reduce of middle sizes through two trees",
       &algorithms::doubleTree()},
      {14, "bruck", "bruck", "AlltoAll of small blocks in log2 steps, through other members",
       &algorithms::bruck()},
      {15, "groupedmesh", "groupedmesh", "AlltoAll of large blocks with a few partners at a time",
       &algorithms::groupedMesh()},
  };
  return rows;
}

const AlgorithmRow* findAlgorithm(const std::string& token) {
  for (const AlgorithmRow& row : algorithmRows()) {
    if (token == row.token) return &row;
  }
  return nullptr;
}

}  // namespace hccl::plan
