"""Prints, for CMake: PyTorch's version; suffix of extension modules; definitions; include folders;
libraries. Lists are divided by "|", facts by ";". Fails with one line when something is missing."""
import os
import sys
import sysconfig


def main():
    try:
        import torch
        from torch.utils import cpp_extension
    except ImportError as error:
        sys.exit(f"{sys.executable} has no PyTorch ({error})")
    if not torch.distributed.is_available():
        sys.exit("this PyTorch has no torch.distributed")
    includes = cpp_extension.include_paths() + [sysconfig.get_paths()["include"]]
    if not any(os.path.exists(f"{folder}/torch/csrc/distributed/c10d/Types.hpp") for folder in includes + ["/usr/include"]):
        sys.exit("PyTorch's headers are missing (on Debian: libtorch-dev)")
    if not any(os.path.exists(f"{folder}/Python.h") for folder in includes):
        sys.exit("Python's headers are missing (on Debian: python3-dev)")
    definitions = [f"_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    # pybind11 shares its types only between modules that agree on these.
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            definitions.append(f'PYBIND11_{name}="{value}"')
    libraries = []
    for name in ("torch_python", "torch", "torch_cpu", "c10"):
        for folder in cpp_extension.library_paths() + ["/usr/lib/x86_64-linux-gnu", sysconfig.get_config_var("LIBDIR")]:
            if os.path.exists(f"{folder}/lib{name}.so"):
                libraries.append(f"{folder}/lib{name}.so")
                break
        else:
            sys.exit(f"lib{name}.so of PyTorch is missing")
    includes = [folder for folder in includes if folder != "/usr/include"]
    print(";".join([torch.__version__, sysconfig.get_config_var("EXT_SUFFIX"),
                    "|".join(definitions), "|".join(includes), "|".join(libraries)]))


if __name__ == "__main__":
    main()
