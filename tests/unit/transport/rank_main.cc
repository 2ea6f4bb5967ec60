// transport_rank: a rank that obeys the lines of its standard input (see rank_commands.h).
#include <iostream>
#include <string>

#include "tests/unit/transport/rank_commands.h"

int main() {
  hccl::transport::RankCommands commands;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << commands.run(line) << std::endl;
  }
  return 0;
}
