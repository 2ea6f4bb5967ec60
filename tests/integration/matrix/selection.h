// Which cases run. All ranks compute the same list.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/integration/matrix/test_case.h"

namespace hccl::multirank {

// A small set of legal cases in which every legal combination of the values of any two factors
// occurs, and of those larger sets of factors that make the code take different ways (wantedSets()
// in selection.cc).
std::vector<TestCase> pairwiseCases();

// Calls visit for each legal case with these three factors: the whole product.
void forEachCase(uint32_t ranks, Launch launch, uint8_t transport,
                 const std::function<void(const TestCase&)>& visit);

}  // namespace hccl::multirank
