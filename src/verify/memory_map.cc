#include "src/verify/memory_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace hccl::verify {

using plan::Buffer;
using plan::BufferShape;
using plan::Geometry;
using plan::Plan;

namespace {

uint64_t windowBlocks(BufferShape shape, uint32_t blocks) {
  return shape == BufferShape::kSingle ? 1 : blocks;
}

// Elements from the start of the caller's buffer to its end.
uint64_t extent(const Geometry& g, bool output, BufferShape shape, uint32_t rank) {
  if (g.vector) return g.total;
  const uint64_t* counts = output ? g.outputCounts : g.inputCounts;
  const uint64_t* displs = output ? g.outputDispls : g.inputDispls;
  if (shape == BufferShape::kSingle) return counts != nullptr ? counts[rank] : g.total;
  if (counts == nullptr) return g.total * g.blocks;
  uint64_t end = 0;
  for (uint32_t b = 0; b < g.blocks; ++b) end = std::max(end, displs[b] + counts[b]);
  return end;
}

uint64_t offsetOfOwnBlock(const Geometry& g, bool output, uint32_t rank) {
  return g.userOffset(output, BufferShape::kFull, rank, 0);
}

}  // namespace

const char* overlapName(Overlap overlap) {
  static const char* const names[] = {"separate", "in place", "aliased"};
  return names[static_cast<size_t>(overlap)];
}

const char* windowsName(Windows windows) {
  static const char* const names[] = {"user", "staged", "mixed"};
  return names[static_cast<size_t>(windows)];
}

bool allows(HcclCMDType type, Overlap overlap) {
  switch (type) {
    case HCCL_CMD_BROADCAST:  // has one buffer
    case HCCL_CMD_BARRIER:
      return overlap == Overlap::kInPlace;
    case HCCL_CMD_ALLREDUCE:
    case HCCL_CMD_REDUCE:
      return overlap != Overlap::kAliased;
    case HCCL_CMD_ALLTOALL:
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      return overlap == Overlap::kSeparate;
    default:
      return true;
  }
}

std::string placeText(const Place& place) {
  static const char* const names[] = {"input", "output", "staging slot 0", "staging slot 1"};
  return fmt::format("rank {} {} [{}, {})", place.rank, names[place.space], place.begin,
                     place.end());
}

MemoryMap::MemoryMap(const World& world, Placement placement)
    : world_(world), layouts_(world.ranks) {
  for (uint32_t r = 0; r < world.ranks; ++r) {
    Layout& layout = layouts_[r];
    const Plan& p = world.plans[r];
    const Geometry& g = world.geometry[r];
    place(r, placement, layout);
    const bool varying = plan::hasVaryingBlocks(world.op.type);
    const bool staged = placement.windows == Windows::kStaged ||
                        (placement.windows == Windows::kMixed && r % 2 == 1);
    const bool aliased = placement.overlap == Overlap::kAliased && layout.hasInput &&
                         layout.hasOutput && layout.input.begin != layout.output.begin;
    if (placement.overlap == Overlap::kAliased) {
      layout.input.begin = layout.output.begin = 0;
      layout.output.space = kInputSpace;
    }
    layout.aliased = aliased;
    layout.inputStaged =
        p.inputRemote && ((varying && p.inputShape == BufferShape::kFull) || staged);
    layout.outputStaged =
        aliased || (p.outputRemote && ((varying && p.outputShape == BufferShape::kFull) || staged));
    const bool isShared = layout.inputStaged && plan::mayBeInPlace(world.op.type);
    layout.outputWindow =
        layout.inputStaged && !isShared ? windowBlocks(p.inputShape, p.blocks) * g.capacity : 0;
    layout.scratch = layout.outputWindow;
    if (layout.outputStaged || isShared) {
      layout.scratch += windowBlocks(p.outputShape, p.blocks) * g.capacity;
    }
    layout.slotElements = layout.scratch + p.scratchBlocks * g.capacity;
  }
}

// The caller's buffers. In place, both are in the input's space.
void MemoryMap::place(uint32_t r, Placement placement, Layout& layout) const {
  const Plan& p = world_.plans[r];
  const Geometry& g = world_.geometry[r];
  const bool root = r == world_.op.root;
  layout.hasInput = !plan::isRooted(world_.op.type) || world_.op.type == HCCL_CMD_REDUCE || root;
  layout.hasOutput = world_.op.type != HCCL_CMD_REDUCE || root;
  layout.input = {r, kInputSpace, 0, extent(g, false, p.inputShape, r)};
  layout.output = {r, kOutputSpace, 0, extent(g, true, p.outputShape, r)};
  if (placement.overlap == Overlap::kSeparate) return;
  layout.output.space = kInputSpace;
  const bool inputIsPart = p.inputShape == BufferShape::kSingle;
  const bool outputIsPart = p.outputShape == BufferShape::kSingle;
  if (inputIsPart) layout.input.begin = offsetOfOwnBlock(g, true, r);
  if (outputIsPart) layout.output.begin = offsetOfOwnBlock(g, false, r);
}

Place MemoryMap::buffer(uint32_t rank, bool output) const {
  return output ? layouts_[rank].output : layouts_[rank].input;
}

Place MemoryMap::user(uint32_t rank, bool output, uint32_t block, uint64_t length,
                      uint64_t c) const {
  const Plan& p = world_.plans[rank];
  Place at = buffer(rank, output);
  at.begin +=
      world_.geometry[rank].userOffset(output, output ? p.outputShape : p.inputShape, block, c);
  at.length = length;
  return at;
}

Place MemoryMap::window(uint32_t rank, bool output, uint32_t block, uint64_t length,
                        uint64_t c) const {
  const Plan& p = world_.plans[rank];
  const uint64_t base = output ? layouts_[rank].outputWindow : 0;
  const uint64_t offset =
      world_.geometry[rank].slotOffset(output ? p.outputShape : p.inputShape, block, c);
  return {rank, static_cast<uint8_t>(kSlot0 + (c & 1)), base + offset, length};
}

Place MemoryMap::operand(uint32_t rank, uint32_t owner, const plan::Ref& ref, uint64_t length,
                         uint64_t c) const {
  const Plan& mine = world_.plans[rank];
  const Geometry& g = world_.geometry[rank];
  const Layout& layout = layouts_[owner];
  if (ref.buffer == Buffer::kScratch) {
    return {owner, static_cast<uint8_t>(kSlot0 + (c & 1)), layout.scratch + ref.block * g.pitch(c),
            length};
  }
  const bool output = ref.buffer == Buffer::kOutput;
  if (owner == rank) {
    // A rank reads its own input where the caller left it.
    const bool isStaged =
        output && layout.outputStaged && (layout.aliased || mine.outputTouched[ref.block]);
    return isStaged ? window(rank, true, ref.block, length, c)
                    : user(rank, output, ref.block, length, c);
  }
  // A peer's AlltoAll windows are known from the place of this rank's own block on.
  const Plan& theirs = world_.plans[owner];
  const uint32_t block = mine.pairRelative ? rank : ref.block;
  if (staged(owner, output)) {
    const BufferShape shape = output ? theirs.outputShape : theirs.inputShape;
    const Geometry& scale = mine.pairRelative ? world_.geometry[owner] : g;
    const uint64_t base = output ? layout.outputWindow : 0;
    return {owner, static_cast<uint8_t>(kSlot0 + (c & 1)), base + scale.slotOffset(shape, block, c),
            length};
  }
  Place at = buffer(owner, output);
  if (mine.pairRelative) {
    at.begin += world_.geometry[owner].userOffset(
                    output, output ? theirs.outputShape : theirs.inputShape, block, 0) +
                c * g.capacity;
  } else {
    at.begin += g.userOffset(output, output ? mine.outputShape : mine.inputShape, block, c);
  }
  at.length = length;
  return at;
}

bool MemoryMap::inside(const Place& place) const {
  const Layout& layout = layouts_[place.rank];
  const Place& in = layout.input;
  const bool input = layout.hasInput && place.space == in.space && in.begin <= place.begin &&
                     place.end() <= in.end();
  return input || writable(place);
}

bool MemoryMap::writable(const Place& place) const {
  const Layout& layout = layouts_[place.rank];
  if (place.space >= kSlot0) return place.end() <= layout.slotElements;
  const Place& out = layout.output;
  return layout.hasOutput && place.space == out.space && out.begin <= place.begin &&
         place.end() <= out.end();
}

}  // namespace hccl::verify
