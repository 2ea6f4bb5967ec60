// main() of the multi-rank programs that are GoogleTest programs.
#include <gtest/gtest.h>

#include "tests/integration/support/job.h"

int main(int argc, char** argv) {
  hccl::multirank::runIfPartOfJob(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
