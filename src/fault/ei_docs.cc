// docs/errors.md out of the table.
#include <fmt/core.h>

#include "src/fault/ei_errors.h"

namespace hccl {

std::string errorsMarkdown() {
  std::string text =
      "# Error codes\n\n"
      "Made by `gen_docs` from the table in `src/fault/ei_table.cc`; change that table, not this "
      "file.\n\n"
      "`aclGetRecentErrMsg()` gives the first unread error of the calling thread, else the first "
      "unread one\nthat the process met in the background, as\n"
      "`[PID: n] YYYY-MM-DD-HH:MM:SS.mmm.uuu Title(Code): text` with a possible cause and a "
      "solution below.\nReading clears it. The same error stands in `debug/plog` with "
      "`errNo[0x0000000005000000 + HcclResult]`\nand the keywords given here. `%s` stands for what "
      "the error fills in.\n";
  for (const EiInfo& info : eiTable()) {
    text += fmt::format("\n## {}: {}\n\n", eiName(static_cast<int>(info.code)), info.title);
    text += fmt::format("    {}\n\n", info.text);
    if (!info.keywords.empty()) text += fmt::format("Keywords: `{}`\n\n", info.keywords);
    text += fmt::format("Possible cause: {}\n\nSolution: {}\n", info.cause, info.solution);
  }
  return text;
}

}  // namespace hccl
