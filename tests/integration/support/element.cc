#include "tests/integration/support/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace hccl::multirank {
namespace {

// How a type is read and written, and the type in which it is combined.
template <typename Stored, typename Wide, Wide (*load)(Stored), Stored (*store)(Wide)>
struct Codec {
  using StoredType = Stored;
  using WideType = Wide;
  static Wide widen(Stored value) { return load(value); }
  static Stored narrow(Wide value) { return store(value); }
};
template <typename T>
T same(T value) {
  return value;
}
template <typename T>
using Plain = Codec<T, T, same<T>, same<T>>;
using Half = Codec<uint16_t, float, fromHalf, toHalf>;
using Bfloat = Codec<uint16_t, float, fromBfloat, toBfloat>;

template <typename T>
T combine(T a, T b, HcclReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    // Sums and products wrap.
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if (op == HCCL_REDUCE_SUM) return static_cast<T>(x + y);
    if (op == HCCL_REDUCE_PROD) return static_cast<T>(x * y);
  } else {
    if (op == HCCL_REDUCE_SUM) return a + b;
    if (op == HCCL_REDUCE_PROD) return a * b;
  }
  if (op == HCCL_REDUCE_MAX) return a < b ? b : a;
  return b < a ? b : a;
}

template <typename Wide>
Wide valueOf(uint64_t bits, HcclReduceOp op, Values values) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(bits);
  } else {
    const auto whole = static_cast<int32_t>(bits >> 33 & 0xff);  // 0 .. 255
    if (values == Values::kRough) {
      const auto fraction =
          static_cast<Wide>(static_cast<int32_t>(bits & 0xffff) - 32768) / Wide(9973);
      return op == HCCL_REDUCE_PROD ? Wide(1) + fraction / Wide(16) : fraction;
    }
    if (op == HCCL_REDUCE_PROD)
      return static_cast<Wide>((whole & 1) + 1) * ((whole & 2) != 0 ? -1 : 1);
    if (op == HCCL_REDUCE_SUM) return static_cast<Wide>(whole % 17 - 8);
    return static_cast<Wide>(whole % 201 - 100);
  }
}

uint64_t bitsOf(uint64_t key, uint64_t index) {
  return mix(key + index * 0x9e3779b97f4a7c15ULL);
}

template <typename C>
struct Kernel {
  using Stored = typename C::StoredType;
  using Wide = typename C::WideType;

  static Stored input(HcclReduceOp op, Values values, uint64_t key, uint64_t index) {
    const uint64_t bits = bitsOf(key, index);
    if (values == Values::kBits) {
      Stored stored;
      std::memcpy(&stored, &bits, sizeof(stored));
      return stored;
    }
    return C::narrow(valueOf<Wide>(bits, op, values));
  }
  static void fill(void* out, HcclReduceOp op, Values values, uint64_t key, uint64_t first,
                   uint64_t count) {
    auto* to = static_cast<unsigned char*>(out);
    for (uint64_t i = 0; i < count; ++i) {
      const Stored stored = input(op, values, key, first + i);
      std::memcpy(to + i * sizeof(Stored), &stored, sizeof(stored));
    }
  }
  static void reduce(void* out, HcclReduceOp op, Values values, const std::vector<uint64_t>& keys,
                     uint64_t first, uint64_t count) {
    auto* to = static_cast<unsigned char*>(out);
    for (uint64_t i = 0; i < count; ++i) {
      Wide sum = C::widen(input(op, values, keys[0], first + i));
      for (size_t k = 1; k < keys.size(); ++k) {
        sum = combine<Wide>(sum, C::widen(input(op, values, keys[k], first + i)), op);
      }
      const Stored stored = C::narrow(sum);
      std::memcpy(to + i * sizeof(Stored), &stored, sizeof(stored));
    }
  }
};

template <typename Run>
void withType(HcclDataType type, const Run& run) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      return run(Kernel<Plain<int8_t>>());
    case HCCL_DATA_TYPE_INT16:
      return run(Kernel<Plain<int16_t>>());
    case HCCL_DATA_TYPE_INT32:
      return run(Kernel<Plain<int32_t>>());
    case HCCL_DATA_TYPE_INT64:
      return run(Kernel<Plain<int64_t>>());
    case HCCL_DATA_TYPE_UINT16:
      return run(Kernel<Plain<uint16_t>>());
    case HCCL_DATA_TYPE_UINT32:
      return run(Kernel<Plain<uint32_t>>());
    case HCCL_DATA_TYPE_UINT64:
      return run(Kernel<Plain<uint64_t>>());
    case HCCL_DATA_TYPE_FP16:
      return run(Kernel<Half>());
    case HCCL_DATA_TYPE_BFP16:
      return run(Kernel<Bfloat>());
    case HCCL_DATA_TYPE_FP32:
      return run(Kernel<Plain<float>>());
    case HCCL_DATA_TYPE_FP64:
      return run(Kernel<Plain<double>>());
    default:
      return run(Kernel<Plain<uint8_t>>());
  }
}

}  // namespace

uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
  return value ^ value >> 31;
}

float fromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude;
  if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t toHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7c00);
  // In units of the last place at this size: denormals share the smallest normal's.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const float units = std::nearbyint(std::ldexp(magnitude, -unit));  // to nearest even, exact input
  // Normal numbers hold 1024 .. 2047 units; 2048 carries into the exponent by itself.
  const auto whole = static_cast<uint32_t>(units);
  return static_cast<uint16_t>(sign | (whole + (static_cast<uint32_t>(unit + 24) << 10)));
}

float fromBfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t toBfloat(float value) {
  if (std::isnan(value)) return 0x7fc0;
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

const std::vector<HcclDataType>& movableTypes() {
  static const std::vector<HcclDataType> all = {
      HCCL_DATA_TYPE_INT8,   HCCL_DATA_TYPE_INT16,   HCCL_DATA_TYPE_INT32,
      HCCL_DATA_TYPE_FP16,   HCCL_DATA_TYPE_FP32,    HCCL_DATA_TYPE_INT64,
      HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_UINT8,   HCCL_DATA_TYPE_UINT16,
      HCCL_DATA_TYPE_UINT32, HCCL_DATA_TYPE_FP64,    HCCL_DATA_TYPE_BFP16,
      HCCL_DATA_TYPE_HIF8,   HCCL_DATA_TYPE_FP8E4M3, HCCL_DATA_TYPE_FP8E5M2,
      HCCL_DATA_TYPE_FP8E8M0};
  return all;
}

bool isReducible(HcclDataType type, HcclReduceOp op) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
    case HCCL_DATA_TYPE_FP64:
      return true;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_BFP16:
      return op != HCCL_REDUCE_PROD;
    default:
      return false;
  }
}

size_t elementSize(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
      return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
      return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return 8;
    default:
      return 1;
  }
}

const char* nameOf(HcclDataType type) {
  static const char* const names[] = {
      "int8",   "int16", "int32", "fp16",   "fp32",   "int64", "uint64",  "uint8",   "uint16",
      "uint32", "fp64",  "bfp16", "int128", "none13", "hif8",  "fp8e4m3", "fp8e5m2", "fp8e8m0"};
  return type < std::size(names) ? names[type] : "unknown";
}

const char* nameOf(HcclReduceOp op) {
  static const char* const names[] = {"sum", "prod", "max", "min"};
  return op < std::size(names) ? names[op] : "unknown";
}

void fillInput(void* out, HcclDataType type, HcclReduceOp op, Values values, uint64_t key,
               uint64_t first, uint64_t count) {
  withType(type, [&](auto kernel) { kernel.fill(out, op, values, key, first, count); });
}

void fillReduced(void* out, HcclDataType type, HcclReduceOp op, Values values,
                 const std::vector<uint64_t>& keys, uint64_t first, uint64_t count) {
  withType(type, [&](auto kernel) { kernel.reduce(out, op, values, keys, first, count); });
}

}  // namespace hccl::multirank
