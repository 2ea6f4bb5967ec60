// The Python module hccl_torch._C.
#include <torch/csrc/utils/pybind.h>

#include "allocator.h"
#include "process_group.h"

namespace py = pybind11;

namespace hccl_torch {
namespace {

PyObject* errorType = nullptr;

void translate(std::exception_ptr pending) {
  try {
    if (pending) std::rethrow_exception(pending);
  } catch (const HcclError& error) {
    py::object value = py::reinterpret_borrow<py::object>(errorType)(error.what());
    value.attr("code") = error.code();
    value.attr("culprit") =
        error.culprit() < 0 ? py::object(py::none()) : py::object(py::int_(error.culprit()));
    PyErr_SetObject(errorType, value.ptr());
  }
}

c10::intrusive_ptr<BackendBase> create(const c10d::DistributedBackendOptions& options) {
  return ProcessGroupHccl::create(options);
}

}  // namespace
}  // namespace hccl_torch

PYBIND11_MODULE(_C, module) {
  using namespace hccl_torch;  // NOLINT(google-build-using-namespace)
  module.doc() = "The c10d backend hccl; see the package hccl_torch.";
  errorType = PyErr_NewException("hccl_torch.HcclError", PyExc_RuntimeError, nullptr);
  module.add_object("HcclError", py::reinterpret_borrow<py::object>(errorType));
  py::register_exception_translator(translate);
  module.def("create", &create, py::call_guard<py::gil_scoped_release>());
  module.def("shutdown", &shutdownAll, py::call_guard<py::gil_scoped_release>());
  module.def("is_forked_child", &isForkedChild);
  module.def("use_arena", &useArena);
}
