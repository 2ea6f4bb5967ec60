// fault_injection [--rounds N] [--only TEXT] [--show]: breaks jobs and prints what their survivors
// made of it. TEXT: "fault stage transport" or a part of it. --show prints a survivor's message.
#include <cstring>
#include <iostream>

#include "tests/fault/run.h"
#include "tests/fault/surroundings.h"
#include "tests/fault/verdict.h"
#include "tests/integration/support/job.h"

int main(int argc, char** argv) {
  using namespace hccl::faults;
  hccl::multirank::runIfPartOfJob(argc, argv);
  uint32_t rounds = hccl::multirank::fullProduct() ? 12 : 1;
  std::string only;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = static_cast<uint32_t>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (std::strcmp(argv[i], "--show") == 0) {
      show = true;
    }
  }
  Verdict verdict;
  for (const Injection& injection : catalog(rounds)) {
    const std::string name = injection.fault + " " + injection.stage + " " + injection.transport;
    if (name.find(only) == std::string::npos) continue;
    const Outcome outcome = inject(injection);
    verdict.add(injection, outcome);
    if (show) std::cout << name << ": " << outcome.sample << "\n";
    for (const std::string& problem : outcome.problems) {
      std::cout << name << " (culprit " << injection.culprit << " of " << injection.ranks
                << ", seed " << injection.seed << "): " << problem << std::endl;
    }
  }
  size_t wrong = verdict.failures();
  std::cout << verdict.table();
  for (const Surrounding& row : runSurroundings(only)) {
    std::cout << row.name << ": " << (row.problem.empty() ? "ok" : "FAILED: " + row.problem)
              << "\n";
    if (show) std::cout << row.sample << "\n";
    wrong += row.problem.empty() ? 0 : 1;
  }
  return wrong == 0 ? 0 : 1;
}
