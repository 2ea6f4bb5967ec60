// What a measured library offers to the harness. One driver program per library implements it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace hccl::peers {

struct Place {
  int rank = 0;
  int ranks = 1;
};

// Counts are floats: of each rank's buffer for allReduce and broadcast, of one rank's part for the
// others. Calls of all ranks match. Errors end the program with a message.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual Place place() const = 0;
  // What a joined job has to know before its first call; rank 0 makes it (may be empty).
  virtual std::string invitation() { return {}; }
  virtual void join(const std::string& invitation) { (void)invitation; }

  // Plain memory unless the library has its own.
  virtual float* allocate(size_t count);
  virtual void free(float* memory);

  virtual void allReduce(const float* in, float* out, size_t count) = 0;
  // Yardsticks have none of these.
  virtual void allGather(const float* in, float* out, size_t count);
  virtual void reduceScatter(const float* in, float* out, size_t count);
  virtual void allToAll(const float* in, float* out, size_t count);
  virtual void broadcast(float* buffer, size_t count);
  virtual void barrier() = 0;
  // Returns when the calls so far are done; for libraries whose calls return early.
  virtual void finish() {}
};

std::unique_ptr<Contender> makeContender();
// An environment variable that the leader sets.
const char* setting(const char* name);
Place placeFromLeader();  // PEER_RANK, PEER_RANKS
[[noreturn]] void giveUp(const std::string& why);

}  // namespace hccl::peers
