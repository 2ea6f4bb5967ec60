/* A C program that needs HCCL functions only, and asks whether optional ones exist. */
#include <stdio.h>
#include <string.h>

#include "hccl/hccl.h"
#include "hccl/hcom.h"

int main(void) {
  uint32_t size = 0;
  if (HcclCommSuspend == NULL || HcclGetCommConfigCapability() != HCCL_COMM_CONFIG_RESERVED) {
    return fprintf(stderr, "a function is missing\n") > 0;
  }
  if (strcmp(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout") != 0) {
    return fprintf(stderr, "wrong error text\n") > 0;
  }
  if (HcclGetRankSize(NULL, &size) != HCCL_E_PTR) {
    return fprintf(stderr, "a NULL communicator was accepted\n") > 0;
  }
  if (HcomGetRankSize("no_such_group", &size) == HCCL_SUCCESS) {
    return fprintf(stderr, "an unknown group was accepted\n") > 0;
  }
  printf("names: success\n");
  return 0;
}
