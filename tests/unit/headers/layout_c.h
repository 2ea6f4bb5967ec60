// The C half of the layout test.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
size_t cSizeOfCommConfig(void);
size_t cSizeOfRootInfo(void);
size_t cSizeOfSendRecvItem(void);
size_t cSizeOfCommLink(void);
size_t cSizeOfPhysicalMemProp(void);
void cInitConfig(void* config);
#ifdef __cplusplus
}
#endif
