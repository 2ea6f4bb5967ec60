# What the scripts share; source it as `. "$(dirname "$0")/common.sh"`. Sets $root and $jobs.
# shellcheck shell=bash disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${HCCL_BUILD_JOBS:-$(nproc)}

say() { printf '\n== %s\n' "$*"; }

# build PRESET [TARGET ...]: configures and builds build/PRESET; arguments for CMake in $configure_flags.
build() {
    local preset=$1 targets=()
    shift
    [ $# -gt 0 ] && targets=(--target "$@")
    local launchers=()
    if command -v ccache >/dev/null; then
        launchers=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    (
        cd "$root"
        # shellcheck disable=SC2086
        cmake --preset "$preset" "${launchers[@]}" ${configure_flags:-} >"$root/build/$preset.log" 2>&1 ||
            { cat "$root/build/$preset.log"; exit 1; }
        cmake --build "$root/build/$preset" -j "$jobs" "${targets[@]}"
    )
}
mkdir -p "$root/build"
