// hccl_info: which algorithms an operation would run with, and why (docs/simulator.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

#include "src/plan/cost_model.h"
#include "src/plan/selector.h"
#include "tools/tool_words.h"

namespace hccl::tools {
namespace {

struct Options {
  std::string op = "AllReduce";
  std::string sizes = "1K,64K,1M,64M";
  std::string servers = "8";
  std::string algo;
  std::string inside = "shared";
  std::string between = "rdma";
  bool strict = false;
};

void addOptions(CLI::App& app, Options& o) {
  app.add_option("--op", o.op, "AllReduce, Broadcast, ... (AllReduce)");
  app.add_option("--sizes", o.sizes, "bytes of the whole operation; list (1K,64K,1M,64M)");
  app.add_option("--servers", o.servers, "ranks of each server; list (8)");
  app.add_option("--algo", o.algo, "as HCCL_ALGO");
  app.add_flag("--strict", o.strict, "HCCL_DETERMINISTIC=strict");
  app.add_option("--inside", o.inside, "links inside of servers: shared, rdma, tcp (shared)");
  app.add_option("--between", o.between, "links between servers (rdma)");
}

std::string nameOf(const plan::Choice& choice) {
  std::string name;
  for (const plan::AlgorithmRow* row : {choice.level0, choice.level1, choice.level2}) {
    if (row != nullptr) name += (name.empty() ? "" : "-") + std::string(row->token);
  }
  return name + (choice.oneShot() ? " (one-shot)" : "");
}

// Every algorithm on all ranks as one level, for comparison.
std::vector<plan::Choice> alternatives(const plan::OpDesc& op, const plan::Topology& topology) {
  std::vector<plan::Choice> all;
  const plan::StageOp stage = plan::stageOpOf(op.type);
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    if (row.algorithm->spansLevels() || !row.algorithm->supports(stage) ||
        !row.algorithm->supportsSize(stage, topology.rankCount)) {
      continue;
    }
    plan::Choice choice;
    choice.level0 = &row;
    all.push_back(choice);
    choice.oneShot0 = true;
    if (row.algorithm->supportsOneShot(stage)) all.push_back(choice);
  }
  return all;
}

std::string reason(const Options& o, const plan::Topology& topology, const plan::Choice& choice) {
  if (!choice.note.empty()) return choice.note;
  if (o.strict) return "strict determinism: inputs meet unreduced, in the order of ranks";
  if (!o.algo.empty()) return "as configured, where the configuration names a level";
  std::string text = topology.servers.size() == 1 ? "one server" : "several servers";
  if (!topology.uniform()) text += " of different sizes: one level";
  if (choice.level1 != nullptr) text += ": a level inside and one between";
  if (choice.oneShot()) text += "; small data travels whole";
  return text;
}

class Report {
 public:
  // Empty, or what is wrong.
  std::string run(const Options& o) {
    const auto type = parseOp(o.op);
    const auto inside = plan::costClassOf(o.inside);
    const auto between = plan::costClassOf(o.between);
    if (!type) return "no operation " + o.op;
    if (!inside || !between) return "links are shared, rdma or tcp";
    std::vector<uint32_t> serverOf;
    uint32_t server = 0;
    for (const std::string& part : parts(o.servers)) {
      const auto ranks = parseSize(part);
      if (!ranks || *ranks == 0 || *ranks > 4096) return "no number of ranks: " + part;
      serverOf.insert(serverOf.end(), *ranks, server++);
    }
    if (serverOf.empty()) return "no servers";
    AlgoConfig config;
    if (!o.algo.empty()) {
      const auto parsed = parseAlgoConfig(o.algo);
      if (!parsed) return "HCCL_ALGO has another form: " + o.algo;
      config = *parsed;
    }
    const plan::Topology topology = plan::Topology::fromServers(serverOf);
    for (const std::string& sizeName : parts(o.sizes)) {
      const auto bytes = parseSize(sizeName);
      if (!bytes) return "no size: " + sizeName;
      one(o, *type, topology, config, {*inside, *between}, *bytes);
    }
    return {};
  }

 private:
  static void one(const Options& o, HcclCMDType type, const plan::Topology& topology,
                  const AlgoConfig& config, const plan::LevelClasses& classes, uint64_t bytes) {
    plan::OpDesc op;
    op.type = type;
    op.count = bytes;
    const plan::Choice choice = plan::select(op, topology, config, o.strict, bytes);
    const auto time = [&](const plan::Choice& c) {
      return plan::estimate(op, topology, c, bytes, classes) * 1e6;
    };
    fmt::print("{} of {} on {} ranks: {}\n  because: {}\n  estimate: {:.1f} us\n", o.op,
               sizeText(bytes), topology.rankCount, nameOf(choice), reason(o, topology, choice),
               time(choice));
    std::vector<std::pair<double, std::string>> others;
    for (const plan::Choice& c : alternatives(op, topology))
      others.emplace_back(time(c), nameOf(c));
    std::sort(others.begin(), others.end());
    for (const auto& [us, name] : others) fmt::print("    {:>12.1f} us  {}\n", us, name);
  }
};

}  // namespace
}  // namespace hccl::tools

int main(int argc, char** argv) try {
  namespace tools = hccl::tools;
  CLI::App app("Prints which algorithms an operation would run with, and why.");
  tools::Options options;
  tools::addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  const std::string wrong = tools::Report().run(options);
  if (!wrong.empty()) std::cerr << "hccl_info: " << wrong << "\n";
  return wrong.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "hccl_info: %s\n", error.what());
  return 1;
}
