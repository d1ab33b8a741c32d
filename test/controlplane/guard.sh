#!/bin/sh
# Runs the processes of one owner, and ends them and removes their folder when the owner is gone.
#
#   guard.sh <label>
#
# Standard input is a pipe that only the owner holds open. However the owner ends (SIGKILL included) the kernel closes
# that pipe, and the guard cleans up. It is a shell and not a Node process, so that `killall -9 node` does not hit it.
#
# Commands, a line each:   start <name> <grace>   runs <folder>/<name>.sh; grace 0 means SIGKILL at the end, otherwise
#                                                 SIGTERM first and SIGKILL after that many tenths of a second
# Answers, a line each:    folder <path>   started <name> <pid>   exited <name> <code>
set -u
umask 077
# Handlers that do nothing, and not '' : what is ignored here would be ignored in every process started below.
# PIPE: answers to an owner that is gone must not end the guard before it has cleaned up.
trap : INT HUP PIPE
trap finish TERM

folder=$(mktemp -d "${TMPDIR:-/tmp}/latchkey-$1-XXXXXX") || exit 1
names=

start() {
  (
    sh "$folder/$1.sh" </dev/null >>"$folder/$1.log" 2>&1 &
    pid=$!
    echo "$2" >"$folder/$1.grace"
    echo "$pid" >"$folder/$1.pid"
    printf 'started %s %s\n' "$1" "$pid"
    wait "$pid"
    code=$?
    rm -f "$folder/$1.pid"
    printf 'exited %s %s\n' "$1" "$code"
  ) 2>/dev/null & # a shell reports there how its jobs ended
  names="$1 $names"
  # The next command may be the end of input: by then the process must be known, or it would be missed.
  until [ -s "$folder/$1.pid" ] || ! kill -0 "$!" 2>/dev/null; do sleep 0.01; done
}

# Until the process was reaped, or the given number of tenths of a second has passed.
await_end() {
  left=$(($2 * 5))
  while [ -e "$folder/$1.pid" ] && [ "$left" -gt 0 ]; do
    sleep 0.02
    left=$((left - 1))
  done
}

end() {
  pid=$(cat "$folder/$1.pid" 2>/dev/null) || return 0
  grace=$(cat "$folder/$1.grace")
  if [ "$grace" -gt 0 ]; then
    kill -TERM "$pid" 2>/dev/null
    await_end "$1" "$grace"
  fi
  kill -KILL "$pid" 2>/dev/null
  await_end "$1" 50
}

finish() {
  trap : TERM
  for name in $names; do end "$name"; done
  # What the processes themselves started is in the guard's process group.
  kill -TERM 0
  rm -rf -- "$folder"
  exit 0
}

printf 'folder %s\n' "$folder"
while read -r command name grace; do
  if [ "$command" = start ]; then start "$name" "$grace"; fi
done
finish
