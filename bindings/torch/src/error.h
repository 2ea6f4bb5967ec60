// Errors of the library as C++ exceptions, which the binding turns into hccl_torch.HcclError.
#pragma once

#include <stdexcept>
#include <string>

#include "hccl/hccl.h"

namespace hccl_torch {

// What happened, with the EI text; `culprit` is the rank at fault in the communicator, or -1.
class HcclError : public std::runtime_error {
 public:
  HcclError(const std::string& text, int code, int culprit)
      : std::runtime_error(text), code_(code), culprit_(culprit) {}

  int code() const { return code_; }
  int culprit() const { return culprit_; }

 private:
  int code_;
  int culprit_;
};

// The library's own words for the newest error, or an empty text.
std::string recentMessage();

HcclError makeError(const std::string& call, int code, const std::string& message);

// Throws makeError() with the library's message unless `code` says success.
void check(int code, const char* call);

}  // namespace hccl_torch
