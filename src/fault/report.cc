// The channel from an error to the program (aclGetRecentErrMsg) and to the log.
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "src/base/log.h"
#include "src/fault/culprit.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

// A thread's errors. A thread that is ending still calls in from other destructors: the flag, which
// has none of its own, tells that the object is gone.
thread_local bool threadEnded = false;

struct ThreadErrors {
  std::string unread;
  std::string shown;
  ~ThreadErrors() { threadEnded = true; }
};

ThreadErrors* threadErrors() {
  if (threadEnded) return nullptr;
  thread_local ThreadErrors errors;
  return &errors;
}

// The process' first unread asynchronous error. An atomic, so that a forked child finds no held
// lock.
std::atomic<std::string*> asyncError{nullptr};

void logError(const Status& status, std::string_view keywords, const char* file, int line) {
  if (!log::isEnabled(log::Level::kError)) return;
  const char* slash = std::strrchr(file, '/');
  const int code = status.eiCode();
  log::print(log::Channel::kDebug, log::Level::kError, slash == nullptr ? file : slash + 1, line,
             "{}{} {}{}{}", keywords.empty() ? eiKeywords(code) : keywords,
             errNoText(status.code()), code == 0 ? "" : eiName(code), code == 0 ? "" : ": ",
             status.text());
}

}  // namespace

void reportError(const Status& reported, std::string_view keywords, const char* file, int line) {
  if (reported.isOk()) return;
  const Status status = withCulprit(reported);
  logError(status, keywords, file, line);
  ThreadErrors* errors = threadErrors();
  if (errors != nullptr && errors->unread.empty()) errors->unread = screenText(status);
}

void reportAsyncError(const Status& reported, std::string_view keywords, const char* file,
                      int line) {
  if (reported.isOk()) return;
  const Status status = withCulprit(reported);
  logError(status, keywords, file, line);
  if (asyncError.load(std::memory_order_relaxed) != nullptr) return;
  auto text = std::make_unique<std::string>(screenText(status));
  std::string* none = nullptr;
  if (asyncError.compare_exchange_strong(none, text.get())) (void)text.release();
}

const char* recentErrorMessage() {
  ThreadErrors* errors = threadErrors();
  if (errors == nullptr) return nullptr;
  if (!errors->unread.empty()) {
    errors->shown = std::exchange(errors->unread, {});
    return errors->shown.c_str();
  }
  const std::unique_ptr<std::string> text(asyncError.exchange(nullptr));
  if (text == nullptr) return nullptr;
  errors->shown = std::move(*text);
  return errors->shown.c_str();
}

void clearRecentErrors() {
  if (ThreadErrors* errors = threadErrors(); errors != nullptr) errors->unread.clear();
  delete asyncError.exchange(nullptr);
}

}  // namespace hccl
