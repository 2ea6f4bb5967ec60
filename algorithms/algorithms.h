// The algorithms of this folder; algorithms/registry.cc lists them.
#pragma once

#include <vector>

#include "src/plan/algorithm.h"

namespace hccl::algorithms {

const plan::StageAlgorithm& ring();
const plan::StageAlgorithm& mesh();
const plan::StageAlgorithm& nhr();
const plan::StageAlgorithm& pairwise();
const plan::StageAlgorithm& nb();
const plan::StageAlgorithm& halvingDoubling();
const plan::StageAlgorithm& nhrV1();
const plan::StageAlgorithm& pipeline();
const plan::StageAlgorithm& ahc();
const plan::StageAlgorithm& ahcBroke();
const plan::StageAlgorithm& star();
const plan::StageAlgorithm& recursiveDoubling();
const plan::StageAlgorithm& doubleTree();
const plan::StageAlgorithm& bruck();
const plan::StageAlgorithm& groupedMesh();

// The root collects block q out of member q's buffer `from`, nearest first (one round).
void gatherBlocks(const plan::StageArgs& args, plan::Buffer from, std::vector<plan::Move>& out);

}  // namespace hccl::algorithms
