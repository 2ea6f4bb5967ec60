// hccl_sim: collectives on any number of ranks in virtual time (docs/simulator.md).
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/verify/chart.h"
#include "src/verify/sim_case.h"
#include "tools/common_options.h"
#include "tools/tool_words.h"

namespace hccl::tools {
namespace {

struct Options {
  OperationOptions operation{.sizes = "8K,8M,1G"};
  std::string ranks = "8";
  std::string algorithms = "ring,NHR,NB,H-D_R";
  std::string inside;
  std::string oneShot = "auto";
  std::string chunk = "0";
  std::string topology;
  std::string json;
  std::string svg;
  std::string timeline;
  uint32_t perServer = 1;
  double alphaUs = 0;
  double gbps = 0;
  double insideAlphaUs = 0;
  double insideGbps = 0;
  double gammaGbs = 0;
  double portGbps = 0;
  double uplinkGbps = 0;
  bool direct = false;
  bool noFold = false;
  bool confirmAll = false;
  bool cost = false;
};

void addOptions(CLI::App& app, Options& o) {
  addOperationOptions(app, o.operation);
  app.add_option("--ranks", o.ranks, "numbers of ranks; list (8)");
  app.add_option("--per-server", o.perServer, "ranks of a server (1)");
  app.add_option("--algorithms", o.algorithms, "list (ring,NHR,NB,H-D_R)");
  app.add_option("--inside", o.inside, "algorithm inside of servers: two levels");
  app.add_option("--one-shot", o.oneShot, "auto, yes or no: small data travels whole (auto)")
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  app.add_option("--chunk", o.chunk, "bytes of one iteration of the chunk grid; 0: all (0)");
  app.add_option("--topology", o.topology, "file with the network's numbers (docs/simulator.md)")
      ->check(CLI::ExistingFile);
  app.add_option("--alpha-us", o.alphaUs, "latency between servers (5)");
  app.add_option("--gbps", o.gbps, "links between servers (200)");
  app.add_option("--inside-alpha-us", o.insideAlphaUs, "latency inside of servers (1)");
  app.add_option("--inside-gbps", o.insideGbps, "links inside of servers (400)");
  app.add_option("--gamma-gbs", o.gammaGbs, "GB/s of reducing; 0: free (0)");
  app.add_option("--port-gbps", o.portGbps, "of each rank, shared by its transfers; 0: not shared");
  app.add_option("--uplink-gbps", o.uplinkGbps, "of each server, likewise; 0: not shared");
  app.add_flag("--direct", o.direct, "links inside of servers are direct mappings");
  app.add_flag("--no-fold", o.noFold, "every rank's own plan");
  app.add_flag("--confirm-all", o.confirmAll, "compare all ranks before folding, however many");
  app.add_flag("--cost", o.cost, "also what the simulation itself took");
  app.add_option("--json", o.json, "file for the results");
  app.add_option("--svg", o.svg, "file for time against size");
  app.add_option("--timeline", o.timeline, "file for what each rank does (up to 64 ranks)");
}

Result<verify::NetworkSpec> networkOf(const Options& o) {
  verify::NetworkSpec spec;
  if (!o.topology.empty()) {
    std::ifstream in(o.topology);
    std::stringstream text;
    text << in.rdbuf();
    HCCL_ASSIGN_OR_RETURN(spec, verify::parseNetwork(text.str()));
  }
  if (o.alphaUs > 0) spec.between.alpha = o.alphaUs * 1e-6;
  if (o.gbps > 0) spec.between.beta = 8e-9 / o.gbps;
  if (o.insideAlphaUs > 0) spec.inside.alpha = o.insideAlphaUs * 1e-6;
  if (o.insideGbps > 0) spec.inside.beta = 8e-9 / o.insideGbps;
  if (o.gammaGbs > 0) spec.gamma = 1e-9 / o.gammaGbs;
  if (o.portGbps > 0) spec.port = 8e-9 / o.portGbps;
  if (o.uplinkGbps > 0) spec.uplink = 8e-9 / o.uplinkGbps;
  return spec;
}

std::string timeText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.3f} s", seconds);
}

class Runner {
 public:
  Runner(const Options& options, const verify::NetworkSpec& network)
      : options_(options), network_(network) {}

  // Empty, or what is wrong.
  std::string run() {
    const auto type = parseOp(options_.operation.op);
    if (!type) return "no operation " + options_.operation.op;
    printHead();
    for (const std::string& ranksText : parts(options_.ranks)) {
      const auto ranks = parseSize(ranksText);
      if (!ranks || *ranks > (1U << 20)) return "no number of ranks: " + ranksText;
      for (const std::string& algorithm : parts(options_.algorithms)) {
        for (const std::string& sizeName : parts(options_.operation.sizes)) {
          const auto bytes = parseSize(sizeName);
          if (!bytes) return "no size: " + sizeName;
          std::string wrong = runOne(*type, algorithm, *bytes, static_cast<uint32_t>(*ranks));
          if (!wrong.empty()) return wrong;
        }
      }
    }
    return writeFiles();
  }

 private:
  std::string runOne(HcclCMDType type, const std::string& algorithm, uint64_t bytes,
                     uint32_t ranks) {
    const plan::AlgorithmRow* row = plan::findAlgorithm(algorithm);
    if (row == nullptr) return "no algorithm " + algorithm;
    verify::SimCase what;
    what.type = type;
    what.bytes = bytes;
    what.ranks = ranks;
    what.perServer = options_.perServer;
    what.algorithm = algorithm;
    what.inside = options_.inside;
    what.oneShot = options_.oneShot == "yes" ||
                   (options_.oneShot == "auto" && verify::oneShotByDefault(type, *row, bytes));
    what.direct = options_.direct;
    what.fold = !options_.noFold;
    what.confirmEvery = options_.confirmAll;
    const auto chunk = parseSize(options_.chunk);
    if (!chunk) return "no size: " + options_.chunk;
    if (*chunk > 0) what.chunkBytes = *chunk;
    std::vector<verify::Span> spans;
    const bool traced = !options_.timeline.empty() && ranks <= 64;
    const verify::SimRow result = verify::runCase(what, network_, traced ? &spans : nullptr);
    if (traced && result.error.empty()) {
      spans_ = std::move(spans);
      tracedRanks_ = ranks;
      tracedName_ = fmt::format("{} {} {} on {} ranks", options_.operation.op, sizeText(bytes),
                                algorithm, ranks);
    }
    print(result);
    rows_.push_back(result);
    return {};
  }

  void printHead() const {
    fmt::print("| ranks | algorithm | size | time | closed form | difference |{}\n",
               options_.cost ? " steps | folded by | planning | running |" : "");
    fmt::print("|---|---|---|---|---|---|{}\n", options_.cost ? "---|---|---|---|" : "");
  }

  void print(const verify::SimRow& row) const {
    const verify::SimCase& what = row.what;
    const std::string name = (what.inside.empty() ? "" : what.inside + "-") + what.algorithm +
                             (what.oneShot ? " (one-shot)" : "");
    if (!row.error.empty()) {
      fmt::print("| {} | {} | {} | {} | | |{}\n", what.ranks, name, sizeText(what.bytes), row.error,
                 options_.cost ? " | | | |" : "");
      return;
    }
    std::string closed = "|";
    if (row.closedForm) {
      closed = fmt::format("{} | {:+.2f} %", timeText(*row.closedForm),
                           (row.result.seconds / *row.closedForm - 1) * 100);
    }
    fmt::print("| {} | {} | {} | {} | {} |", what.ranks, name, sizeText(what.bytes),
               timeText(row.result.seconds), closed);
    if (options_.cost) {
      fmt::print(" {} | {} | {:.2f} s | {:.2f} s |", row.result.steps,
                 verify::symmetryName(row.symmetry), row.planSeconds, row.runSeconds);
    }
    fmt::print("\n");
    fflush(stdout);
  }

  static std::string write(const std::string& path, const std::string& text) {
    if (path.empty()) return {};
    std::ofstream out(path);
    out << text;
    return out.good() ? "" : "cannot write " + path;
  }

  std::string writeFiles() const {
    nlohmann::json all = nlohmann::json::array();
    std::vector<verify::Curve> curves;
    for (const verify::SimRow& row : rows_) {
      nlohmann::json entry = {{"op", options_.operation.op},
                              {"ranks", row.what.ranks},
                              {"per_server", row.what.perServer},
                              {"algorithm", row.what.algorithm},
                              {"inside", row.what.inside},
                              {"one_shot", row.what.oneShot},
                              {"bytes", row.what.bytes},
                              {"seconds", row.result.seconds},
                              {"steps", row.result.steps},
                              {"transfers", row.result.transfers},
                              {"folded_by", verify::symmetryName(row.symmetry)},
                              {"error", row.error}};
      if (row.closedForm) entry["closed_form"] = *row.closedForm;
      all.push_back(entry);
      if (!row.error.empty()) continue;
      const std::string name = fmt::format("{}, {} ranks", row.what.algorithm, row.what.ranks);
      if (curves.empty() || curves.back().name != name) curves.push_back({name, {}});
      curves.back().points.emplace_back(static_cast<double>(row.what.bytes), row.result.seconds);
    }
    for (const std::string& wrong :
         {write(options_.json, all.dump(2) + "\n"),
          write(options_.svg,
                verify::timeChart(options_.operation.op + ": time against size", curves)),
          write(options_.timeline, verify::timelineChart(tracedName_, tracedRanks_, spans_))}) {
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  const Options& options_;
  const verify::NetworkSpec network_;
  std::vector<verify::SimRow> rows_;
  std::vector<verify::Span> spans_;
  uint32_t tracedRanks_ = 0;
  std::string tracedName_ = "nothing was traced";
};

}  // namespace
}  // namespace hccl::tools

int main(int argc, char** argv) {
  namespace tools = hccl::tools;
  tools::Options options;
  return tools::runTool(
      "hccl_sim", "Simulates collectives in virtual time, on the plans that the library runs.",
      argc, argv, [&](CLI::App& app) { tools::addOptions(app, options); },
      [&] {
        const auto network = tools::networkOf(options);
        return network ? tools::Runner(options, *network).run() : network.status().text();
      });
}
