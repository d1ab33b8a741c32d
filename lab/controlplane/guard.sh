#!/bin/sh
# Runs the processes of one owner, and ends them and removes their folder when the owner is gone.
#
#   guard.sh <label> <folder in which its own folder is made>
#
# Standard input is a pipe that only the owner holds open. However the owner ends (SIGKILL included) the kernel closes
# that pipe, and the guard cleans up. It is a shell and not a Node process, so that `killall -9 node` does not hit it.
#
# Commands, a line each:
#   start <name> <grace>   runs <folder>/<name>.sh; at the end it gets SIGKILL when grace is 0, otherwise SIGTERM and,
#                          after that many tenths of a second, SIGKILL
#   link <path>            makes a symbolic link to the folder, unless something is there; removed at the end
# Answers, a line each:
#   folder <path>   started <name> <pid>   exited <name> <code>   linked yes|no
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

link_to_folder() {
  # -n: where a link to a folder is already, do not put this one into that folder.
  if ln -sn "$folder" "$1" 2>/dev/null; then
    link=$1
    echo 'linked yes'
  else
    echo 'linked no'
  fi
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
  trap : HUP INT TERM
  for name in $names; do end "$name"; done
  # What the processes themselves started is in the guard's process group.
  kill -TERM 0
  # Another process that thought us dead may have put a link of its own there.
  if [ -n "$link" ] && [ "$(readlink "$link")" = "$folder" ]; then rm -f -- "$link"; fi
  rm -rf -- "$folder"
  exit 0
}

# All in a function: a shell reads its script bit by bit, and this one must not change under a running guard.
main() {
  set -u
  umask 077
  trap finish HUP INT TERM
  # An answer to an owner that is gone must not end the guard before it has cleaned up. A handler that does nothing,
  # and not '': what is ignored here would be ignored in every process started below.
  trap : PIPE
  folder=$(mktemp -d "$2/latchkey-$1-XXXXXX") || exit 1
  # What a process leaves in its temporary folder goes too.
  export TMPDIR="$folder"
  names=
  link=
  printf 'folder %s\n' "$folder"
  while read -r command argument; do
    case $command in
    start) start "${argument% *}" "${argument#* }" ;;
    link) link_to_folder "$argument" ;;
    esac
  done
  finish
}

main "$@"
exit
