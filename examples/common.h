// What the examples share: a macro that ends the program when a call fails, and a check of results.
#ifndef EXAMPLES_COMMON_H_
#define EXAMPLES_COMMON_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "hccl/hccl.h"

// For functions that return HcclResult or aclError: 0 is success in both.
#define CHECK(call)                                                                        \
  do {                                                                                     \
    const int code = static_cast<int>(call);                                               \
    if (code != 0) {                                                                       \
      const char* text = aclGetRecentErrMsg();                                             \
      std::fprintf(stderr, "%s:%d: %s returned %d: %s\n", __FILE__, __LINE__, #call, code, \
                   text != nullptr ? text : "");                                           \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

// Ends the program unless each of `count` elements equals `expected`.
inline void expectAll(const float* values, uint64_t count, float expected, uint32_t rank) {
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] != expected) {
      std::fprintf(stderr, "rank %u: element %llu is %g, expected %g\n", rank,
                   static_cast<unsigned long long>(i), static_cast<double>(values[i]),
                   static_cast<double>(expected));
      std::exit(1);
    }
  }
}

// On a host the number of devices is a setting; by default it is the number of cores. Call it
// before any other function. The user's own setting wins.
inline void wantDevices(const char* count) {
  setenv("HCCL_HOST_DEVICES", count, 0);
}

#endif  // EXAMPLES_COMMON_H_
