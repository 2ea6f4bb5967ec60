#include "bench/parts/number.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hccl::bench {
namespace {

uint64_t truncate(uint64_t bits, size_t bytes) {
  return bytes == 8 ? bits : bits & ((1ULL << (8 * bytes)) - 1);
}

int64_t signExtend(uint64_t bits, size_t bytes) {
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(bits << unused) >> unused;
}

// The bits of a value that the type represents exactly and as a normal number, or of zero.
uint64_t encode(const TypeInfo& type, double value) {
  if (value == 0) return 0;
  const auto single = std::bit_cast<uint32_t>(static_cast<float>(value));
  switch (type.type) {
    case HCCL_DATA_TYPE_FP64:
      return std::bit_cast<uint64_t>(value);
    case HCCL_DATA_TYPE_BFP16:
      return single >> 16;
    case HCCL_DATA_TYPE_FP16:  // sign, exponent with bias 15 instead of 127, 10 bits of 23
      return ((single >> 16) & 0x8000U) | ((((single >> 23) & 0xffU) - 112) << 10) |
             ((single >> 13) & 0x3ffU);
    default:
      return single;
  }
}

double floatingFactor(uint32_t rank, uint32_t ranks, uint64_t index) {
  double factor = (mix(rank, index) & 1) != 0 ? -1 : 1;
  if (index % ranks == rank) factor *= 2;
  if (index / 2 % ranks == rank) factor *= 3;
  return factor;
}

double floatingContribution(const TypeInfo& type, HcclReduceOp op, uint32_t rank, uint32_t ranks,
                            uint64_t index) {
  if (op == HCCL_REDUCE_PROD) return floatingFactor(rank, ranks, index);
  // With more ranks than the type can count, only some of them contribute to an element.
  const auto stride = static_cast<uint64_t>(std::ceil(ranks / type.exactIntegers));
  if ((rank + index) % stride != 0) return 0;
  const double limit = std::clamp(std::floor(type.exactIntegers / ranks), 1.0, 1000.0);
  const auto choices = static_cast<uint64_t>(2 * limit + 1);
  return static_cast<double>(mix(rank, index) % choices) - limit;
}

double combineFloating(HcclReduceOp op, double a, double b) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return a + b;
    case HCCL_REDUCE_PROD:
      return a * b;
    case HCCL_REDUCE_MIN:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

bool isLess(const TypeInfo& type, uint64_t a, uint64_t b) {
  if (type.kind == Kind::Signed) return signExtend(a, type.bytes) < signExtend(b, type.bytes);
  return a < b;
}

uint64_t combineInteger(const TypeInfo& type, HcclReduceOp op, uint64_t a, uint64_t b) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return truncate(a + b, type.bytes);
    case HCCL_REDUCE_PROD:
      return truncate(a * b, type.bytes);
    case HCCL_REDUCE_MIN:
      return isLess(type, a, b) ? a : b;
    default:
      return isLess(type, a, b) ? b : a;
  }
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a + 1) * 0x9e3779b97f4a7c15ULL + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t contribution(const TypeInfo& type, HcclReduceOp op, uint32_t rank, uint32_t ranks,
                      uint64_t index) {
  if (type.kind == Kind::Floating) {
    return encode(type, floatingContribution(type, op, rank, ranks, index));
  }
  return truncate(mix(rank, index) | (op == HCCL_REDUCE_PROD ? 1U : 0U), type.bytes);
}

uint64_t combined(const TypeInfo& type, HcclReduceOp op, uint32_t ranks, uint64_t index) {
  if (type.kind == Kind::Floating) {
    double total = floatingContribution(type, op, 0, ranks, index);
    for (uint32_t rank = 1; rank < ranks; ++rank) {
      total = combineFloating(op, total, floatingContribution(type, op, rank, ranks, index));
    }
    return encode(type, total);
  }
  uint64_t total = contribution(type, op, 0, ranks, index);
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    total = combineInteger(type, op, total, contribution(type, op, rank, ranks, index));
  }
  return total;
}

}  // namespace hccl::bench
