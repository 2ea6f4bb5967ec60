// Values: symbolic contents of memory. An interval of elements holds an expression over ranks'
// inputs and the logical element that its first element belongs to, so nothing grows with counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hccl::verify {

// Expressions over the inputs of ranks: which ranks' inputs are in it, and in which tree.
class Expressions {
 public:
  explicit Expressions(uint32_t ranks);

  static constexpr uint32_t kNothing = 0;  // memory that nobody has written
  uint32_t input(uint32_t rank) const { return rank + 1; }
  // The combination in this order. When a rank's input would be in it twice: kNothing, and `twice`
  // is that rank.
  uint32_t combine(const std::vector<uint32_t>& operands, uint32_t& twice);

  bool complete(uint32_t e) const { return count_[e] == ranks_; }
  // Unreduced inputs in the order of ranks, combined at once.
  bool inRankOrder(uint32_t e) const { return ordered_[e]; }
  // Equal for expressions that give equal bits: the same tree, operands of a pair in either order.
  uint64_t tree(uint32_t e) const { return tree_[e]; }
  std::string text(uint32_t e) const;

 private:
  uint32_t add(uint64_t tree, uint32_t count, bool ordered);
  uint64_t* bits(uint32_t e) { return &bits_[size_t{e} * words_]; }
  const uint64_t* bits(uint32_t e) const { return &bits_[size_t{e} * words_]; }

  uint32_t ranks_;
  uint32_t words_;
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> count_;
  std::vector<uint64_t> tree_;
  std::vector<bool> ordered_;
};

struct Value {
  uint32_t expression = Expressions::kNothing;
  uint64_t element = 0;  // logical element at the start of the interval
};

// An interval relative to the start of a read.
struct Piece {
  uint64_t begin = 0;
  uint64_t length = 0;
  Value value;
};

// The contents of one space of one rank.
class Contents {
 public:
  void write(uint64_t begin, uint64_t length, const Value& value);
  void write(uint64_t begin, const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) write(begin + piece.begin, piece.length, piece.value);
  }
  // Appends the pieces of [begin, begin + length); holes come as kNothing.
  void read(uint64_t begin, uint64_t length, std::vector<Piece>& out) const;

 private:
  struct Cell {
    uint64_t end = 0;
    Value value;
  };
  void cut(uint64_t at);
  std::map<uint64_t, Cell> cells_;  // by begin
};

}  // namespace hccl::verify
