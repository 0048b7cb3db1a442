# Shared by the scripts beside it, which source it. Enters the root of the repository.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Prints the comment at the top of the running script.
usage() { sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"; }

# Configures and builds a preset on all cores: build PRESET [TARGET...]
build() {
  local preset=$1 targets=()
  shift
  if (($#)); then targets=(--target "$@"); fi
  say "build $preset"
  cmake --preset "$preset" >"$(log_of "configure-$preset")" 2>&1 || {
    cat "$(log_of "configure-$preset")" >&2
    return 1
  }
  cmake --build "build/$preset" --parallel "${JOBS:-$(nproc)}" "${targets[@]}"
}

log_of() {
  mkdir -p build/log
  printf 'build/log/%s.log' "$1"
}
