// What the two ends of a link write into each other's memory besides payload: the immediate value
// of a write, answers to offers of a frame, and the words that are looked at where flags take the
// place of completions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl::transport::rdma {

inline constexpr uint32_t kMaxQueuePairs = 32;
inline constexpr size_t kMaxRails = 8;

enum class Signal : uint32_t {
  kCell,     // a cell has been written; its number
  kCredits,  // nothing else
  kAnswer,   // Control::answer has been written
  kEnd,      // a queue pair has written its part of a frame; the frame's number
};

// Kind, number (its low bits), and how many cells this end has given back so far (low bits, too, so
// that a value that is overtaken does no harm).
struct Immediate {
  static constexpr uint32_t kNumberBits = 20, kCreditBits = 10;
  static constexpr uint32_t kNumberMask = (1U << kNumberBits) - 1;
  static constexpr uint32_t kCreditMask = (1U << kCreditBits) - 1;
  static uint32_t make(Signal kind, uint64_t returned, uint64_t number) {
    return static_cast<uint32_t>(kind) << (kNumberBits + kCreditBits) |
           static_cast<uint32_t>(returned & kCreditMask) << kNumberBits |
           static_cast<uint32_t>(number & kNumberMask);
  }
  explicit Immediate(uint32_t value)
      : kind(static_cast<Signal>(value >> (kNumberBits + kCreditBits))),
        returned(value >> kNumberBits & kCreditMask),
        number(value & kNumberMask) {}
  Signal kind;
  uint32_t returned;
  uint32_t number;
};

// The last word of a cell where flags are looked at: the cell's number, from 1, its bytes before
// the word, and cells given back. It is written with the cell's bytes, and last.
struct CellFlag {
  static constexpr int kBytesShift = 32, kCreditShift = 54;
  static uint64_t make(uint64_t cell, uint64_t bytes, uint64_t returned) {
    return static_cast<uint32_t>(cell + 1) | bytes << kBytesShift |
           (returned & Immediate::kCreditMask) << kCreditShift;
  }
  explicit CellFlag(uint64_t value)
      : number(static_cast<uint32_t>(value)),
        bytes(static_cast<uint32_t>(value >> kBytesShift) & ((1U << 22) - 1)),
        returned(static_cast<uint32_t>(value >> kCreditShift)) {}
  bool isOf(uint64_t cell) const { return number == static_cast<uint32_t>(cell + 1); }
  uint32_t number;
  uint32_t bytes;
  uint32_t returned;
};

// Where the payload of an offered frame may be written; address 0: nowhere, it goes through cells.
struct Answer {
  uint64_t address = 0;
  uint32_t keys[kMaxRails] = {};  // by rail
  uint64_t frame = 0;             // number of the frame, from 1; comes last
};

// Follows an end's cells. Written by the peer, but for `outgoing`.
struct Control {
  Answer answer;
  Answer outgoing;        // what the peer is answered, where requests cannot hold data
  uint64_t returned = 0;  // cells that the peer has given back
  uint64_t sleeps = 0;    // changes when the peer is about to sleep
  uint64_t
      ends[kMaxQueuePairs]{};  // number of the frame that the queue pair has written its part of
};
inline constexpr size_t kControlBytes = 4096;
static_assert(sizeof(Control) <= kControlBytes);

// What FrameHeader::spare says: the frame is offered, by so many queue pairs.
struct Offer {
  static constexpr uint32_t kOffered = 1U << 31;
  static uint32_t make(uint32_t queues) { return kOffered | queues; }
  static bool isIn(uint32_t spare) { return (spare & kOffered) != 0; }
  static uint32_t queues(uint32_t spare) { return spare & ~kOffered; }
};

}  // namespace hccl::transport::rdma
