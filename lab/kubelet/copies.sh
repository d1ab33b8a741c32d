# Copies a file COUNT times at once, each time with a kubectl of its own, and prints the checksum of each copy. Half of them go into a pod by
# `kubectl cp`, half come out of it by `cat`. One more reads a megabyte, stands still until the others are over, and reads the rest.
set -u -o pipefail

checksum() {
  sha256sum | cut -d ' ' -f 1
}

# The command ends when its reader has the whole file. When a command ends sooner, the API server closes the session at once. Its system
# then drops what the reader has not taken as soon as kubectl says once more that it is still there.
out() {
  local taken=$1 reader=$2
  mkfifo "${taken}"
  { read -r _ <"${taken}"; } |
    "${KUBECTL}" exec -i "${POD}" -- sh -c "cat '${FILE}'; cat" |
    {
      "${reader}" | checksum
      echo >"${taken}"
    }
}

into() {
  "${KUBECTL}" cp "${FILE}" "${POD}:${PWD}/$1" >&2 && checksum <"$1"
  rm -f "$1"
}

at_once() {
  head -c "${BYTES}"
}

slowly() {
  head -c 1000000
  read -r _ <over
  head -c "$((BYTES - 1000000))"
}

mkfifo over
out slow slowly &
slow=$!
others=()
for ((index = 0; index < COUNT; index += 1)); do
  if ((index % 2 == 0)); then into "copy-${index}" & else out "taken-${index}" at_once & fi
  others+=($!)
done
wait "${others[@]}"
echo "all but the slow one"
echo >over
wait "${slow}"
