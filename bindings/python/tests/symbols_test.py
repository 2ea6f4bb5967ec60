"""Looks up, with dlsym, every symbol of HCCL that MindSpore and torch_npu look up."""
import ctypes
import os
import sys
import unittest

LIBRARIES = os.environ["ASCEND_HOME_PATH"] + "/lib64"

# By function and library, as the frameworks' plugins name them.
TORCH_NPU = {
    "libhccl.so": """HcclAlltoAllV HcclAllGatherV HcclReduceScatterV HcclReduce HcclGetCommAsyncError
        HcclScatter HcclBatchSendRecv HcclAlltoAll HcclCommInitRootInfoConfig
        HcclGetCommConfigCapability HcclCommInitClusterInfoConfig HcclCreateSubCommConfig
        HcclCommWorkingDevNicSet HcclAllReduce HcclBroadcast HcclAllGather HcclReduceScatter HcclSend
        HcclRecv HcclGetRootInfo HcclCommInitRootInfo HcclCommDestroy HcclGetCommName
        HcclCommRegister HcclCommDeregister HcclCommExchangeMem HcclCommSuspend HcclCommResume
        HcclCommSetMemoryRange HcclCommUnsetMemoryRange HcclCommActivateCommMemory
        HcclCommDeactivateCommMemory HcclSetConfig HcclGetErrorString""",
    "libhcomm.so": "HcclGroupStart HcclGroupEnd",
    "libascendcl.so": """aclrtCreateStreamWithConfig aclrtSynchronizeStreamWithTimeout aclrtStreamQuery
        aclrtStreamGetId aclrtCreateEventExWithFlag aclrtQueryEventStatus aclrtQueryEventWaitStatus
        aclrtSynchronizeEvent aclrtSynchronizeDevice aclrtMemcpyAsync aclrtMemset aclGetRecentErrMsg
        aclrtDeviceTaskAbort aclrtGetLastError aclrtPeekAtLastError aclrtLaunchCallback
        aclrtLaunchHostFunc aclrtSetOpWaitTimeout aclrtSetExceptionInfoCallback
        aclrtGetCurrentContext""",
}
MINDSPORE = {
    "libhccl.so": """HcclBroadcast HcclAllReduce HcclReduce HcclScatter HcclReduceScatter HcclAllGather
        HcclSend HcclRecv HcclAlltoAllV HcclAllGatherV HcclReduceScatterV HcclAlltoAll HcclBarrier
        HcclBatchSendRecv HcclCommResume HcclGetCommAsyncError HcclGetErrorString
        HcclGetCommConfigCapability HcclCommInitClusterInfo HcclCommInitClusterInfoConfig
        HcclCommInitRootInfoConfig HcclCreateSubCommConfig HcclCommDestroy HcclGetRankId
        HcclGetRankSize HcclGetCommName HcclCommWorkingDevNicSet HcomGetLocalRankId
        HcomGetLocalRankSize HcomGetWorldRankFromGroupRank HcomGetGroupRankFromWorldRank
        HcomCreateGroup HcomDestroyGroup HcomGetRankId HcomGetRankSize HcomDestroy""",
}
# Looked up by MindSpore and not offered: for its graph engine on the device; and
# HcclSetGlobalCommInfo, without which MindSpore goes on.
NOT_OFFERED = ("HcomExecInitialize", "HcomExecFinalize", "HcclSetGlobalCommInfo")


class Symbols(unittest.TestCase):
    def look_up(self, framework):
        missing = []
        for library, names in framework.items():
            opened = ctypes.CDLL(f"{LIBRARIES}/{library}")
            missing += [f"{library}: {name}" for name in names.split() if not hasattr(opened, name)]
        self.assertEqual(missing, [])

    def test_torch_npu(self):
        self.look_up(TORCH_NPU)

    def test_mindspore(self):
        self.look_up(MINDSPORE)

    def test_what_is_not_offered(self):
        """The list in docs/frameworks.md is to be corrected when this fails."""
        opened = ctypes.CDLL(f"{LIBRARIES}/libhccl.so")
        self.assertEqual([name for name in NOT_OFFERED if hasattr(opened, name)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
