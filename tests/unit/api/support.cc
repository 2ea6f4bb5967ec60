#include "tests/unit/api/support.h"

#include <stdlib.h>

#include <thread>

namespace api_test {
namespace {

// Before the library reads its environment.
[[maybe_unused]] const bool environmentIsSet = [] {
  ::setenv("HCCL_HOST_DEVICES", std::to_string(kDevices).c_str(), 1);
  ::setenv("HCCL_CONNECT_TIMEOUT", "30", 1);
  ::setenv("HCCL_IF_IP", "127.0.0.1", 1);
  ::setenv("ASCEND_PROCESS_LOG_PATH", ::testing::TempDir().c_str(), 0);
  ::unsetenv("HCCL_DETERMINISTIC");
  return true;
}();

}  // namespace

std::string takeError() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

void OneRank::SetUp() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  HcclRootInfo root;
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS) << takeError();
  ASSERT_EQ(HcclCommInitRootInfo(1, &root, 0, &comm), HCCL_SUCCESS) << takeError();
  takeError();
}

void OneRank::TearDown() {
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  if (comm != nullptr) {
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS) << takeError();
  }
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

void* strangeHandle() {
  static int something = 0;
  return &something;
}

void checkCases(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    takeError();
    EXPECT_EQ(test.call(), test.expected);
    const std::string error = takeError();
    if (test.expected == HCCL_SUCCESS) {
      EXPECT_EQ(error, "");
    }
    for (const std::string& text : test.texts) EXPECT_THAT(error, ::testing::HasSubstr(text));
  }
}

void onThreads(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace api_test
