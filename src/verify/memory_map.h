// MemoryMap: where the operands of steps lie, as element intervals in the spaces of a rank. Follows
// the executor's addresses: the caller's buffers, which may share memory, and two staging slots.
#pragma once

#include <string>
#include <vector>

#include "src/verify/world.h"

namespace hccl::verify {

// How the caller's buffers lie.
enum class Overlap : uint8_t {
  kSeparate,
  kInPlace,  // the rank's part is where the operation defines it to be in place
  kAliased,  // recvBuf == sendBuf where that is not in place: the output is staged
};
// Which of the windows that peers touch are staged.
enum class Windows : uint8_t { kUser, kStaged, kMixed };

struct Placement {
  Overlap overlap = Overlap::kSeparate;
  Windows windows = Windows::kUser;
};
const char* overlapName(Overlap overlap);
const char* windowsName(Windows windows);

// True when the operation knows this overlap.
bool allows(HcclCMDType type, Overlap overlap);

enum Space : uint8_t { kInputSpace, kOutputSpace, kSlot0, kSlot1, kSpaces };

struct Place {
  uint32_t rank = 0;
  uint8_t space = kInputSpace;
  uint64_t begin = 0;
  uint64_t length = 0;
  uint64_t end() const { return begin + length; }
  bool operator==(const Place&) const = default;
};
std::string placeText(const Place& place);

class MemoryMap {
 public:
  MemoryMap(const World& world, Placement placement);

  // Of one operand of a step of `rank` (whose memory it may not be), in iteration c.
  Place operand(uint32_t rank, uint32_t owner, const plan::Ref& ref, uint64_t length,
                uint64_t c) const;
  // Of a staging step: from or to the caller's memory, and the window.
  Place user(uint32_t rank, bool output, uint32_t block, uint64_t length, uint64_t c) const;
  Place window(uint32_t rank, bool output, uint32_t block, uint64_t length, uint64_t c) const;
  bool staged(uint32_t rank, bool output) const {
    return output ? layouts_[rank].outputStaged : layouts_[rank].inputStaged;
  }
  // The output lies on the input: all of it is staged.
  bool aliased(uint32_t rank) const { return layouts_[rank].aliased; }
  bool present(uint32_t rank, bool output) const {
    return output ? layouts_[rank].hasOutput : layouts_[rank].hasInput;
  }
  // Elements of a staging slot in all, and of a space before anything is written.
  uint64_t slotElements(uint32_t rank) const { return layouts_[rank].slotElements; }
  // Where the caller's buffers begin, with all blocks.
  Place buffer(uint32_t rank, bool output) const;
  // The interval that lies within its buffer or staging area entirely.
  bool inside(const Place& place) const;
  // Likewise, and it may be written: of the caller's memory only the output.
  bool writable(const Place& place) const;

 private:
  struct Layout {
    bool hasInput = true;
    bool hasOutput = true;
    bool inputStaged = false;
    bool aliased = false;
    bool outputStaged = false;
    Place input;  // the caller's buffers
    Place output;
    uint64_t outputWindow = 0;  // offsets in a slot
    uint64_t scratch = 0;
    uint64_t slotElements = 0;
  };
  void place(uint32_t rank, Placement placement, Layout& layout) const;

  const World& world_;
  std::vector<Layout> layouts_;
};

}  // namespace hccl::verify
