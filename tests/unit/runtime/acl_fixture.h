// What the tests of the acl functions share.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>

#include "src/base/clock.h"
#include "src/runtime/acl_api.h"

namespace hccl::acl {

inline void computeFor(int ms) {  // the program is busy outside of the library
  timespec wait{ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&wait, nullptr);
}

inline double secondsSince(uint64_t startNs) {
  return static_cast<double>(monotonicNs() - startNs) * 1e-9;
}

class Acl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("HCCL_HOST_DEVICES", "8", 0); }
  void SetUp() override {
    ASSERT_EQ(acl::aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(acl::aclrtCreateStream(&stream_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(acl::aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(acl::aclrtResetDevice(0), ACL_SUCCESS);
  }
  aclrtStream stream_ = nullptr;
};

}  // namespace hccl::acl
