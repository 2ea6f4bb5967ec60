#include "src/fault/ei_errors.h"

#include <fmt/core.h>
#include <unistd.h>

#include "src/base/clock.h"

namespace hccl {
namespace {

constexpr int kEjBase = 10000;

// Puts the arguments in the places of "%s".
std::string fill(std::string_view text, std::initializer_list<std::string_view> args) {
  std::string filled;
  auto next = args.begin();
  for (;;) {
    const size_t at = text.find("%s");
    filled += text.substr(0, at);
    if (at == std::string_view::npos) return filled;
    if (next != args.end()) filled += *next++;
    text.remove_prefix(at + 2);
  }
}

}  // namespace

const EiInfo* findEi(int eiCode) {
  for (const EiInfo& info : eiTable()) {
    if (static_cast<int>(info.code) == eiCode) return &info;
  }
  return nullptr;
}

std::string eiName(int eiCode) {
  return eiCode > kEjBase ? fmt::format("EJ{:04}", eiCode - kEjBase)
                          : fmt::format("EI{:04}", eiCode);
}

std::string_view eiKeywords(int eiCode) {
  const EiInfo* info = findEi(eiCode);
  return info == nullptr ? std::string_view() : info->keywords;
}

Status eiError(Ei code, HcclResult result, std::initializer_list<std::string_view> args,
               int culprit) {
  const EiInfo* info = findEi(static_cast<int>(code));
  return Status(result, fill(info == nullptr ? "%s" : info->text, args), static_cast<int>(code),
                culprit);
}

Status argumentError(HcclResult result, std::string_view op, std::string_view value,
                     std::string_view parameter, std::string_view expected) {
  return eiError(Ei::kOperatorArgument, result, {op, value, parameter, expected});
}

Status nullPointerError(std::string_view op, std::string_view parameter) {
  return argumentError(HCCL_E_PTR, op, "nullptr", parameter, "non-null pointer");
}

std::string screenText(const Status& status) {
  const EiInfo* info = findEi(status.eiCode());
  if (info == nullptr) info = findEi(static_cast<int>(Ei::kInner));
  return fmt::format("[PID: {}] {} {}({}): {}\n        Possible Cause: {}\n        Solution: {}\n",
                     ::getpid(), wallClockText(), info->title, eiName(static_cast<int>(info->code)),
                     status.text(), info->cause, info->solution);
}

std::string errNoText(HcclResult code, bool hcom) {
  const uint64_t number = 0x05000000ULL | (hcom ? 0x00010000ULL : 0) | static_cast<uint64_t>(code);
  return fmt::format("errNo[0x{:016x}]", number);
}

}  // namespace hccl
