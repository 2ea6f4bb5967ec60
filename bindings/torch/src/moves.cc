// The collectives that bring tensors from one rank to others: broadcast, gather, scatter; and
// barrier.
#include "launch.h"

namespace hccl_torch {

using c10d::OpType;

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

// outputs[r] = rank r's input; the sizes may differ from rank to rank.
WorkPtr ProcessGroupHccl::gatherParts(const Call& call, const at::Tensor& input,
                                      const Tensors& outputs,
                                      const std::optional<Instead>& instead) {
  const Elements elements = Elements::of(input.scalar_type());
  TORCH_CHECK(outputs[0].scalar_type() == input.scalar_type(),
              "hccl: input and output must have the same type");
  TORCH_CHECK(outputs[rank_].numel() == input.numel(), "hccl: the output for the own rank has ",
              outputs[rank_].numel(), " elements, the input ", input.numel());
  const Block from = Block::holding({input});
  const Block to = Block::roomFor(outputs);
  const Parts parts = Parts::of(outputs, elements.perElement);
  const auto last = [to, then = instead ? instead->last : nullptr] {
    to.unpack();
    if (then) then();
  };
  return launch(
      call, instead ? instead->inputs : Tensors{input}, instead ? instead->outputs : outputs,
      {from.flat(), to.flat()}, last, [&](HcclComm comm, aclrtStream stream) {
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
#endif

}  // namespace hccl_torch
