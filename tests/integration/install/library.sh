# shellcheck shell=sh disable=SC2154
# What the checks of this folder share: `. library.sh` after setting $here.
export HCCL_HOST_DEVICES=2
export HCCL_CONNECT_TIMEOUT=60

say() { echo "-- $*"; }

# check_programs PREFIX FOLDER: builds and runs programs against the prefix in every way users do.
check_programs() (
    prefix=$1
    cd "$2" || exit 1
    clean="env -i PATH=$PATH HOME=$2 HCCL_HOST_DEVICES=$HCCL_HOST_DEVICES"
    cp "$here"/Makefile "$here"/all_reduce.cc "$here"/names.c .

    say "bare Makefile with only ASCEND_HOME_PATH, then run with LD_LIBRARY_PATH"
    $clean ASCEND_HOME_PATH="$prefix" make -s all_reduce
    $clean LD_LIBRARY_PATH="$prefix/lib64" ./all_reduce

    say "link names -lacl_rt and -lmsprofiler"
    g++ -std=c++14 -Werror -I"$prefix/include" all_reduce.cc -o aliases -L"$prefix/lib64" -lhccl \
        -lacl_rt -lmsprofiler -lpthread
    $clean LD_LIBRARY_PATH="$prefix/lib64" ./aliases

    say "C99 program, -lhccl alone, unneeded libraries dropped by the linker"
    gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$prefix/include" names.c -o names \
        -L"$prefix/lib64" -Wl,--no-as-needed -lhccl -Wl,-z,now
    $clean LD_LIBRARY_PATH="$prefix/lib64" ./names

    say "pkg-config"
    # shellcheck disable=SC2046
    g++ -std=c++20 -Wall -Wextra -Werror all_reduce.cc -o by_pkg_config -pthread \
        $(PKG_CONFIG_PATH="$prefix/lib64/pkgconfig" pkg-config --cflags --libs hccl)
    $clean LD_LIBRARY_PATH="$prefix/lib64" ./by_pkg_config

    say "find_package"
    mkdir user
    cp -r "$here/find_package" user/
    cp all_reduce.cc user/
    cmake -S user/find_package -B user/build -DCMAKE_PREFIX_PATH="$prefix" >user/log 2>&1 ||
        { cat user/log; return 1; }
    cmake --build user/build >user/log 2>&1 || { cat user/log; return 1; }
    $clean ./user/build/all_reduce

    for shell in bash dash sh; do
        say "set_env.sh in $shell"
        $clean $shell -euc ". '$prefix/set_env.sh'
            [ \"\$ASCEND_HOME_PATH\" = '$prefix' ] && ./all_reduce && pkg-config --exists hccl"
    done
)
