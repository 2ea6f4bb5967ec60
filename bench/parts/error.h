// How the parts of the benchmarks give up: an exception that runner.cc turns into a message and an
// exit code of the whole job.
#pragma once

#include <stdexcept>
#include <string>

#include "hccl/hccl.h"

namespace hccl::bench {

class BenchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws a BenchError that names the call, its code and the library's text unless code is success.
// HcclResult and aclError both go in.
void require(int code, const char* call);

}  // namespace hccl::bench
