// Runs cases on one rank: calls the library, waits, and compares with the reference.
#pragma once

#include <map>
#include <string>

#include "tests/integration/matrix/layout.h"
#include "tests/integration/matrix/test_case.h"
#include "tests/integration/support/guarded_buffer.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {

// The buffers of a case on one rank, from before the call until after the check.
class PreparedCase {
 public:
  // Ranks that pass the same seed have matching data.
  PreparedCase(const TestCase& test, uint32_t rank, uint64_t seed);
  PreparedCase(const PreparedCase&) = delete;
  PreparedCase& operator=(const PreparedCase&) = delete;

  const TestCase& test() const { return test_; }
  // Calls the library. RankFailure when it refuses.
  void issue(HcclComm comm, aclrtStream stream) const;
  // After the stream has passed it: empty, or what is wrong.
  std::string verify() const;

 private:
  size_t firstBytes() const;

  const TestCase test_;
  uint32_t rank_;
  Layout layout_;
  GuardedBuffer first_;   // the input, or both
  GuardedBuffer second_;  // the output
  unsigned char* send_ = nullptr;
  unsigned char* recv_ = nullptr;
};

class CaseRunner {
 public:
  explicit CaseRunner(Rank& rank) : rank_(rank), session_(static_cast<int32_t>(rank.rank())) {}
  ~CaseRunner();

  // Empty, or what was wrong. RankFailure when the library refused or failed, so that ranks no
  // longer agree.
  std::string run(const TestCase& test);
  // Destroys the communicators; an error is a RankFailure.
  void close();

 private:
  HcclComm communicator(const TestCase& test);

  Rank& rank_;
  Session session_;
  std::map<std::string, HcclComm> communicators_;  // by algorithm
  uint64_t number_ = 0;
};

}  // namespace hccl::multirank
