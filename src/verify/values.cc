#include "src/verify/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hccl::verify {
namespace {

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9e3779b97f4a7c15ULL;
  return h ^ h >> 32;
}

}  // namespace

Expressions::Expressions(uint32_t ranks) : ranks_(ranks), words_((ranks + 63) / 64) {
  add(0, 0, false);
  for (uint32_t r = 0; r < ranks; ++r) {
    const uint32_t e = add(mix(1, r + 1), 1, true);
    bits(e)[r / 64] |= uint64_t{1} << r % 64;
  }
}

uint32_t Expressions::add(uint64_t tree, uint32_t count, bool ordered) {
  const auto e = static_cast<uint32_t>(count_.size());
  bits_.resize(bits_.size() + words_);
  count_.push_back(count);
  tree_.push_back(tree);
  ordered_.push_back(ordered);
  return e;
}

uint32_t Expressions::combine(const std::vector<uint32_t>& operands, uint32_t& twice) {
  uint64_t tree = 2;
  uint32_t count = 0;
  bool ordered = true;
  uint32_t last = 0;
  for (uint32_t e : operands) {
    count += count_[e];
    ordered = ordered && e <= ranks_ && e > last;
    last = e;
    tree = mix(tree, tree_[e]);
  }
  if (operands.size() == 2) {
    const auto [a, b] = std::minmax(tree_[operands[0]], tree_[operands[1]]);
    tree = mix(mix(2, a), b);
  }
  const uint32_t result = add(tree, count, ordered);
  for (uint32_t e : operands) {
    for (uint32_t w = 0; w < words_; ++w) {
      const uint64_t both = bits(result)[w] & bits(e)[w];
      if (both != 0) {
        twice = w * 64 + static_cast<uint32_t>(std::countr_zero(both));
        return kNothing;
      }
      bits(result)[w] |= bits(e)[w];
    }
  }
  return result;
}

std::string Expressions::text(uint32_t e) const {
  if (e == kNothing) return "nothing";
  if (complete(e) && ranks_ > 1) return "the inputs of all ranks";
  std::string ranks;
  uint32_t shown = 0;
  for (uint32_t r = 0; r < ranks_; ++r) {
    if ((bits(e)[r / 64] >> r % 64 & 1) == 0) continue;
    if (++shown > 8)
      return fmt::format("the inputs of ranks {}, ... ({} in all)", ranks, count_[e]);
    ranks += (ranks.empty() ? "" : ",") + std::to_string(r);
  }
  return "the input of rank " + ranks;
}

void Contents::cut(uint64_t at) {
  auto it = cells_.upper_bound(at);
  if (it == cells_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Cell rest = it->second;
  rest.value.element += at - it->first;
  it->second.end = at;
  cells_.emplace_hint(std::next(it), at, rest);
}

void Contents::write(uint64_t begin, uint64_t length, const Value& value) {
  if (length == 0) return;
  auto it = cells_.lower_bound(begin);
  if (it != cells_.end() && it->first == begin && it->second.end == begin + length) {
    it->second.value = value;
    return;
  }
  cut(begin);
  cut(begin + length);
  it = cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(begin + length));
  cells_.emplace_hint(it, begin, Cell{begin + length, value});
}

void Contents::read(uint64_t begin, uint64_t length, std::vector<Piece>& out) const {
  const uint64_t end = begin + length;
  auto it = cells_.upper_bound(begin);
  if (it != cells_.begin() && std::prev(it)->second.end > begin) --it;
  uint64_t at = begin;
  while (at < end) {
    if (it == cells_.end() || it->first >= end) {
      out.push_back({at - begin, end - at, {}});
      return;
    }
    if (it->first > at) {
      out.push_back({at - begin, it->first - at, {}});
      at = it->first;
    }
    const uint64_t stop = std::min(it->second.end, end);
    Value value = it->second.value;
    value.element += at - it->first;
    out.push_back({at - begin, stop - at, value});
    at = stop;
    ++it;
  }
}

}  // namespace hccl::verify
