"""The C functions, with types, and their errors as exceptions."""
import ctypes
import os
import pathlib
import re

HANDLE = ctypes.c_void_p
POINTER = ctypes.c_void_p
U32 = ctypes.c_uint32
U64 = ctypes.c_uint64
INT = ctypes.c_int

ROOT_INFO_BYTES = 4108


class SendRecvItem(ctypes.Structure):
    _fields_ = [("kind", INT), ("buf", POINTER), ("count", U64), ("data_type", INT), ("peer", U32)]


class CommConfig(ctypes.Structure):
    """HcclCommConfig as HcclCommConfigInit leaves it."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("magic", U32), ("version", U32), ("reserved", U64),
        ("buffer_size", U32), ("deterministic", U32), ("name", ctypes.c_char * 128),
        ("udi", ctypes.c_char * 128), ("op_expansion_mode", U32), ("traffic_class", U32),
        ("service_level", U32), ("world_rank", U32), ("job", U64), ("graph_zero_copy", ctypes.c_uint8),
        ("exec_timeout", ctypes.c_int32), ("algorithm", ctypes.c_char * 1600),
        ("retry_enable", ctypes.c_char * 50), ("retry_params", ctypes.c_char * 128),
        ("buffer_name", ctypes.c_char * 128), ("qos", U32), ("window_size", U64),
        ("queue_depth", U32)]

    def __init__(self):
        not_set = 0xFFFFFFFF
        super().__init__(size=ctypes.sizeof(CommConfig), magic=0xF0F0F0F0, version=11,
                         buffer_size=not_set, deterministic=not_set, traffic_class=not_set,
                         service_level=not_set, exec_timeout=-1, qos=not_set, window_size=16,
                         queue_depth=not_set)


_FUNCTIONS = {
    "HcclGetRootInfo": (POINTER,),
    "HcclCommInitRootInfo": (U32, POINTER, U32, POINTER),
    "HcclCreateSubCommConfig": (POINTER, U32, POINTER, U64, U32, POINTER, POINTER),
    "HcclCommDestroy": (HANDLE,),
    "HcclAllReduce": (POINTER, POINTER, U64, INT, INT, HANDLE, HANDLE),
    "HcclReduce": (POINTER, POINTER, U64, INT, INT, U32, HANDLE, HANDLE),
    "HcclReduceScatter": (POINTER, POINTER, U64, INT, INT, HANDLE, HANDLE),
    "HcclReduceScatterV": (POINTER, POINTER, POINTER, POINTER, U64, INT, INT, HANDLE, HANDLE),
    "HcclAllGather": (POINTER, POINTER, U64, INT, HANDLE, HANDLE),
    "HcclAllGatherV": (POINTER, U64, POINTER, POINTER, POINTER, INT, HANDLE, HANDLE),
    "HcclBroadcast": (POINTER, U64, INT, U32, HANDLE, HANDLE),
    "HcclScatter": (POINTER, POINTER, U64, INT, U32, HANDLE, HANDLE),
    "HcclAlltoAll": (POINTER, U64, INT, POINTER, U64, INT, HANDLE, HANDLE),
    "HcclAlltoAllV": (POINTER, POINTER, POINTER, INT, POINTER, POINTER, POINTER, INT, HANDLE, HANDLE),
    "HcclAlltoAllVC": (POINTER, POINTER, INT, POINTER, INT, HANDLE, HANDLE),
    "HcclSend": (POINTER, U64, INT, U32, HANDLE, HANDLE),
    "HcclRecv": (POINTER, U64, INT, U32, HANDLE, HANDLE),
    "HcclBatchSendRecv": (POINTER, U32, HANDLE, HANDLE),
    "HcclBarrier": (HANDLE, HANDLE),
    "aclrtSetDevice": (ctypes.c_int32,),
    "aclrtCreateStream": (POINTER,),
    "aclrtDestroyStreamForce": (HANDLE,),
    "aclrtSynchronizeStreamWithTimeout": (HANDLE, ctypes.c_int32),
    "aclrtStreamQuery": (HANDLE, POINTER),
    "aclrtMalloc": (POINTER, ctypes.c_size_t, INT),
    "aclrtFree": (POINTER,),
}
_CULPRIT = re.compile(r"culprit rank (\d+)")
_EI = re.compile(r"\bE[IJ]\d{4}\b")


class HcclError(RuntimeError):
    """`code`: what the function returned; `ei`: "EI0006" or None; `culprit`: the rank at fault or None."""

    def __init__(self, function, code, text):
        super().__init__(f"{function} returned {code}" + (f":\n{text}" if text else ""))
        self.code = code
        ei = _EI.search(text)
        culprit = _CULPRIT.search(text)
        self.ei = ei.group() if ei else None
        self.culprit = int(culprit.group(1)) if culprit else None


def _open():
    """The library beside this package, in its prefix, in ASCEND_HOME_PATH, or where the loader looks."""
    here = pathlib.Path(__file__).absolute().parent
    folders = [parent / "lib64" for parent in here.parents[1:3]]
    if "ASCEND_HOME_PATH" in os.environ:
        folders.insert(0, pathlib.Path(os.environ["ASCEND_HOME_PATH"]) / "lib64")
    for folder in folders:
        if (folder / "libhccl.so").exists():
            return [ctypes.CDLL(str(folder / name)) for name in ("libhccl.so", "libascendcl.so")]
    return [ctypes.CDLL(name) for name in ("libhccl.so", "libascendcl.so")]


_HCCL, _ACL = _open()
_ACL.aclGetRecentErrMsg.restype = ctypes.c_char_p


def recent_message():
    text = _ACL.aclGetRecentErrMsg()
    return text.decode(errors="replace") if text else ""


def function(name):
    """The C function `name`, which raises HcclError unless it succeeds."""
    raw = getattr(_ACL if name.startswith("acl") else _HCCL, name)
    raw.argtypes = _FUNCTIONS[name]
    raw.restype = INT

    def checked(*arguments):
        code = raw(*arguments)
        if code != 0:
            raise HcclError(name, code, recent_message())

    return checked
