// Status and Result: how every internal function reports an error.
// A Status carries the HcclResult that the C border returns, the EI code a user looks up (0 when
// the error is internal), the text, and the rank that is to blame when there is one. The first
// cause is kept: consequences are never written over it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "hccl/hccl_types.h"

namespace hccl {

inline constexpr int kNoRank = -1;

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(HcclResult code, std::string text, int eiCode = 0, int culprit = kNoRank)
      : detail_(code == HCCL_SUCCESS ? nullptr
                                     : std::make_shared<const Detail>(
                                           Detail{code, eiCode, culprit, std::move(text)})) {}

  static Status ok() { return {}; }

  bool isOk() const { return detail_ == nullptr; }
  explicit operator bool() const { return isOk(); }
  HcclResult code() const { return detail_ ? detail_->code : HCCL_SUCCESS; }
  // 19 for EI0019; 0 when the error has no EI code.
  int eiCode() const { return detail_ ? detail_->eiCode : 0; }
  int culprit() const { return detail_ ? detail_->culprit : kNoRank; }
  const std::string& text() const {
    static const std::string empty;
    return detail_ ? detail_->text : empty;
  }

 private:
  struct Detail {
    HcclResult code;
    int eiCode;
    int culprit;
    std::string text;
  };
  std::shared_ptr<const Detail> detail_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : value_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool isOk() const { return value_.index() == 0; }
  explicit operator bool() const { return isOk(); }
  T& value() { return std::get<0>(value_); }
  const T& value() const { return std::get<0>(value_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Status status() const { return isOk() ? Status() : std::get<1>(value_); }

 private:
  std::variant<T, Status> value_;
};

}  // namespace hccl

#define HCCL_CONCAT_INNER(a, b) a##b
#define HCCL_CONCAT(a, b) HCCL_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` is not OK.
#define HCCL_RETURN_IF_ERROR(expr)                  \
  do {                                              \
    if (auto st_ = (expr); !st_.isOk()) return st_; \
  } while (false)

// HCCL_ASSIGN_OR_RETURN(auto x, expr): x = *expr, or returns its status.
#define HCCL_ASSIGN_OR_RETURN(lhs, expr) \
  HCCL_ASSIGN_OR_RETURN_IMPL(HCCL_CONCAT(result_, __LINE__), lhs, expr)
#define HCCL_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.isOk()) return tmp.status();            \
  lhs = std::move(*tmp)
