// What combine() has to compute, one element after the other, written without the library's code.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "src/reduce/kernel_table.h"
#include "src/reduce/reduce.h"

namespace hccl::reduce::test {

using Bytes = std::vector<uint8_t>;

// Bits of an fp16 or bfp16 number, exactly.
double fp16ToDouble(uint16_t bits);
double bfp16ToDouble(uint16_t bits);
// To nearest even; NaN becomes the positive quiet one.
uint16_t doubleToFp16(double value);
uint16_t doubleToBfp16(double value);

// sources[0] op sources[1] op ..., `count` elements each.
Bytes referenceCombine(const std::vector<Bytes>& sources, size_t count, HcclDataType type,
                       HcclReduceOp op);

// `count` elements: ordinary numbers, small ones that collide and tie, random bits (so denormals,
// NaN and infinities too) and signed zeros.
Bytes makeInput(std::mt19937_64& random, size_t count, HcclDataType type);

const std::vector<HcclDataType>& reducibleTypes();
const std::vector<HcclReduceOp>& allOps();
std::string typeName(HcclDataType type);

// Every SIMD target that is compiled in and that this CPU has.
std::vector<int64_t> usableTargets();

// Lets combine() and copy() use `target` only, until destroyed.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    chooseKernelsAgainForTest();
  }
  ~OnlyTarget() {
    hwy::SetSupportedTargetsForTest(0);
    chooseKernelsAgainForTest();
  }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

}  // namespace hccl::reduce::test
