#include "tests/unit/reduce/reference.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hccl::reduce::test {
namespace {

struct Format {
  int fraction;     // bits
  int minExponent;  // of the smallest normal number
  int maxExponent;
};
constexpr Format kFp16{10, -14, 15};
constexpr Format kBfp16{7, -126, 127};

double decode(uint16_t bits, Format f) {
  const int bias = f.maxExponent;
  const int exponent = (bits & 0x7FFF) >> f.fraction;
  const int fraction = bits & ((1 << f.fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 2 * bias + 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, f.minExponent - f.fraction);
  return sign * std::ldexp(fraction + (1 << f.fraction), exponent - bias - f.fraction);
}

uint16_t encode(double value, Format f) {
  const auto infinity = static_cast<uint16_t>((2 * f.maxExponent + 1) << f.fraction);
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | (1 << (f.fraction - 1)));
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | infinity;
  const int exponent = std::max(std::ilogb(size), f.minExponent);
  // In units of the last place; both steps are exact but for the rounding itself.
  const double units = std::nearbyint(std::ldexp(size, f.fraction - exponent));
  const double rounded = std::ldexp(units, exponent - f.fraction);
  if (rounded >= std::ldexp(1.0, f.maxExponent + 1)) return sign | infinity;
  if (rounded < std::ldexp(1.0, f.minExponent)) return sign | static_cast<uint16_t>(units);
  const int e = std::ilogb(rounded);
  const auto fraction = static_cast<int>(std::ldexp(rounded, f.fraction - e)) - (1 << f.fraction);
  return static_cast<uint16_t>(sign | ((e + f.maxExponent) << f.fraction) | fraction);
}

template <typename T>
T combineTwo(T a, T b, HcclReduceOp op) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == HCCL_REDUCE_SUM) return a + b;
    if (op == HCCL_REDUCE_PROD) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    const bool aFirst = a < b || (a == b && std::signbit(a));
    return aFirst == (op == HCCL_REDUCE_MIN) ? a : b;
  } else {
    if (op == HCCL_REDUCE_SUM) return static_cast<T>(uint64_t(a) + uint64_t(b));
    if (op == HCCL_REDUCE_PROD) return static_cast<T>(uint64_t(a) * uint64_t(b));
    return (a < b) == (op == HCCL_REDUCE_MIN) ? a : b;
  }
}

// T: storage, A: the type it is accumulated in.
template <typename T, typename A, A (*kWiden)(T), T (*kNarrow)(A)>
Bytes run(const std::vector<Bytes>& sources, size_t count, HcclReduceOp op) {
  Bytes out(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    T lane;
    std::memcpy(&lane, sources[0].data() + i * sizeof(T), sizeof(T));
    A acc = kWiden(lane);
    for (size_t s = 1; s < sources.size(); ++s) {
      std::memcpy(&lane, sources[s].data() + i * sizeof(T), sizeof(T));
      acc = combineTwo<A>(acc, kWiden(lane), op);
    }
    lane = kNarrow(acc);
    std::memcpy(out.data() + i * sizeof(T), &lane, sizeof(T));
  }
  return out;
}

template <typename T>
T same(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return std::numeric_limits<T>::quiet_NaN();
  }
  return value;
}
template <typename T>
Bytes runPlain(const std::vector<Bytes>& sources, size_t count, HcclReduceOp op) {
  return run<T, T, same<T>, same<T>>(sources, count, op);
}

float fp16Widen(uint16_t bits) {
  return static_cast<float>(fp16ToDouble(bits));
}
uint16_t fp16Narrow(float value) {
  return doubleToFp16(value);
}
float bfp16Widen(uint16_t bits) {
  return static_cast<float>(bfp16ToDouble(bits));
}
uint16_t bfp16Narrow(float value) {
  return doubleToBfp16(value);
}

template <typename T>
void put(Bytes& bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

}  // namespace

double fp16ToDouble(uint16_t bits) {
  return decode(bits, kFp16);
}
double bfp16ToDouble(uint16_t bits) {
  return decode(bits, kBfp16);
}
uint16_t doubleToFp16(double value) {
  return encode(value, kFp16);
}
uint16_t doubleToBfp16(double value) {
  return encode(value, kBfp16);
}

Bytes referenceCombine(const std::vector<Bytes>& sources, size_t count, HcclDataType type,
                       HcclReduceOp op) {
  if (sources.size() == 1) {  // a copy, NaN payloads included
    return Bytes(sources[0].begin(), sources[0].begin() + count * typeSize(type));
  }
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      return runPlain<int8_t>(sources, count, op);
    case HCCL_DATA_TYPE_INT16:
      return runPlain<int16_t>(sources, count, op);
    case HCCL_DATA_TYPE_INT32:
      return runPlain<int32_t>(sources, count, op);
    case HCCL_DATA_TYPE_INT64:
      return runPlain<int64_t>(sources, count, op);
    case HCCL_DATA_TYPE_UINT64:
      return runPlain<uint64_t>(sources, count, op);
    case HCCL_DATA_TYPE_FP32:
      return runPlain<float>(sources, count, op);
    case HCCL_DATA_TYPE_FP64:
      return runPlain<double>(sources, count, op);
    case HCCL_DATA_TYPE_FP16:
      return run<uint16_t, float, fp16Widen, fp16Narrow>(sources, count, op);
    case HCCL_DATA_TYPE_BFP16:
      return run<uint16_t, float, bfp16Widen, bfp16Narrow>(sources, count, op);
    default:
      return {};
  }
}

Bytes makeInput(std::mt19937_64& random, size_t count, HcclDataType type) {
  Bytes bytes(count * typeSize(type));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    const auto kind = random() % 16;
    double value = std::ldexp(static_cast<double>(bits % 4001) - 2000.0, -8);
    if (kind == 0) value = -0.0;
    if (kind == 1) value = 0.0;
    if (kind == 2) value = static_cast<double>(bits % 5) - 2.0;
    const bool raw = kind >= 14;
    switch (type) {
      case HCCL_DATA_TYPE_FP16:
        put(bytes, i, raw ? static_cast<uint16_t>(bits) : doubleToFp16(value));
        break;
      case HCCL_DATA_TYPE_BFP16:
        put(bytes, i, raw ? static_cast<uint16_t>(bits) : doubleToBfp16(value));
        break;
      case HCCL_DATA_TYPE_FP32:
        raw ? put(bytes, i, static_cast<uint32_t>(bits)) : put(bytes, i, static_cast<float>(value));
        break;
      case HCCL_DATA_TYPE_FP64:
        raw ? put(bytes, i, bits) : put(bytes, i, value);
        break;
      default:
        std::memcpy(bytes.data() + i * typeSize(type), &bits, typeSize(type));
    }
  }
  return bytes;
}

const std::vector<HcclDataType>& reducibleTypes() {
  static const std::vector<HcclDataType> types = {
      HCCL_DATA_TYPE_INT8,  HCCL_DATA_TYPE_INT16,  HCCL_DATA_TYPE_INT32,
      HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP16,
      HCCL_DATA_TYPE_FP32,  HCCL_DATA_TYPE_FP64,   HCCL_DATA_TYPE_BFP16};
  return types;
}

const std::vector<HcclReduceOp>& allOps() {
  static const std::vector<HcclReduceOp> ops = {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX,
                                                HCCL_REDUCE_MIN};
  return ops;
}

std::string typeName(HcclDataType type) {
  static const char* const names[] = {"int8",   "int16", "int32",  "fp16",   "fp32", "int64",
                                      "uint64", "uint8", "uint16", "uint32", "fp64", "bfp16"};
  return names[type];
}

std::vector<int64_t> usableTargets() {
  return hwy::SupportedAndGeneratedTargets();
}

}  // namespace hccl::reduce::test
