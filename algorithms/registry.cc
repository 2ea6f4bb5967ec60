// The registry: one row an algorithm. Ids travel in signatures and never change.
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
