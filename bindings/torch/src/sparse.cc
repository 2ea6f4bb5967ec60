// The sum of sparse tensors, whose numbers of elements differ from rank to rank.
#include "launch.h"

namespace hccl_torch {

using c10d::OpType;

// Every rank gets all ranks' indices and values and adds them up itself. The numbers of elements
// are exchanged first, and waited for; the rest goes on by itself.
WorkPtr ProcessGroupHccl::reduceSparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::NoGradGuard plainMemory;
  const at::Tensor target = tensors[0];
  TORCH_CHECK(target.device().is_cpu(), "hccl: allreduce takes CPU tensors only, not ",
              target.device());
  const bool average = options.reduceOp == c10d::ReduceOp::AVG;
  TORCH_CHECK(average || options.reduceOp == c10d::ReduceOp::SUM,
              "hccl: sparse tensors can be summed and averaged only");
  const Call call{OpType::ALLREDUCE, "hccl:all_reduce", options.timeout};
  const at::Tensor own = target.coalesce();
  const at::Tensor shape =
      at::tensor({own._nnz(), own.sparse_dim(), own.dense_dim()}, at::TensorOptions(at::kLong));
  Tensors shapes = at::empty({size_, 3}, shape.options()).unbind(0);
  gatherParts(call, shape, shapes)->wait();

  Tensors indices;
  Tensors values;
  for (int r = 0; r < size_; ++r) {
    const int64_t* theirs = shapes[r].data_ptr<int64_t>();
    TORCH_CHECK(theirs[1] == own.sparse_dim() && theirs[2] == own.dense_dim(),
                "hccl: allreduce: rank ", r, " has a sparse tensor of ", theirs[1], " sparse and ",
                theirs[2], " dense dimensions, this rank one of ", own.sparse_dim(), " and ",
                own.dense_dim());
    std::vector<int64_t> sizes = own.values().sizes().vec();
    sizes[0] = theirs[0];
    indices.push_back(at::empty({theirs[0], own.sparse_dim()}, own.indices().options()));
    values.push_back(at::empty(sizes, own.values().options()));
  }
  const WorkPtr first = gatherParts(call, own.indices().t().contiguous(), indices);
  const at::Tensor input = own.values().contiguous();
  const auto last = [target, indices, values, first, average, size = size_] {
    first->wait();  // it has ended: operations of a group end in order
    at::Tensor sum = at::sparse_coo_tensor(at::cat(indices).t(), at::cat(values), target.sizes(),
                                           target.options())
                         .coalesce();
    at::Tensor result = target;
    result.copy_(average ? sum / size : sum);
  };
  return gatherParts(call, input, values, Instead{tensors, tensors, last});
}

}  // namespace hccl_torch
