// Hazards: which accesses to a rank's memory a later one has to wait for, within one iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "src/plan/moves.h"

namespace hccl::plan {

// One access to this rank's memory that a later one may have to wait for.
struct Access {
  Ref ref;
  bool write = false;
  bool aliases = true;    // input and output may be the same memory at this block
  int32_t step = -1;      // local step that makes it, or
  int32_t exposure = -1;  // index of the exposure through which a direct peer makes it
};

class Hazards {
 public:
  // `inPlace`: input and output may be the same memory, block by block.
  explicit Hazards(bool inPlace) : inPlace_(inPlace) {}

  bool conflicts(const Access& a, const Access& b) const {
    if (!(a.write || b.write) || a.ref.block != b.ref.block) return false;
    if (a.ref.buffer == b.ref.buffer) return true;
    const bool userMemory = a.ref.buffer != Buffer::kScratch && b.ref.buffer != Buffer::kScratch;
    return userMemory && inPlace_ && a.aliases && b.aliases;
  }

  template <typename Visit>
  void forConflicts(const Access& access, Visit visit) const {
    if (access.ref.block >= accesses_.size()) return;
    for (const Access& earlier : accesses_[access.ref.block]) {
      if (conflicts(earlier, access)) visit(earlier);
    }
  }

  void record(const Access& access) {
    if (access.ref.block >= accesses_.size()) accesses_.resize(access.ref.block + 1);
    std::vector<Access>& ofBlock = accesses_[access.ref.block];
    // A write supersedes what it had to wait for.
    if (access.write && access.exposure < 0) {
      std::erase_if(ofBlock, [&](const Access& a) {
        return a.ref == access.ref && a.step != access.step && a.aliases == access.aliases;
      });
    }
    ofBlock.push_back(access);
  }

 private:
  bool inPlace_;
  std::vector<std::vector<Access>> accesses_;  // by block: accesses to different ones do not meet
};

}  // namespace hccl::plan
