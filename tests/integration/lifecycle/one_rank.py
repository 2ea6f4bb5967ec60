"""A Python interpreter that loads the library, runs an AllReduce of one rank and ends without cleaning up.

Usage: one_rank.py libhccl.so libascendcl.so
"""
import ctypes
import sys

SUCCESS = 0
INT32, SUM = 2, 0


def must(result, what):
    if result != SUCCESS:
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        sys.exit(f"{what} returned {result}: {acl.aclGetRecentErrMsg()}")


acl = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
hccl = ctypes.CDLL(sys.argv[1])

must(acl.aclInit(None), "aclInit")
must(acl.aclrtSetDevice(0), "aclrtSetDevice")
stream = ctypes.c_void_p()
must(acl.aclrtCreateStream(ctypes.byref(stream)), "aclrtCreateStream")
root = ctypes.create_string_buffer(4108)
must(hccl.HcclGetRootInfo(root), "HcclGetRootInfo")
comm = ctypes.c_void_p()
must(hccl.HcclCommInitRootInfo(1, root, 0, ctypes.byref(comm)), "HcclCommInitRootInfo")

count = 1000
send = (ctypes.c_int32 * count)(*range(count))
recv = (ctypes.c_int32 * count)()
must(hccl.HcclAllReduce(send, recv, ctypes.c_uint64(count), INT32, SUM, comm, stream), "HcclAllReduce")
must(acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream")
if list(recv) != list(range(count)):
    sys.exit("wrong result")
print("one rank: right result; the interpreter ends now, with everything open")
