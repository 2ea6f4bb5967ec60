/* The sizes that a C program sees, for comparison with C++. */
#include "layout_c.h"

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hccl/hccl_rank_graph.h"

size_t cSizeOfCommConfig(void) {
  return sizeof(HcclCommConfig);
}
size_t cSizeOfRootInfo(void) {
  return sizeof(HcclRootInfo);
}
size_t cSizeOfSendRecvItem(void) {
  return sizeof(HcclSendRecvItem);
}
size_t cSizeOfCommLink(void) {
  return sizeof(CommLink);
}
size_t cSizeOfPhysicalMemProp(void) {
  return sizeof(aclrtPhysicalMemProp);
}

void cInitConfig(void* config) {
  HcclCommConfigInit((HcclCommConfig*)config);
}
