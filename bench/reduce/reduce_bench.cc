// Speed of combine() and copy(): bytes read and written per second, and the time of small calls.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "src/reduce/kernel_table.h"
#include "src/reduce/reduce.h"

namespace hccl::reduce {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer makeBuffer(size_t bytes) {
  const size_t rounded = (bytes + 4095) / 4096 * 4096;
  Buffer buffer(std::aligned_alloc(4096, rounded));
  std::memset(buffer.get(), 0x11, rounded);
  return buffer;
}

struct Setup {
  HcclDataType type;
  HcclReduceOp op;
  int sources;
  int targets;
  size_t bytes;
  bool streaming = false;
  int64_t simd = 0;  // 0: the best one
};

void runCombine(benchmark::State& state, const Setup& setup) {
  hwy::SetSupportedTargetsForTest(setup.simd);
  chooseKernelsAgainForTest();
  std::vector<Buffer> buffers;
  std::vector<const void*> src;
  std::vector<void*> dst;
  for (int s = 0; s < setup.sources; ++s) {
    buffers.push_back(makeBuffer(setup.bytes));
    src.push_back(buffers.back().get());
  }
  for (int t = 0; t < setup.targets; ++t) {
    buffers.push_back(makeBuffer(setup.bytes));
    dst.push_back(buffers.back().get());
  }
  const size_t count = setup.bytes / typeSize(setup.type);
  for (auto _ : state) {
    combine(dst.data(), setup.targets, src.data(), setup.sources, count, setup.type, setup.op,
            setup.streaming);
    benchmark::ClobberMemory();
  }
  // All streams together, reads and writes.
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(setup.bytes) * (setup.sources + setup.targets));
  hwy::SetSupportedTargetsForTest(0);
  chooseKernelsAgainForTest();
}

void runCopy(benchmark::State& state, size_t bytes, bool streaming) {
  const Buffer from = makeBuffer(bytes), to = makeBuffer(bytes);
  for (auto _ : state) {
    copy(to.get(), from.get(), bytes, streaming);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes) *
                          2);
}

void add(const std::string& name, const Setup& setup) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [setup](benchmark::State& state) { runCombine(state, setup); });
}

std::string label(const char* what, int sources, int targets, size_t bytes) {
  return std::string(what) + "/" + std::to_string(sources) + "to" + std::to_string(targets) + "/" +
         std::to_string(bytes);
}

void registerAll() {
  constexpr HcclDataType kFp32 = HCCL_DATA_TYPE_FP32;
  for (size_t bytes : {size_t{64}, size_t{4096}, size_t{65536}, size_t{1} << 20, size_t{4} << 20,
                       size_t{64} << 20}) {
    add(label("fp32_sum", 2, 2, bytes), {kFp32, HCCL_REDUCE_SUM, 2, 2, bytes});
    if (bytes >= (size_t{1} << 20)) {
      add(label("fp32_sum_streaming", 2, 2, bytes), {kFp32, HCCL_REDUCE_SUM, 2, 2, bytes, true});
    }
  }
  for (int sources : {2, 3, 4, 8, 9, 16, 64}) {
    add(label("fp32_sum", sources, 1, 262144), {kFp32, HCCL_REDUCE_SUM, sources, 1, 262144});
  }
  for (int targets : {4, 8, 16}) {
    add(label("fp32_sum", 8, targets, 262144), {kFp32, HCCL_REDUCE_SUM, 8, targets, 262144});
  }
  const std::pair<const char*, HcclDataType> types[] = {
      {"int8", HCCL_DATA_TYPE_INT8},     {"int16", HCCL_DATA_TYPE_INT16},
      {"int32", HCCL_DATA_TYPE_INT32},   {"int64", HCCL_DATA_TYPE_INT64},
      {"uint64", HCCL_DATA_TYPE_UINT64}, {"fp16", HCCL_DATA_TYPE_FP16},
      {"fp32", HCCL_DATA_TYPE_FP32},     {"fp64", HCCL_DATA_TYPE_FP64},
      {"bfp16", HCCL_DATA_TYPE_BFP16}};
  const std::pair<const char*, HcclReduceOp> ops[] = {{"sum", HCCL_REDUCE_SUM},
                                                      {"prod", HCCL_REDUCE_PROD},
                                                      {"max", HCCL_REDUCE_MAX},
                                                      {"min", HCCL_REDUCE_MIN}};
  for (const auto& [typeLabel, type] : types) {
    for (const auto& [opLabel, op] : ops) {
      if (!supported(type, op)) continue;
      const std::string name = std::string("matrix/") + typeLabel + "_" + opLabel;
      add(label(name.c_str(), 2, 2, 262144), {type, op, 2, 2, 262144});
    }
  }
  for (int64_t simd : hwy::SupportedAndGeneratedTargets()) {
    for (const auto& [typeLabel, type] : {types[6], types[5], types[8]}) {
      const std::string name = std::string("simd/") + hwy::TargetName(simd) + "/" + typeLabel;
      add(label(name.c_str(), 2, 2, 262144), {type, HCCL_REDUCE_SUM, 2, 2, 262144, false, simd});
    }
  }
  for (size_t bytes : {size_t{64}, size_t{262144}, size_t{4} << 20, size_t{64} << 20}) {
    for (bool streaming : {false, true}) {
      const std::string name =
          std::string(streaming ? "copy_streaming/" : "copy/") + std::to_string(bytes);
      benchmark::RegisterBenchmark(name.c_str(), [bytes, streaming](benchmark::State& state) {
        runCopy(state, bytes, streaming);
      });
    }
  }
}

}  // namespace
}  // namespace hccl::reduce

int main(int argc, char** argv) {
  hccl::reduce::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
