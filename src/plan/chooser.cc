#include "src/plan/chooser.h"

#include <fmt/core.h>

namespace hccl::plan {
namespace {

// The model looks at every rank's moves; beyond, HCCL's rules decide.
constexpr uint32_t kMostModelled = 256;

// Some operations have sizes that ranks do not know alike.
bool sizeIsAgreed(HcclCMDType type) {
  return type != HCCL_CMD_ALLTOALLV && type != HCCL_CMD_ALLTOALLVC;
}

bool does(const AlgorithmRow* row, StageOp op, size_t members) {
  return row->algorithm->supports(op) &&
         row->algorithm->supportsSize(op, static_cast<uint32_t>(members));
}

const char* reasonOfRules(const Policy& policy, bool configured) {
  if (policy.strict && !configured) {
    return "strict determinism: inputs meet unreduced, in the order of ranks";
  }
  return configured ? "as configured; HCCL's rules for what the configuration leaves open"
                    : "HCCL's rules";
}

}  // namespace

void Chooser::setStrict(bool strict) {
  if (policy_.strict == strict) return;
  policy_.strict = strict;
  rows_.clear();
}

const Choice& Chooser::byRules(const OpDesc& op, uint64_t bytes, const char* why) {
  current_ = select(op, topology_, policy_.config, policy_.strict, bytes);
  current_.why = why;
  return current_;
}

const Choice& Chooser::choose(const OpDesc& op, uint64_t bytes) {
  const bool configured = policy_.config.concerns(algoOpOf(op.type));
  const bool trivial = op.type == HCCL_CMD_BARRIER || topology_.rankCount == 1;
  if (configured || trivial || !sizeIsAgreed(op.type)) {
    return byRules(op, bytes, reasonOfRules(policy_, configured));
  }
  if (const Choice* row = byTable(op, bytes)) return *row;
  if (policy_.strict && isReduction(op.type)) {
    return byRules(op, bytes, reasonOfRules(policy_, false));
  }
  // What servers have between them is shared by their ranks, of which the model knows nothing.
  if (topology_.servers.size() > 1) return byRules(op, bytes, "HCCL's rules, for several servers");
  if (const Choice* best = byModel(op, bytes)) return *best;
  return byRules(op, bytes, reasonOfRules(policy_, false));
}

// ---- the table ----

// Legal on all ranks as one level.
bool Chooser::isLegal(const Choice& choice, HcclCMDType type) const {
  const StageOp op = stageOpOf(type);
  const StageAlgorithm& algorithm = *choice.level0->algorithm;
  if (algorithm.spansLevels() || !does(choice.level0, op, topology_.rankCount)) return false;
  if (algorithm.relays() && !sizeIsAgreed(type)) return false;
  return !choice.oneShot0 || algorithm.supportsOneShot(op);
}

Choice Chooser::ofRow(const AlgoTableRow& row, HcclCMDType type, std::string* wrong) const {
  const StageOp op = stageOpOf(type);
  const bool strict = policy_.strict && isReduction(type);
  Choice choice;
  if (row.flat != AlgoToken::kUnset) {
    choice.level0 = findAlgorithm(std::string(toString(row.flat)));
    choice.oneShot0 = row.shape.oneShot.value_or(false);
    choice.chunkBytes = row.shape.chunkBytes;
    if (!isLegal(choice, type)) *wrong = "the algorithm does not do this operation on these ranks";
    if (strict && !choice.level0->algorithm->keepsOrder(op)) {
      *wrong = "the algorithm combines partial results, strict determinism forbids it";
    }
    return choice;
  }
  if (strict) {
    *wrong = "strict determinism needs one level";
    return choice;
  }
  AlgoConfig config;
  config.perOp[static_cast<size_t>(row.op)] = {AlgoToken::kNa, row.level1, row.level2};
  config.shapes[static_cast<size_t>(row.op)] = row.shape;
  choice = select({type, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 0}, topology_, config, false,
                  row.maxBytes);
  const bool taken = choice.level1 != nullptr && toString(row.level1) == choice.level1->token;
  if (!choice.note.empty() || !taken) {
    *wrong = choice.note.empty() ? "there is no such level on these ranks" : choice.note;
  }
  return choice;
}

const Choice* Chooser::byTable(const OpDesc& op, uint64_t bytes) {
  if (policy_.table == nullptr) return nullptr;
  const auto servers = static_cast<uint32_t>(topology_.servers.size());
  const CostClass links =
      servers == 1 ? policy_.links.inside : std::max(policy_.links.inside, policy_.links.between);
  const AlgoTableRow* row = policy_.table->find(algoOpOf(op.type), topology_.rankCount, servers,
                                                costClassName(links), bytes);
  if (row == nullptr) return nullptr;
  const auto [it, fresh] = rows_.try_emplace({op.type, row->number});
  if (fresh) {
    std::string wrong;
    Choice choice = ofRow(*row, op.type, &wrong);
    if (wrong.empty()) {
      choice.why = fmt::format("row {} of {}", row->number, policy_.table->path());
      it->second = std::move(choice);
    } else {
      notes_.push_back(fmt::format("row {} of {} ({}) is skipped for {}: {}", row->number,
                                   policy_.table->path(), row->text(), opName(op.type), wrong));
    }
  }
  return it->second.level0 == nullptr ? nullptr : &it->second;
}

// ---- the cost model ----

const std::vector<Candidate>& Chooser::candidates(HcclCMDType type) {
  const auto [it, fresh] = candidates_.try_emplace(type);
  std::vector<Candidate>& list = it->second;
  if (!fresh) return list;
  const size_t servers = topology_.servers.size();
  const bool levels = servers > 1 && topology_.servers[0].size() > 1;
  const bool plain = topology_.superPods.size() == 1 && topology_.uniform();
  if (!plain || topology_.rankCount == 1 || topology_.rankCount > kMostModelled) return list;
  const StageOp op = stageOpOf(type);
  const OpDesc desc{type, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 0};
  const auto add = [&](const Choice& choice) {
    list.push_back({choice, termsOf(desc, topology_, choice, policy_.links)});
    list.back().choice.why = "the cost model";
  };
  for (const AlgorithmRow& row : algorithmRows()) {
    for (const bool oneShot : {false, true}) {
      Choice choice;
      choice.level0 = &row;
      choice.oneShot0 = oneShot;
      if (isLegal(choice, type)) add(choice);
      if (!levels || op == StageOp::kAllToAll || !does(&row, op, servers) ||
          (row.algorithm->spansLevels() && !row.algorithm->supportsGroups(topology_.servers)) ||
          (oneShot && !row.algorithm->supportsOneShot(op))) {
        continue;
      }
      choice.level0 = findAlgorithm("fullmesh");
      choice.oneShot0 = false;
      choice.level1 = &row;
      choice.oneShot1 = oneShot;
      if (does(choice.level0, StageOp::kReduceScatter, topology_.servers[0].size())) add(choice);
    }
  }
  return list;
}

const Choice* Chooser::byModel(const OpDesc& op, uint64_t bytes) {
  const Candidate* best = nullptr;
  double least = 0;
  for (const Candidate& candidate : candidates(op.type)) {
    const double time = candidate.terms.seconds(bytes);
    if (best != nullptr && time >= least) continue;
    best = &candidate;
    least = time;
  }
  return best == nullptr ? nullptr : &best->choice;
}

}  // namespace hccl::plan
