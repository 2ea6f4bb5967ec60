// What the buffers of one rank hold before and after a case, and the counts that go with the call.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/integration/matrix/test_case.h"
#include "tests/integration/support/element.h"

namespace hccl::multirank {

class Layout {
 public:
  Layout(const TestCase& test, uint32_t rank, uint64_t seed);

  // Elements of the two buffers.
  uint64_t sendElements = 0;
  uint64_t recvElements = 0;
  // The output begins at this element of the input, or the input at this element of the output;
  // only unless the case's place is separate.
  uint64_t recvInSend = 0;
  uint64_t sendInRecv = 0;
  bool aliased = false;

  // Arguments of the V operations. `matrix`: AlltoAllVC.
  std::vector<uint64_t> sendCounts, sendDispls, recvCounts, recvDispls, matrix;
  // BatchSendRecv sends and receives this many items with each rank.
  static constexpr uint32_t kItemsPerPeer = 2;

  // Writes the inputs into the send buffer, which is poisoned before.
  void fillSend(unsigned char* send) const;
  // Writes what the receive buffer has to hold into an image that holds what it held before.
  void fillExpected(unsigned char* recv) const;
  // The receive buffer's content says nothing (Reduce off the root).
  bool outputIsFree = false;

 private:
  // `count` elements at element `at`: the input of rank `from`, block `block`.
  struct Piece {
    uint64_t at, count;
    uint32_t from, block;
    bool reduced;  // of all ranks instead
  };

  void vectors();
  void blocks();
  void varyingBlocks();
  void allToAll();
  void pointToPoint();
  // How many elements of a case's count rank i has for rank j: from none to all.
  uint64_t part(uint32_t i, uint32_t j) const;
  void pack(const std::vector<uint64_t>& counts, bool gaps, std::vector<uint64_t>& displs,
            uint64_t& elements) const;
  uint64_t keyOf(uint32_t from, uint32_t block) const;
  void write(unsigned char* buffer, const Piece& piece) const;
  Values values() const;

  const TestCase& test_;
  uint32_t rank_;
  uint32_t n_;
  uint64_t count_;
  uint64_t seed_;
  std::vector<Piece> inputs_;
  std::vector<Piece> outputs_;
};

}  // namespace hccl::multirank
