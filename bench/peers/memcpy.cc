// The memory's limit: what each rank has to move at least for an AllReduce, as a plain copy, all
// ranks at the same time. PEER_RANK, PEER_RANKS: the place; PEER_SHARED: a file that all map, for
// the barrier.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "contender.h"

namespace hccl::peers {
namespace {

class Memcpy final : public Contender {
 public:
  Memcpy() {
    place_ = placeFromLeader();
    const int file = open(setting("PEER_SHARED"), O_RDWR | O_CLOEXEC);
    void* base =
        file < 0 ? MAP_FAILED : mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) giveUp("cannot map PEER_SHARED");
    close(file);
    arrived_ = static_cast<std::atomic<uint64_t>*>(base);
  }
  Place place() const override { return place_; }

  void allReduce(const float* in, float* out, size_t count) override {
    std::memcpy(out, in, count * sizeof(float));
  }
  void barrier() override {
    const auto ranks = static_cast<uint64_t>(place_.ranks);
    const uint64_t all = (arrived_->fetch_add(1) / ranks + 1) * ranks;
    while (arrived_->load() < all) sched_yield();
  }

 private:
  Place place_;
  std::atomic<uint64_t>* arrived_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Memcpy>();
}

}  // namespace hccl::peers
