// Chooser: which algorithms an operation runs with, how its data are cut, and why. In this order:
// HCCL_ALGO, by HCCL's documented rules (selector.h); the table of HCCL_ALGO_TABLE; on one server
// the cost model, else those rules again.
// Only data decide that all ranks hold alike, so all choose alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/algo_table.h"
#include "src/plan/cost_model.h"
#include "src/plan/selector.h"

namespace hccl::plan {

struct Policy {
  AlgoConfig config;
  bool strict = false;
  LevelClasses links;
  std::shared_ptr<const AlgoTable> table;  // may be nullptr
};

// A choice that the cost model may take.
struct Candidate {
  Choice choice;
  ChoiceTerms terms;
};

// For the caller's thread only. An operation's first call may take time; later ones compare a dozen
// sums.
class Chooser {
 public:
  Chooser(const Topology& topology, Policy policy)
      : topology_(topology), policy_(std::move(policy)) {}

  // `bytes`: as select() takes them. Valid until the next call.
  const Choice& choose(const OpDesc& op, uint64_t bytes);
  // All legal ones for the operation; empty where the documented rules decide alone.
  const std::vector<Candidate>& candidates(HcclCMDType type);

  void setStrict(bool strict);
  const Policy& policy() const { return policy_; }
  // What was skipped since the last call, for the log: a line for each row of the table.
  std::vector<std::string> takeNotes() { return std::exchange(notes_, {}); }

 private:
  const Choice& byRules(const OpDesc& op, uint64_t bytes, const char* why);
  const Choice* byTable(const OpDesc& op, uint64_t bytes);
  const Choice* byModel(const OpDesc& op, uint64_t bytes);
  bool isLegal(const Choice& choice, HcclCMDType type) const;
  Choice ofRow(const AlgoTableRow& row, HcclCMDType type, std::string* wrong) const;

  const Topology& topology_;
  Policy policy_;
  Choice current_;
  std::map<HcclCMDType, std::vector<Candidate>> candidates_;
  // By operation and row; level0 is nullptr for a row that is not legal.
  std::map<std::pair<HcclCMDType, size_t>, Choice> rows_;
  std::vector<std::string> notes_;
};

}  // namespace hccl::plan
