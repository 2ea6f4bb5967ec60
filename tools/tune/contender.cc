#include "tools/tune/contender.h"

namespace hccl::tune {
namespace {

// Text by which the rules take this choice, checked with the rules themselves; empty if none does.
std::string algoFor(const Operation& op, const plan::Topology& topology,
                    const plan::Choice& choice) {
  const plan::AlgorithmRow* top = choice.level1 != nullptr ? choice.level1 : choice.level0;
  const char* const level0 = choice.level1 != nullptr ? "level0:NA" : "level0:null";
  const std::string shape = std::string(";oneshot:") + (choice.oneShot() ? "yes" : "no");
  for (const std::string& level1 : {";level1:" + std::string(top->token), std::string()}) {
    std::string text = level0;
    text += level1;
    text += shape;
    const auto config = parseAlgoConfig(text);
    if (!config) continue;
    plan::OpDesc desc;
    desc.type = op.type;
    const plan::Choice got = plan::select(desc, topology, *config, false, 1);
    if (got.level0 == choice.level0 && got.level1 == choice.level1 &&
        got.oneShot() == choice.oneShot()) {
      return text;
    }
  }
  return {};
}

}  // namespace

std::vector<Contender> contendersOf(const Operation& op, const plan::Topology& topology) {
  std::vector<Contender> list;
  plan::Chooser chooser(topology, {});
  for (const plan::Candidate& candidate : chooser.candidates(op.type)) {
    std::string algo = algoFor(op, topology, candidate.choice);
    if (algo.empty()) continue;
    list.push_back({candidate.choice.text(), std::move(algo), candidate.choice});
  }
  return list;
}

Contender withChunk(const Contender& contender, uint64_t bytes) {
  Contender other = contender;
  other.choice.chunkBytes = bytes;
  other.algo += ";chunk:" + std::to_string(bytes);
  other.name += ", chunk " + std::to_string(bytes >> 10) + "K";
  return other;
}

}  // namespace hccl::tune
