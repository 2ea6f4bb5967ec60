// An environment made of a map, for parseEnvironment().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/env.h"

namespace hccl::test {

using Vars = std::map<std::string, std::string>;

inline Result<Environment> parse(const Vars& vars, std::vector<EnvLogLine>* lines = nullptr) {
  return parseEnvironment(
      [&vars](const char* name) -> const char* {
        const auto found = vars.find(name);
        return found == vars.end() ? nullptr : found->second.c_str();
      },
      lines);
}

inline bool hasLine(const std::vector<EnvLogLine>& lines, const std::string& text) {
  for (const EnvLogLine& line : lines) {
    if (line.text == text) return true;
  }
  return false;
}

inline std::string allLines(const std::vector<EnvLogLine>& lines) {
  std::string all;
  for (const EnvLogLine& line : lines) all += (line.warning ? "W " : "I ") + line.text + "\n";
  return all;
}

}  // namespace hccl::test
