// How the ranks of a benchmark find each other: MPI. Without mpirun there is one rank.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl::bench {

class Launch {
 public:
  Launch(int* argc, char*** argv);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  // The largest number of ranks that share a host, the same on all ranks.
  uint32_t ranksOfHost() const { return ranksOfHost_; }

  void broadcast(void* data, size_t bytes, uint32_t root) const;
  void barrier() const;
  // Whether `mine` is true on any rank.
  bool any(bool mine) const;
  // Ends all ranks.
  [[noreturn]] void abort(int code) const;

 private:
  uint32_t rank_ = 0;
  uint32_t ranks_ = 1;
  uint32_t ranksOfHost_ = 1;
};

}  // namespace hccl::bench
