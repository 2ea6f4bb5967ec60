#include "bench/parts/operation.h"

namespace hccl::bench {

std::vector<Segment> Operation::input(const Job& job) const {
  return {{0, extent(job).send, job.rank, 0}};
}

double shareOfOthers(double ranks) {
  return (ranks - 1) / ranks;
}

uint64_t unevenPart(uint64_t average, uint32_t index, uint32_t parts) {
  const uint64_t difference = average / 4;
  if (index % 2 != 0) return average - difference;
  return index + 1 < parts ? average + difference : average;
}

void Parts::add(uint64_t count) {
  offsets.push_back(total);
  counts.push_back(count);
  total += count;
}

Parts unevenParts(uint64_t average, uint32_t parts) {
  Parts result;
  for (uint32_t i = 0; i < parts; ++i) result.add(unevenPart(average, i, parts));
  return result;
}

uint64_t exchanged(const Job& job, uint32_t from, uint32_t to) {
  return unevenPart(job.part(), (from + to) % job.ranks, job.ranks);
}

Parts sentParts(const Job& job, uint32_t from) {
  Parts result;
  for (uint32_t to = 0; to < job.ranks; ++to) result.add(exchanged(job, from, to));
  return result;
}

Parts receivedParts(const Job& job, uint32_t to) {
  Parts result;
  for (uint32_t from = 0; from < job.ranks; ++from) result.add(exchanged(job, from, to));
  return result;
}

std::vector<Segment> exchangedSegments(const Job& job) {
  const Parts received = receivedParts(job, job.rank);
  std::vector<Segment> segments;
  for (uint32_t from = 0; from < job.ranks; ++from) {
    const uint64_t phase = sentParts(job, from).offsets[job.rank];
    segments.push_back({received.offsets[from], received.counts[from], from, phase});
  }
  return segments;
}

}  // namespace hccl::bench
