// What the tests of the public interface share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"

namespace api_test {

inline constexpr uint32_t kDevices = 8;  // HCCL_HOST_DEVICES of these tests
inline constexpr uint64_t kMaxCount = 0x7FFFFFFFFULL;

// The calling thread's unread error text, "" when there is none.
std::string takeError();

// A communicator of one rank on device 0, with a stream.
class OneRank : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
};

// Something that never was a handle of the library.
void* strangeHandle();

struct Case {
  std::string name;
  std::function<HcclResult()> call;
  HcclResult expected;
  std::vector<std::string> texts;  // parts of the error text
};
void checkCases(const std::vector<Case>& cases);

// Runs body(rank) on `count` threads, each on the device of its number, and joins them.
void onThreads(uint32_t count, const std::function<void(uint32_t)>& body);

}  // namespace api_test
