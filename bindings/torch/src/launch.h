// How the collectives are started: inside the files that define them only.
#pragma once

#include <numeric>
#include <utility>

#include "arguments.h"
#include "process_group.h"

namespace hccl_torch {

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

}  // namespace hccl_torch
