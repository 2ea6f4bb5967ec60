#include "bench/parts/launch.h"

#include <mpi.h>

#include <cstdlib>

namespace hccl::bench {

Launch::Launch(int* argc, char*** argv) {
  // Open MPI would start a daemon for a program that no mpirun started.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  MPI_Comm host = MPI_COMM_NULL;
  int ranksHere = 1;
  int most = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &ranksHere);
  MPI_Comm_free(&host);
  MPI_Allreduce(&ranksHere, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);

  rank_ = static_cast<uint32_t>(rank);
  ranks_ = static_cast<uint32_t>(ranks);
  ranksOfHost_ = static_cast<uint32_t>(most);
}

Launch::~Launch() {
  MPI_Finalize();
}

void Launch::broadcast(void* data, size_t bytes, uint32_t root) const {
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(root), MPI_COMM_WORLD);
}

void Launch::barrier() const {
  MPI_Barrier(MPI_COMM_WORLD);
}

bool Launch::any(bool mine) const {
  int in = mine ? 1 : 0;
  int out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return out != 0;
}

void Launch::abort(int code) const {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

}  // namespace hccl::bench
