// Team: the ranks that measure together. Each is a process with a device, a stream and a
// communicator by which the ranks agree on what to do next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hccl/hccl.h"

namespace hccl::tune {

// Brings the first root information from rank 0 to the others; afterwards the team's own
// communicator does.
class Invitation {
 public:
  virtual ~Invitation() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t ranks() const = 0;
  virtual void share(HcclRootInfo* info) = 0;
};

// Ends the program with the text of the error; in a job of several processes all of it.
[[noreturn]] void giveUp(const std::string& why);
void must(int result, const char* call);
#define HCCL_TUNE_MUST(call) ::hccl::tune::must((call), #call)

class Team {
 public:
  explicit Team(Invitation& invitation);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  aclrtStream stream() const { return stream_; }
  void synchronise() const { HCCL_TUNE_MUST(aclrtSynchronizeStream(stream_)); }

  // A communicator of all ranks; `algo` as HCCL_ALGO, empty: the library's choice.
  HcclComm open(const std::string& algo);
  void barrier();
  // The largest of all ranks' values.
  double most(double mine);
  // Rank 0's value.
  double ofFirst(double value);

 private:
  HcclComm join(const HcclRootInfo& info, const std::string& algo);

  uint32_t rank_;
  uint32_t ranks_;
  aclrtStream stream_ = nullptr;
  HcclComm control_ = nullptr;
  std::byte* words_ = nullptr;  // device memory for what is agreed on
};

}  // namespace hccl::tune
