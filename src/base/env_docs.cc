// docs/environment.md out of the table.
#include "src/base/env_parser.h"

namespace hccl {
namespace {

// A cell of a Markdown table: a bar would end it.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string row(const EnvVariable& v) {
  std::string meaning = cell(v.description);
  if (!v.notes.empty()) meaning += " " + cell(v.notes);
  const std::string_view space = v.unit.empty() ? "" : " ";
  const std::string_view unit = v.unit == "M" ? "MB" : v.unit;
  const bool plain = v.defaultValue == "none" || v.defaultValue == "automatic";
  return fmt::format("| `{}` | {} | {} | {}{}{} | {} |\n", v.name, v.type, cell(v.range),
                     cell(v.defaultValue), plain ? "" : space, plain ? "" : unit, meaning);
}

}  // namespace

std::string environmentMarkdown() {
  std::string text =
      "# Environment variables\n\n"
      "Made by `gen_docs` from the table in `src/base/env_table.cc`; change that table, not "
      "this "
      "file.\n\n"
      "All variables are read once, at the first HCCL call of a process, in the order below. The "
      "first\nillegal value stops: that call and every later one return `HCCL_E_PARA`, and "
      "`aclGetRecentErrMsg` gives\nEI0001 with the expected value. An empty variable counts as "
      "unset. Numbers are digits only, at most ten.\nEach variable writes a line that holds "
      "`[HCCL_ENV]` to the run log.\n\n"
      "What is set in several places is taken from: `HcclCommConfig`, then the environment, then "
      "the default.\n\n"
      "| Variable | Type | Legal values | Default | Meaning |\n"
      "|---|---|---|---|---|\n";
  for (const EnvVariable& variable : environmentTable()) text += row(variable);
  text += "\n## Expected values in EI0001\n\n| Variable | Text |\n|---|---|\n";
  for (const EnvVariable& variable : environmentTable()) {
    if (variable.expect.empty()) continue;
    text += fmt::format("| `{}` | {} |\n", variable.name, cell(variable.expect));
  }
  return text;
}

}  // namespace hccl
