// The collectives in which every rank has a part for every other.
#include "launch.h"

namespace hccl_torch {

using c10d::OpType;

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

}  // namespace hccl_torch
