/*
 * A program that loads the library, runs an AllReduce of one rank, unloads the library with
 * everything open, and does so again. It is not linked with it. Arguments: libascendcl.so
 * libhccl.so
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "hccl/hccl.h"

enum { kCount = 1000 };

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

static void must(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s returned %d\n", what, result);
  exit(1);
}

static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return library;
}

/* The casts of dlsym's results go through a union: ISO C has none from void* to a function. */
#define CALL(library, name)        \
  (((union {                       \
     void* object;                 \
     __typeof__(&(name)) function; \
   }){symbol(library, #name)})     \
       .function)

static void useAndUnload(const char* acl_path, const char* hccl_path) {
  void* acl = load(acl_path);
  void* hccl = load(hccl_path);
  must(CALL(acl, aclrtSetDevice)(0), "aclrtSetDevice");
  aclrtStream stream = NULL;
  must(CALL(acl, aclrtCreateStream)(&stream), "aclrtCreateStream");
  HcclRootInfo root;
  must(CALL(hccl, HcclGetRootInfo)(&root), "HcclGetRootInfo");
  HcclComm comm = NULL;
  must(CALL(hccl, HcclCommInitRootInfo)(1, &root, 0, &comm), "HcclCommInitRootInfo");
  int32_t send[kCount], recv[kCount];
  for (int i = 0; i < kCount; ++i) send[i] = i, recv[i] = -1;
  must(CALL(hccl, HcclAllReduce)(send, recv, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                                 stream),
       "HcclAllReduce");
  must(CALL(acl, aclrtSynchronizeStream)(stream), "aclrtSynchronizeStream");
  for (int i = 0; i < kCount; ++i) must(recv[i] != i, "a result");
  must(dlclose(hccl), "dlclose");
  must(dlclose(acl), "dlclose");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  useAndUnload(argv[1], argv[2]);
  useAndUnload(argv[1], argv[2]);
  puts("unloaded twice; the program ends now");
  return 0;
}
