// The collectives that reduce. Each is one operation of HCCL, with copies before and after where
// tensors do not lie as HCCL wants them.
#include <algorithm>
#include <cstring>

#include "launch.h"

namespace hccl_torch {

using c10d::OpType;

namespace {

at::Tensor contiguousRoom(const at::Tensor& tensor) {
  return at::empty({tensor.numel()}, tensor.options().requires_grad(false));
}

// Copies between tensors that have as many elements and lie flat; nothing for one and the same.
void copyFlat(const at::Tensor& to, const at::Tensor& from) {
  if (to.is_same(from)) return;
  if (to.scalar_type() == from.scalar_type()) {
    std::memcpy(to.data_ptr(), from.data_ptr(), to.nbytes());
  } else {
    to.view(-1).copy_(from.view(-1));
  }
}

}  // namespace

// All ranks get the reduction of the tensors, which are one block.
WorkPtr ProcessGroupHccl::reduceAll(const Call& call, const Tensors& tensors, c10d::ReduceOp op) {
  const Reduction plan = Reduction::of(tensors[0].scalar_type(), op);
  Block block = Block::holding(tensors);
  if (plan.local) {
    const at::Tensor parts = at::empty({size_, block.elements()}, block.flat().options());
    return launch(
        call, tensors, tensors, {block.flat(), parts},
        [plan, block, parts] {
          plan.combine(block.flat(), parts);
          block.unpack();
        },
        [&](HcclComm comm, aclrtStream stream) {
          check(HcclAllGather(block.data(), parts.data_ptr(), block.elements() * plan.perElement,
                              plan.type, comm, stream),
                "HcclAllGather");
        });
  }
  const at::NoGradGuard plainMemory;
  const at::Tensor wire = block.flat().to(plan.wire);  // the tensor itself, or a copy of that type
  return launch(
      call, tensors, tensors, {block.flat(), wire},
      [plan, block, wire, size = size_] {
        copyFlat(block.flat(), wire);
        plan.finish(block.flat(), size);
        block.unpack();
      },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclAllReduce(wire.data_ptr(), wire.data_ptr(), wire.numel() * plan.perElement,
                            plan.type, plan.op, comm, stream),
              "HcclAllReduce");
      });
}

WorkPtr ProcessGroupHccl::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors[0].is_sparse()) return reduceSparse(tensors, options);
  onlyOf(tensors, "allreduce");
  return reduceAll({OpType::ALLREDUCE, "hccl:all_reduce", options.timeout}, tensors,
                   options.reduceOp);
}

WorkPtr ProcessGroupHccl::allreduce_coalesced(Tensors& tensors,
                                              const c10d::AllreduceCoalescedOptions& options) {
  checkTensors(tensors, "allreduce_coalesced");
  return reduceAll({OpType::ALLREDUCE_COALESCED, "hccl:all_reduce", options.timeout}, tensors,
                   options.reduceOp);
}

WorkPtr ProcessGroupHccl::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = onlyOf(tensors, "reduce");
  checkRoot(options.rootRank, size_);
  const auto root = static_cast<uint32_t>(options.rootRank);
  const bool isRoot = options.rootRank == rank_;
  const Call call{OpType::REDUCE, "hccl:reduce", options.timeout};
  const Reduction plan = Reduction::of(tensor.scalar_type(), options.reduceOp);
  const Block block = Block::holding(tensors);
  if (plan.local) {
    const at::Tensor parts =
        at::empty({isRoot ? size_ : 0, block.elements()}, block.flat().options());
    const auto count = static_cast<uint64_t>(block.elements() * plan.perElement);
    const Parts sent = Parts::only(static_cast<int>(root), count, size_);
    const Parts received{std::vector<uint64_t>(size_, isRoot ? count : 0)};
    return launch(
        call, tensors, tensors, {block.flat(), parts},
        [plan, block, parts, isRoot] {
          if (!isRoot) return;
          plan.combine(block.flat(), parts);
          block.unpack();
        },
        [&](HcclComm comm, aclrtStream stream) {
          check(HcclAlltoAllV(block.data(), sent.counts.data(), sent.displacements.data(),
                              plan.type, parts.data_ptr(), received.counts.data(),
                              received.displacements.data(), plan.type, comm, stream),
                "HcclAlltoAllV");
        });
  }
  const bool converts = plan.wire != tensor.scalar_type();
  const at::Tensor wire = converts ? block.flat().to(plan.wire) : block.flat();
  // HCCL may use other ranks' receive buffers as it likes: their tensors are left alone.
  const at::Tensor target = isRoot ? wire : contiguousRoom(wire);
  return launch(
      call, tensors, tensors, {block.flat(), wire, target},
      [plan, block, wire, converts, isRoot, size = size_] {
        if (!isRoot) return;
        if (converts) block.flat().copy_(wire);
        plan.finish(block.flat(), size);
        block.unpack();
      },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclReduce(wire.data_ptr(), target.data_ptr(), wire.numel() * plan.perElement,
                         plan.type, plan.op, root, comm, stream),
              "HcclReduce");
      });
}

// output = the reduction of all ranks' inputs[own rank]; the sizes may differ from rank to rank.
WorkPtr ProcessGroupHccl::reduceParts(const Call& call, const Tensors& inputs,
                                      const at::Tensor& output, c10d::ReduceOp op) {
  const Reduction plan = Reduction::of(output.scalar_type(), op);
  TORCH_CHECK(inputs[0].scalar_type() == output.scalar_type(),
              "hccl: input and output must have the same type");
  TORCH_CHECK(inputs[rank_].numel() == output.numel(), "hccl: the input for the own rank has ",
              inputs[rank_].numel(), " elements, the output ", output.numel());
  const Parts parts = Parts::of(inputs, plan.perElement);
  const Block from = Block::holding(inputs);
  const Block to = Block::roomFor({output});
  if (plan.local) {
    const at::Tensor arrived = at::empty({size_, output.numel()}, from.flat().options());
    const Parts received{
        std::vector<uint64_t>(size_, static_cast<uint64_t>(output.numel() * plan.perElement))};
    return launch(
        call, inputs, {output}, {from.flat(), to.flat(), arrived},
        [plan, to, arrived] {
          plan.combine(to.flat(), arrived);
          to.unpack();
        },
        [&](HcclComm comm, aclrtStream stream) {
          check(HcclAlltoAllV(from.data(), parts.counts.data(), parts.displacements.data(),
                              plan.type, arrived.data_ptr(), received.counts.data(),
                              received.displacements.data(), plan.type, comm, stream),
                "HcclAlltoAllV");
        });
  }
  const bool converts = plan.wire != output.scalar_type();
  const at::Tensor wireFrom = converts ? from.flat().to(plan.wire) : from.flat();
  const at::Tensor wireTo = converts ? at::empty(to.flat().sizes(), wireFrom.options()) : to.flat();
  return launch(
      call, inputs, {output}, {from.flat(), to.flat(), wireFrom, wireTo},
      [plan, to, wireTo, converts, size = size_] {
        if (converts) to.flat().copy_(wireTo);
        plan.finish(to.flat(), size);
        to.unpack();
      },
      [&](HcclComm comm, aclrtStream stream) {
        if (equalSizes(inputs)) {
          check(HcclReduceScatter(wireFrom.data_ptr(), wireTo.data_ptr(), parts.counts[rank_],
                                  plan.type, plan.op, comm, stream),
                "HcclReduceScatter");
        } else {
          check(HcclReduceScatterV(wireFrom.data_ptr(), parts.counts.data(),
                                   parts.displacements.data(), wireTo.data_ptr(),
                                   parts.counts[rank_], plan.type, plan.op, comm, stream),
                "HcclReduceScatterV");
        }
      });
}

WorkPtr ProcessGroupHccl::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                         const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = onlyOf(outputs, "reduce_scatter");
  const Tensors& list = onlyList(inputs, "reduce_scatter");
  checkSizes(list, size_, "reduce_scatter");
  return reduceParts({OpType::REDUCE_SCATTER, "hccl:reduce_scatter", options.timeout}, list, output,
                     options.reduceOp);
}

WorkPtr ProcessGroupHccl::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                               const c10d::ReduceScatterOptions& options) {
  checkTensors({output, input}, "_reduce_scatter_base");
  TORCH_CHECK(input.numel() == output.numel() * size_, "hccl: the input has ", input.numel(),
              " elements instead of ", size_, " times the ", output.numel(), " of the output");
  const at::Tensor flat = input.contiguous().view({size_, output.numel()});
  return reduceParts({OpType::_REDUCE_SCATTER_BASE, "hccl:_reduce_scatter_base", options.timeout},
                     flat.unbind(0), output, options.reduceOp);
}

#if TORCH_VERSION_MAJOR >= 2
WorkPtr ProcessGroupHccl::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK(!inputs.empty() && inputs.size() == outputs.size(),
              "hccl: reduce_scatter_tensor_coalesced needs an output for each input");
  WorkPtr work;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (work) work->wait();
    work = _reduce_scatter_base(outputs[i], inputs[i], options);
  }
  return work;
}
#endif

}  // namespace hccl_torch
