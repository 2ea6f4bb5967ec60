// The collectives of the process group: each is one operation of HCCL, with copies before and after
// where tensors do not lie as HCCL wants them.
#include <numeric>
#include <utility>

#include "process_group.h"

namespace hccl_torch {

using c10d::OpType;

namespace {

void checkSizes(const Tensors& tensors, size_t size, const char* operation) {
  TORCH_CHECK(tensors.size() == size, "hccl: ", operation, " needs one tensor for each of the ",
              size, " ranks, not ", tensors.size());
  checkTensors(tensors, operation);
}

Tensors& onlyList(std::vector<Tensors>& lists, const char* operation) {
  TORCH_CHECK(lists.size() == 1, "hccl: ", operation, " takes one list of tensors, not ",
              lists.size());
  return lists[0];
}

bool equalSizes(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != tensors[0].numel()) return false;
  }
  return true;
}

void checkRoot(int64_t root, int size) {
  TORCH_CHECK(root >= 0 && root < size, "hccl: root rank ", root, " is not one of ", size,
              " ranks");
}

at::Tensor contiguousRoom(const at::Tensor& tensor) {
  return at::empty({tensor.numel()}, tensor.options().requires_grad(false));
}

}  // namespace

struct ProcessGroupHccl::Parts {
  std::vector<uint64_t> counts;
  std::vector<uint64_t> displacements;

  explicit Parts(std::vector<uint64_t> perRank) : counts(std::move(perRank)) {
    displacements.resize(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), uint64_t{0});
  }
  static Parts of(const Tensors& tensors, uint64_t perElement) {
    std::vector<uint64_t> counts;
    for (const at::Tensor& tensor : tensors) counts.push_back(tensor.numel() * perElement);
    return Parts(std::move(counts));
  }
  // `count` elements for one rank, none for the others.
  static Parts only(int rank, uint64_t count, int size) {
    std::vector<uint64_t> counts(size, 0);
    counts[rank] = count;
    return Parts(std::move(counts));
  }
};

template <class Calls>
WorkPtr ProcessGroupHccl::launch(const Call& call, const Tensors& inputs, const Tensors& outputs,
                                 const Tensors& memory, HcclWork::LastStep last, Calls calls) {
  begin();
  auto work = c10::make_intrusive<StreamWork>(
      HcclWork::Facts{rank_, call.type, call.title, inputs, outputs, deadlineOf(call.timeout)},
      communicator_, StreamWork::CompletedBy{completer_, true});
  work->keep(memory);
  if (last) work->setLastStep(std::move(last));
  work->start(calls);
  remember(work);
  return work;
}

WorkPtr ProcessGroupHccl::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = onlyOf(tensors, "broadcast");
  checkRoot(options.rootRank, size_);
  const Elements elements = Elements::of(tensor.scalar_type());
  const Block block = Block::holding(tensors);
  return launch(
      {OpType::BROADCAST, "hccl:broadcast", options.timeout}, tensors, tensors, {block.flat()},
      [block] { block.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclBroadcast(block.data(), block.elements() * elements.perElement, elements.type,
                            static_cast<uint32_t>(options.rootRank), comm, stream),
              "HcclBroadcast");
      });
}

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
  const bool converts = plan.wire != block.flat().scalar_type();
  const at::Tensor wire = converts ? block.flat().to(plan.wire) : block.flat();
  return launch(
      call, tensors, tensors, {block.flat(), wire},
      [plan, block, wire, converts, size = size_] {
        if (converts) block.flat().copy_(wire);
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

// outputs[r] = rank r's input; the sizes may differ from rank to rank.
WorkPtr ProcessGroupHccl::gatherParts(const Call& call, const at::Tensor& input,
                                      const Tensors& outputs) {
  const Elements elements = Elements::of(input.scalar_type());
  TORCH_CHECK(outputs[0].scalar_type() == input.scalar_type(),
              "hccl: input and output must have the same type");
  TORCH_CHECK(outputs[rank_].numel() == input.numel(), "hccl: the output for the own rank has ",
              outputs[rank_].numel(), " elements, the input ", input.numel());
  const Block from = Block::holding({input});
  const Block to = Block::roomFor(outputs);
  const Parts parts = Parts::of(outputs, elements.perElement);
  return launch(
      call, {input}, outputs, {from.flat(), to.flat()}, [to] { to.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        if (equalSizes(outputs)) {
          check(HcclAllGather(from.data(), to.data(), parts.counts[rank_], elements.type, comm,
                              stream),
                "HcclAllGather");
        } else {
          check(HcclAllGatherV(from.data(), parts.counts[rank_], to.data(), parts.counts.data(),
                               parts.displacements.data(), elements.type, comm, stream),
                "HcclAllGatherV");
        }
      });
}

WorkPtr ProcessGroupHccl::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& options) {
  const at::Tensor& input = onlyOf(inputs, "allgather");
  const Tensors& list = onlyList(outputs, "allgather");
  checkSizes(list, size_, "allgather");
  return gatherParts({OpType::ALLGATHER, "hccl:all_gather", options.timeout}, input, list);
}

WorkPtr ProcessGroupHccl::_allgather_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::AllgatherOptions& options) {
  checkTensors({output, input}, "_allgather_base");
  TORCH_CHECK(output.numel() == input.numel() * size_, "hccl: the output has ", output.numel(),
              " elements instead of ", size_, " times the ", input.numel(), " of the input");
  const Elements elements = Elements::of(input.scalar_type());
  const Block from = Block::holding({input});
  const Block to = Block::roomFor({output});
  return launch(
      {OpType::_ALLGATHER_BASE, "hccl:_all_gather_base", options.timeout}, {input}, {output},
      {from.flat(), to.flat()}, [to] { to.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclAllGather(from.data(), to.data(), from.elements() * elements.perElement,
                            elements.type, comm, stream),
              "HcclAllGather");
      });
}

// outputs[r][i] = inputs[i] of rank r: the lists travel as one block.
WorkPtr ProcessGroupHccl::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  checkTensors(inputs, "allgather_coalesced");
  TORCH_CHECK(outputs.size() == static_cast<size_t>(size_), "hccl: allgather_coalesced needs ",
              size_, " lists of tensors, not ", outputs.size());
  Tensors all;
  for (const Tensors& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size(), "hccl: allgather_coalesced: each list needs ",
                inputs.size(), " tensors, not ", list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      TORCH_CHECK(list[i].numel() == inputs[i].numel(),
                  "hccl: allgather_coalesced: an output's size is not its input's");
    }
    all.insert(all.end(), list.begin(), list.end());
  }
  checkTensors(all, "allgather_coalesced");
  const Elements elements = Elements::of(inputs[0].scalar_type());
  const Block from = Block::holding(inputs);
  const Block to = Block::roomFor(all);
  return launch(
      {OpType::ALLGATHER_COALESCED, "hccl:all_gather", options.timeout}, inputs, all,
      {from.flat(), to.flat()}, [to] { to.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclAllGather(from.data(), to.data(), from.elements() * elements.perElement,
                            elements.type, comm, stream),
              "HcclAllGather");
      });
}

// Part r of `from` goes to rank r; part r of `to` comes from rank r.
WorkPtr ProcessGroupHccl::exchange(const Call& call, const Tensors& inputs, const Tensors& outputs,
                                   const Block& from, const Block& to, const Parts& sent,
                                   const Parts& received) {
  const Elements elements = Elements::of(from.flat().scalar_type());
  return launch(
      call, inputs, outputs, {from.flat(), to.flat()}, [to] { to.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclAlltoAllV(from.data(), sent.counts.data(), sent.displacements.data(),
                            elements.type, to.data(), received.counts.data(),
                            received.displacements.data(), elements.type, comm, stream),
              "HcclAlltoAllV");
      });
}

WorkPtr ProcessGroupHccl::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::GatherOptions& options) {
  const at::Tensor& input = onlyOf(inputs, "gather");
  checkRoot(options.rootRank, size_);
  const auto root = static_cast<int>(options.rootRank);
  const uint64_t perElement = Elements::of(input.scalar_type()).perElement;
  Tensors list;
  if (root == rank_) {
    list = onlyList(outputs, "gather");
    checkSizes(list, size_, "gather");
    TORCH_CHECK(list[0].scalar_type() == input.scalar_type(),
                "hccl: input and output must have the same type");
  } else {
    TORCH_CHECK(outputs.empty() || outputs[0].empty(), "hccl: gather: only the root has outputs");
  }
  const Parts sent = Parts::only(root, input.numel() * perElement, size_);
  const Parts received =
      root == rank_ ? Parts::of(list, perElement) : Parts(std::vector<uint64_t>(size_, 0));
  const Block to =
      root == rank_ ? Block::roomFor(list) : Block::roomFor({at::empty({0}, input.options())});
  return exchange({OpType::GATHER, "hccl:gather", options.timeout}, inputs, list,
                  Block::holding({input}), to, sent, received);
}

WorkPtr ProcessGroupHccl::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                  const c10d::ScatterOptions& options) {
  const at::Tensor& output = onlyOf(outputs, "scatter");
  checkRoot(options.rootRank, size_);
  const bool isRoot = options.rootRank == rank_;
  Tensors list;
  if (isRoot) {
    list = onlyList(inputs, "scatter");
    checkSizes(list, size_, "scatter");
    TORCH_CHECK(equalSizes(list) && list[0].numel() == output.numel() &&
                    list[0].scalar_type() == output.scalar_type(),
                "hccl: scatter: all inputs must be like the output");
  } else {
    TORCH_CHECK(inputs.empty() || inputs[0].empty(), "hccl: scatter: only the root has inputs");
  }
  const Elements elements = Elements::of(output.scalar_type());
  const Block from =
      isRoot ? Block::holding(list) : Block::roomFor({at::empty({0}, output.options())});
  const Block to = Block::roomFor({output});
  return launch(
      {OpType::SCATTER, "hccl:scatter", options.timeout}, list, outputs, {from.flat(), to.flat()},
      [to] { to.unpack(); },
      [&](HcclComm comm, aclrtStream stream) {
        check(HcclScatter(isRoot ? from.data() : nullptr, to.data(),
                          to.elements() * elements.perElement, elements.type,
                          static_cast<uint32_t>(options.rootRank), comm, stream),
              "HcclScatter");
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

WorkPtr ProcessGroupHccl::alltoall_base(at::Tensor& output, at::Tensor& input,
                                        std::vector<int64_t>& outputSplits,
                                        std::vector<int64_t>& inputSplits,
                                        const c10d::AllToAllOptions& options) {
  checkTensors({output, input}, "alltoall_base");
  const uint64_t perElement = Elements::of(input.scalar_type()).perElement;
  const auto partsOf = [&](const at::Tensor& tensor, const std::vector<int64_t>& splits) {
    const int64_t rows = tensor.dim() == 0 ? 0 : tensor.size(0);
    const int64_t row = rows == 0 ? 0 : tensor.numel() / rows;
    if (splits.empty()) {
      TORCH_CHECK(rows % size_ == 0, "hccl: alltoall: ", rows, " rows cannot be split into ", size_,
                  " equal parts");
      return Parts(std::vector<uint64_t>(size_, rows / size_ * row * perElement));
    }
    TORCH_CHECK(splits.size() == static_cast<size_t>(size_), "hccl: alltoall: ", size_,
                " splits are needed, not ", splits.size());
    TORCH_CHECK(std::accumulate(splits.begin(), splits.end(), int64_t{0}) == rows,
                "hccl: alltoall: the splits do not add up to the ", rows, " rows of the tensor");
    std::vector<uint64_t> counts;
    for (const int64_t split : splits) {
      TORCH_CHECK(split >= 0, "hccl: alltoall: a split is negative");
      counts.push_back(split * row * perElement);
    }
    return Parts(std::move(counts));
  };
  const Parts sent = partsOf(input, inputSplits);
  const Parts received = partsOf(output, outputSplits);
  // HCCL does not exchange in place.
  const at::Tensor source = overlap(input, output) ? input.clone() : input;
  return exchange({OpType::ALLTOALL_BASE, "hccl:all_to_all", options.timeout}, {input}, {output},
                  Block::holding({source}), Block::roomFor({output}), sent, received);
}

WorkPtr ProcessGroupHccl::alltoall(Tensors& outputs, Tensors& inputs,
                                   const c10d::AllToAllOptions& options) {
  checkSizes(inputs, size_, "alltoall");
  checkSizes(outputs, size_, "alltoall");
  const uint64_t perElement = Elements::of(inputs[0].scalar_type()).perElement;
  TORCH_CHECK(inputs[0].scalar_type() == outputs[0].scalar_type(),
              "hccl: input and output must have the same type");
  Block from = Block::holding(inputs);
  const Block to = Block::roomFor(outputs);
  if (overlap(from.flat(), to.flat())) from = Block::holding({from.flat().clone()});
  return exchange({OpType::ALLTOALL, "hccl:all_to_all", options.timeout}, inputs, outputs, from, to,
                  Parts::of(inputs, perElement), Parts::of(outputs, perElement));
}

WorkPtr ProcessGroupHccl::barrier(const c10d::BarrierOptions& options) {
  return launch(
      {OpType::BARRIER, "hccl:barrier", options.timeout}, {}, {}, {}, nullptr,
      [&](HcclComm comm, aclrtStream stream) { check(HcclBarrier(comm, stream), "HcclBarrier"); });
}

#if TORCH_VERSION_MAJOR >= 2
WorkPtr ProcessGroupHccl::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                          const c10d::AllgatherOptions& options) {
  TORCH_CHECK(!inputs.empty() && inputs.size() == outputs.size(),
              "hccl: allgather_into_tensor_coalesced needs an output for each input");
  std::vector<Tensors> perRank(size_);
  for (const at::Tensor& output : outputs) {
    const Tensors parts = output.view({size_, -1}).unbind(0);
    for (int r = 0; r < size_; ++r) perRank[r].push_back(parts[r]);
  }
  return allgather_coalesced(perRank, inputs, options);
}

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
