// Writes the documents that are made from tables: gen_docs <folder> writes environment.md and
// errors.md there; gen_docs --check <folder> fails when they are not current.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "src/base/env.h"
#include "src/fault/ei_errors.h"

namespace {

struct Document {
  const char* name;
  std::string text;
};

bool isCurrent(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return file.good() && content.str() == text;
}

bool writeDocument(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (!check && argc != 2) {
    std::fprintf(stderr, "usage: gen_docs [--check] <folder>\n");
    return 2;
  }
  const std::string folder = argv[argc - 1];
  int failures = 0;
  for (const auto& [name, text] : {Document{"environment.md", hccl::environmentMarkdown()},
                                   Document{"errors.md", hccl::errorsMarkdown()}}) {
    const std::string path = folder + "/" + name;
    if (check ? isCurrent(path, text) : writeDocument(path, text)) continue;
    std::fprintf(stderr, "%s %s\n", path.c_str(),
                 check ? "is not current: run gen_docs" : "cannot be written");
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}
