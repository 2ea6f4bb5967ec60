#include "bench/parts/checker.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "bench/parts/types.h"

namespace hccl::bench {
namespace {

constexpr int kPoison = 0xa5;
constexpr uint64_t kMostTold = 8;  // wrong elements of a segment that --check 2 prints

}  // namespace

const Pattern& Checker::pattern(const Job& job, uint32_t source) {
  const auto found = patterns_.find(source);
  if (found != patterns_.end()) return found->second;
  std::optional<HcclReduceOp> op;
  if (operation_.reduces()) op = job.op;
  Pattern made = source == kReduced ? Pattern::reduced(job.type, job.op, job.ranks)
                                    : Pattern::input(job.type, op, source, job.ranks);
  return patterns_.emplace(source, std::move(made)).first->second;
}

void Checker::prepare(const Job& job, const Buffers& buffers) {
  const size_t size = typeInfo(job.type).bytes;
  std::memset(buffers.receive, kPoison, operation_.extent(job).receive * size);
  for (const Segment& segment : operation_.input(job)) {
    pattern(job, segment.source)
        .fill(static_cast<std::byte*>(buffers.send) + segment.offset * size, segment.count,
              segment.phase);
  }
}

bool Checker::isRight(const Job& job, const Buffers& buffers) {
  const size_t size = typeInfo(job.type).bytes;
  bool right = true;
  for (const Segment& segment : operation_.expected(job)) {
    const std::byte* actual = static_cast<std::byte*>(buffers.receive) + segment.offset * size;
    const std::optional<uint64_t> wrong =
        pattern(job, segment.source).firstDifference(actual, segment.count, segment.phase);
    if (!wrong) continue;
    if (right || mode_ == CheckMode::Verbose) tell(job, segment, actual, *wrong);
    right = false;
  }
  return right;
}

void Checker::tell(const Job& job, const Segment& segment, const void* actual, uint64_t wrong) {
  const Pattern& good = pattern(job, segment.source);
  if (job.rank != job.root) {
    std::printf("local rank_id %u, check result failed, first wrong element %" PRIu64
                " of a vector of %" PRIu64 "\n",
                job.rank, segment.offset + wrong, job.count);
  }
  uint64_t told = 0;
  for (uint64_t i = wrong; mode_ == CheckMode::Verbose && i < segment.count && told < kMostTold;
       ++i) {
    uint64_t is = 0;
    const size_t size = good.elementBytes();
    std::memcpy(&is, static_cast<const std::byte*>(actual) + i * size, size);
    const uint64_t mustBe = good.bits(segment.phase + i);
    if (is == mustBe) continue;
    std::printf("rank_id %u, element %" PRIu64 ": bits 0x%0*" PRIx64 ", expected 0x%0*" PRIx64 "\n",
                job.rank, segment.offset + i, static_cast<int>(2 * size), is,
                static_cast<int>(2 * size), mustBe);
    ++told;
  }
  std::fflush(stdout);
}

}  // namespace hccl::bench
