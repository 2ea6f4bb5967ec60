// Open MPI and MPICH: the same source, compiled by each one's mpicxx.
#include <mpi.h>

#include <cstdlib>

#include "contender.h"

namespace hccl::peers {
namespace {

void must(int result, const char* what) {
  if (result != MPI_SUCCESS) giveUp(what);
}

class Mpi final : public Contender {
 public:
  Mpi() {
    must(MPI_Init(nullptr, nullptr), "MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &place_.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place_.ranks);
  }
  ~Mpi() override { MPI_Finalize(); }
  Place place() const override { return place_; }

  void allReduce(const float* in, float* out, size_t count) override {
    must(MPI_Allreduce(in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
         "MPI_Allreduce");
  }
  void allGather(const float* in, float* out, size_t count) override {
    const int n = static_cast<int>(count);
    must(MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD), "MPI_Allgather");
  }
  void reduceScatter(const float* in, float* out, size_t count) override {
    must(MPI_Reduce_scatter_block(in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                                  MPI_COMM_WORLD),
         "MPI_Reduce_scatter_block");
  }
  void allToAll(const float* in, float* out, size_t count) override {
    const int n = static_cast<int>(count);
    must(MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD), "MPI_Alltoall");
  }
  void broadcast(float* buffer, size_t count) override {
    must(MPI_Bcast(buffer, static_cast<int>(count), MPI_FLOAT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  }
  void barrier() override { must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

 private:
  Place place_;
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Mpi>();
}

}  // namespace hccl::peers
