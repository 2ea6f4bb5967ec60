// Element types for tests: sizes, names, which reductions are legal, input values that everybody
// can compute, and a serial reference. Written against the public contract only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hccl/hccl.h"

namespace hccl::multirank {

// All types that operations move, and those that they reduce.
const std::vector<HcclDataType>& movableTypes();
bool isReducible(HcclDataType type, HcclReduceOp op);
size_t elementSize(HcclDataType type);
const char* nameOf(HcclDataType type);
const char* nameOf(HcclReduceOp op);

// What inputs look like.
enum class Values : uint8_t {
  kBits,   // any bit pattern: for operations that move
  kExact,  // floating point: small whole numbers, so that every order of combining gives the same
  kRough,  // floating point: rounding matters, the order too
};

// Elements first .. first + count - 1 of the input named `key`.
void fillInput(void* out, HcclDataType type, HcclReduceOp op, Values values, uint64_t key,
               uint64_t first, uint64_t count);

// The same elements of all the inputs, combined in their order: fp16 and bf16 in float, rounded
// once.
void fillReduced(void* out, HcclDataType type, HcclReduceOp op, Values values,
                 const std::vector<uint64_t>& keys, uint64_t first, uint64_t count);

// A well mixed number.
uint64_t mix(uint64_t value);

// Conversions of the two half types: exact upwards, to nearest even downwards.
float fromHalf(uint16_t bits);
uint16_t toHalf(float value);
float fromBfloat(uint16_t bits);
uint16_t toBfloat(float value);

}  // namespace hccl::multirank
