#include "src/verify/world.h"

#include <algorithm>
#include <cstring>

namespace hccl::verify {
namespace {

// AlltoAllV knows no size that all ranks share: its grid is that of a large operation.
constexpr uint64_t kUnknownCount = 1ULL << 40;

// Some blocks empty, none like its neighbour, gaps between them.
Counts varyingCounts(uint64_t most, uint32_t ranks) {
  std::vector<uint64_t> counts(ranks);
  std::vector<uint64_t> displs(ranks);
  uint64_t end = 0;
  for (uint32_t b = 0; b < ranks; ++b) {
    counts[b] = b % 3 == 1 ? 0 : most - std::min<uint64_t>(most, b % 7);
    displs[b] = end + b;
    end = displs[b] + counts[b];
  }
  Counts all;
  all.input.assign(ranks, counts);
  all.output.assign(ranks, counts);
  all.inputDispls.assign(ranks, displs);
  all.outputDispls.assign(ranks, displs);
  return all;
}

uint64_t pairCount(uint64_t count, uint32_t from, uint32_t to) {
  return (from + to) % 4 == 3 ? 0 : count + from % 5 * 3 + to % 7 * 11;
}

Counts pairCounts(uint64_t count, uint32_t ranks) {
  Counts all;
  for (uint32_t r = 0; r < ranks; ++r) {
    std::vector<uint64_t> in(ranks), out(ranks), inDispls(ranks), outDispls(ranks);
    uint64_t inEnd = 0;
    uint64_t outEnd = 0;
    for (uint32_t q = 0; q < ranks; ++q) {
      in[q] = pairCount(count, r, q);
      out[q] = pairCount(count, q, r);
      inDispls[q] = inEnd + q % 2;
      outDispls[q] = outEnd + q % 3;
      inEnd = inDispls[q] + in[q];
      outEnd = outDispls[q] + out[q];
    }
    all.input.push_back(in);
    all.output.push_back(out);
    all.inputDispls.push_back(inDispls);
    all.outputDispls.push_back(outDispls);
  }
  return all;
}

class Digest {
 public:
  void add(uint64_t value) {
    h_ = (h_ ^ value) * 0x9e3779b97f4a7c15ULL;
    h_ ^= h_ >> 29;
  }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0xcbf29ce484222325ULL;
};

}  // namespace

void setGeometry(const WorldSpec& spec, World& world) {
  const bool perPair = spec.op.type == HCCL_CMD_ALLTOALLV || spec.op.type == HCCL_CMD_ALLTOALLVC;
  const bool varying = plan::hasVaryingBlocks(spec.op.type);
  if (perPair) {
    world.counts = std::make_shared<const Counts>(pairCounts(spec.op.count, world.ranks));
  } else if (varying) {
    world.counts = std::make_shared<const Counts>(varyingCounts(spec.op.count, world.ranks));
  }
  for (uint32_t r = 0; r < world.ranks; ++r) {
    plan::Geometry g;
    g.vector = world.plans[r].vector;
    g.elementSize = spec.elementSize;
    g.blocks = world.plans[r].blocks;
    g.total = perPair ? 0 : spec.op.count;
    g.capacity = plan::Geometry::chooseCapacity(
        g.vector, g.elementSize, g.blocks, perPair ? kUnknownCount : spec.op.count,
        3 * g.blocks + world.ranks, spec.bufferBytes, spec.chunkBytes);
    uint64_t most = spec.op.count;
    if (world.counts != nullptr) {
      g.inputCounts = world.counts->input[r].data();
      g.outputCounts = world.counts->output[r].data();
      g.inputDispls = world.counts->inputDispls[r].data();
      g.outputDispls = world.counts->outputDispls[r].data();
    }
    if (perPair) {
      for (uint64_t count : world.counts->input[r]) most = std::max(most, count);
      for (uint64_t count : world.counts->output[r]) most = std::max(most, count);
    }
    g.setIterations(most);
    world.geometry.push_back(g);
  }
}

World buildWorld(const WorldSpec& spec) {
  World world;
  world.op = spec.op;
  world.ranks = spec.topology.rankCount;
  world.strict = spec.strict;
  world.bufferBytes = spec.bufferBytes;
  const plan::Schedule schedule = plan::compose(spec.op, spec.topology, spec.choice);
  world.name = schedule.name;
  world.plans.reserve(world.ranks);
  for (uint32_t r = 0; r < world.ranks; ++r) {
    world.plans.push_back(
        plan::lower(spec.op, schedule, r, [&](uint32_t peer) { return spec.link(r, peer); }));
  }
  setGeometry(spec, world);
  return world;
}

uint64_t digestOf(const plan::Plan& plan) {
  Digest d;
  for (uint64_t field :
       {uint64_t{plan.rank}, uint64_t{plan.blocks}, uint64_t{plan.rounds}, uint64_t{plan.vector},
        static_cast<uint64_t>(plan.inputShape), static_cast<uint64_t>(plan.outputShape),
        uint64_t{plan.pairRelative}, uint64_t{plan.scratchBlocks}, uint64_t{plan.lanes}}) {
    d.add(field);
  }
  for (const plan::Step& s : plan.steps) {
    d.add(static_cast<uint64_t>(s.kind) | uint64_t{s.lane} << 8 | uint64_t{s.round} << 24 |
          uint64_t{s.peer} << 40);
    d.add(uint64_t{s.targets} << 32 | s.sources);
    for (uint32_t i = 0; i < s.segments; ++i) {
      const plan::Segment& segment = plan.segmentPool[s.segment + i];
      d.add(uint64_t{segment.run} << 32 | segment.lengthBlock);
      d.add(segment.lengthOutput ? 1 : 0);
      for (uint32_t o = 0; o < uint32_t{s.targets} + s.sources; ++o) {
        const plan::Ref& ref = plan.refs[segment.refs + o];
        d.add(uint64_t{ref.block} << 8 | static_cast<uint64_t>(ref.buffer));
        d.add(plan.operandRanks[s.operand + o]);
      }
    }
    for (uint32_t i = 0; i < s.deps; ++i) d.add(plan.deps[s.dep + i]);
  }
  return d.value();
}

}  // namespace hccl::verify
