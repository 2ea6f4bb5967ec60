// The loop that all kernels share, compiled once per SIMD target.
//
// A kernel is an element class E: the memory lane type E::Mem, the accumulator E::V that one memory
// vector becomes, in() and out() between the two, op(), and save()/restore() of an accumulator.
// Up to kGroup sources and targets are handled with the accumulators in registers; more go through
// blocks that stay in the first-level cache.
#if defined(HCCL_REDUCE_KERNEL_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HCCL_REDUCE_KERNEL_LOOP_INL_H_
#undef HCCL_REDUCE_KERNEL_LOOP_INL_H_
#else
#define HCCL_REDUCE_KERNEL_LOOP_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "src/reduce/kernel_table.h"
#include "src/reduce/small_copy.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Above these many concurrent memory streams the hardware prefetchers lose track.
inline constexpr int kGroup = 8;
inline constexpr size_t kBlockBytes = 4096;
inline constexpr size_t kLine = 64;

// A lane type that is accumulated as it is.
template <typename T>
struct Plain {
  using Mem = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kAccRatio = 1;  // accumulator bytes per memory byte
  static HWY_INLINE V in(V m) { return m; }
  static HWY_INLINE V out(V v) { return v; }
  static HWY_INLINE void save(V v, uint8_t* to) { hn::Store(v, D(), reinterpret_cast<T*>(to)); }
  static HWY_INLINE V restore(const uint8_t* from) {
    return hn::Load(D(), reinterpret_cast<const T*>(from));
  }
};

template <class E>
struct Loop {
  using Mem = typename E::Mem;
  using D = hn::ScalableTag<Mem>;
  using V = typename E::V;
  using M = hn::Vec<D>;

  static HWY_INLINE const Mem* source(const Job& job, int s, size_t i) {
    return static_cast<const Mem*>(job.src[s]) + i;
  }
  static HWY_INLINE Mem* target(const Job& job, int t, size_t i) {
    return static_cast<Mem*>(job.dst[t]) + (i - job.dstBase);
  }
  static HWY_INLINE size_t accOffset(const Job& job, size_t i) {
    return (i - job.accBase) * sizeof(Mem) * E::kAccRatio;
  }
  static HWY_INLINE V first(const Job& job, size_t i) {
    if (HWY_UNLIKELY(job.accIn != nullptr)) return E::restore(job.accIn + accOffset(job, i));
    return E::in(hn::LoadU(D(), source(job, 0, i)));
  }

  static HWY_INLINE void step4(const Job& job, size_t i) {
    const D d;
    const size_t n = hn::Lanes(d);
    V a0 = first(job, i);
    V a1 = first(job, i + n);
    V a2 = first(job, i + 2 * n);
    V a3 = first(job, i + 3 * n);
    for (int s = job.accIn != nullptr ? 0 : 1; s < job.sources; ++s) {
      const Mem* from = source(job, s, i);
      a0 = E::op(a0, E::in(hn::LoadU(d, from)));
      a1 = E::op(a1, E::in(hn::LoadU(d, from + n)));
      a2 = E::op(a2, E::in(hn::LoadU(d, from + 2 * n)));
      a3 = E::op(a3, E::in(hn::LoadU(d, from + 3 * n)));
    }
    if (HWY_UNLIKELY(job.accOut != nullptr)) {
      E::save(a0, job.accOut + accOffset(job, i));
      E::save(a1, job.accOut + accOffset(job, i + n));
      E::save(a2, job.accOut + accOffset(job, i + 2 * n));
      E::save(a3, job.accOut + accOffset(job, i + 3 * n));
      return;
    }
    const M m0 = E::out(a0), m1 = E::out(a1), m2 = E::out(a2), m3 = E::out(a3);
    for (int t = 0; t < job.targets; ++t) {
      Mem* to = target(job, t, i);
      if ((job.streamMask >> t) & 1) {
        hn::Stream(m0, d, to);
        hn::Stream(m1, d, to + n);
        hn::Stream(m2, d, to + 2 * n);
        hn::Stream(m3, d, to + 3 * n);
      } else {
        hn::StoreU(m0, d, to);
        hn::StoreU(m1, d, to + n);
        hn::StoreU(m2, d, to + 2 * n);
        hn::StoreU(m3, d, to + 3 * n);
      }
    }
  }

  static HWY_INLINE void step1(const Job& job, size_t i) {
    const D d;
    V a = first(job, i);
    for (int s = job.accIn != nullptr ? 0 : 1; s < job.sources; ++s) {
      a = E::op(a, E::in(hn::LoadU(d, source(job, s, i))));
    }
    if (HWY_UNLIKELY(job.accOut != nullptr)) {
      E::save(a, job.accOut + accOffset(job, i));
      return;
    }
    const M m = E::out(a);
    for (int t = 0; t < job.targets; ++t) hn::StoreU(m, d, target(job, t, i));
  }

// The last, incomplete vector. Nothing beyond it is written, not even with its old value: the
// neighbour may belong to another thread. Highway's masked stores keep that promise only where
// masked memory operations are native.
#if HWY_MEM_OPS_MIGHT_FAULT
  static HWY_INLINE M loadPart(const Mem* from, size_t count) {
    alignas(kLine) uint8_t part[HWY_MAX_BYTES] = {};
    copySmall(part, from, count * sizeof(Mem));
    return hn::Load(D(), reinterpret_cast<const Mem*>(part));
  }
  static HWY_INLINE void storePart(M m, Mem* to, size_t count) {
    alignas(kLine) uint8_t part[HWY_MAX_BYTES];
    hn::Store(m, D(), reinterpret_cast<Mem*>(part));
    copySmall(to, part, count * sizeof(Mem));
  }
#else
  static HWY_INLINE M loadPart(const Mem* from, size_t count) {
    return hn::MaskedLoad(hn::FirstN(D(), count), D(), from);
  }
  static HWY_INLINE void storePart(M m, Mem* to, size_t count) {
    hn::BlendedStore(m, hn::FirstN(D(), count), D(), to);
  }
#endif

  static HWY_INLINE void tail(const Job& job, size_t i, size_t count) {
    V a = job.accIn != nullptr ? E::restore(job.accIn + accOffset(job, i))
                               : E::in(loadPart(source(job, 0, i), count));
    for (int s = job.accIn != nullptr ? 0 : 1; s < job.sources; ++s) {
      a = E::op(a, E::in(loadPart(source(job, s, i), count)));
    }
    if (job.accOut != nullptr) {
      E::save(a, job.accOut + accOffset(job, i));
      return;
    }
    const M m = E::out(a);
    for (int t = 0; t < job.targets; ++t) storePart(m, target(job, t, i), count);
  }

  // Elements [begin, end).
  static HWY_INLINE void stretch(const Job& job, size_t begin, size_t end) {
    const size_t n = hn::Lanes(D());
    size_t i = begin;
    for (; i + 4 * n <= end; i += 4 * n) step4(job, i);
    for (; i + n <= end; i += n) step1(job, i);
    if (i < end) tail(job, i, end - i);
  }
  static HWY_NOINLINE void blockStretch(const Job& job, size_t begin, size_t end) {
    stretch(job, begin, end);
  }

  // Elements before target 0 reaches a cache line, and which targets are then aligned.
  static HWY_INLINE size_t alignment(void* const* dst, int targets, size_t count, uint64_t* mask) {
    const size_t off = (kLine - reinterpret_cast<uintptr_t>(dst[0]) % kLine) % kLine;
    const size_t peel = off / sizeof(Mem);
    *mask = 0;
    if (off % sizeof(Mem) != 0 || peel >= count) return 0;
    for (int t = 0; t < targets; ++t) {
      const uintptr_t at = reinterpret_cast<uintptr_t>(dst[t]) + off;
      if (at % (hn::Lanes(D()) * sizeof(Mem)) == 0) *mask |= uint64_t{1} << t;
    }
    return peel;
  }

  static HWY_NOINLINE void blocked(void* const* dst, int targets, const void* const* src,
                                   int sources, size_t count, size_t peel, uint64_t mask) {
    alignas(kLine) uint8_t acc[kBlockBytes * E::kAccRatio];
    alignas(kLine) uint8_t out[kBlockBytes];
    void* const outOnly[1] = {out};
    const bool manyTargets = targets > kGroup;
    size_t length = peel > 0 ? peel : kBlockBytes / sizeof(Mem);
    for (size_t b = 0; b < count; b += length, length = kBlockBytes / sizeof(Mem)) {
      length = std::min(length, count - b);
      for (int g = 0; g < sources; g += kGroup) {
        Job job;
        job.src = src + g;
        job.sources = std::min(kGroup, sources - g);
        job.accIn = g > 0 ? acc : nullptr;
        job.accOut = g + kGroup < sources ? acc : nullptr;
        job.accBase = b;
        job.dst = manyTargets ? outOnly : dst;
        job.targets = manyTargets ? 1 : targets;
        job.dstBase = manyTargets ? b : 0;
        job.streamMask = manyTargets || b < peel ? 0 : mask;
        blockStretch(job, b, b + length);
      }
      if (!manyTargets) continue;
      for (int t = 0; t < targets; ++t) {
        Mem* to = static_cast<Mem*>(dst[t]) + b;
        if (((mask >> t) & 1) && b >= peel) {
          streamBlock(to, reinterpret_cast<const Mem*>(out), length);
        } else {
          std::memcpy(to, out, length * sizeof(Mem));
        }
      }
    }
  }

  static HWY_INLINE void streamBlock(Mem* to, const Mem* from, size_t count) {
    const D d;
    const size_t n = hn::Lanes(d);
    size_t i = 0;
    for (; i + n <= count; i += n) hn::Stream(hn::Load(d, from + i), d, to + i);
    if (i < count) std::memcpy(to + i, from + i, (count - i) * sizeof(Mem));
  }
};

template <class E>
void combineKernel(void* const* dst, int targets, const void* const* src, int sources, size_t count,
                   bool streamingStores) {
  uint64_t mask = 0;
  size_t peel = 0;
  if (streamingStores) peel = Loop<E>::alignment(dst, targets, count, &mask);
  if (HWY_UNLIKELY(sources > kGroup || targets > kGroup)) {
    Loop<E>::blocked(dst, targets, src, sources, count, peel, mask);
  } else {
    Job job;
    job.dst = dst;
    job.targets = targets;
    job.src = src;
    job.sources = sources;
    if (peel > 0) Loop<E>::blockStretch(job, 0, peel);
    job.streamMask = mask;
    Loop<E>::stretch(job, peel, count);
  }
  if (streamingStores) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#endif  // HCCL_REDUCE_KERNEL_LOOP_INL_H_
