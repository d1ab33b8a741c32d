import path from 'node:path';
import { runOtherwise } from '../document-runs.ts';
import type { Command } from '../document-steps.ts';

/** After the last line: whether a command said something else than its page shows. */
export const epilogue = 'exit $differs';

/** The base of the lines below. `as_shown` takes what a page shows, how the command ends, how often to try, and the command. */
export const prelude = [
  'ALICE=$KUBECONFIG',
  'differs=0',
  // curl of a reader in a terminal shows no progress.
  'export CURL_HOME=$PWD',
  "printf 'silent\\nshow-error\\n' > .curlrc",
  // The browser of a reader.
  'mkdir bin; PATH=$PWD/bin:$PATH',
  `printf '#!/bin/sh\\nexec "%s" "%s" "$1"\\n' '${process.execPath}' '${path.join(import.meta.dirname, 'open-page.ts')}' > bin/xdg-open; chmod +x bin/xdg-open`,
  `signing() { kubectl --kubeconfig=$ADMIN get secret latchkey-signing-keys -n latchkey-system -o go-template='{{range $name, $_ := .data}}{{$name}}{{"\\n"}}{{end}}'; }`,
  "kid() { until signing | sed -n 's/[.]pem$//p' | head -n 1 | grep .; do sleep 0.5; done; }",
  `coproc COMPARE { exec "${process.execPath}" "${path.join(import.meta.dirname, 'compare-output.ts')}"; }`,
  `same() { local answer; echo "$PWD" >&"\${COMPARE[1]}"; read -r answer <&"\${COMPARE[0]}"; [ "$answer" = same ]; }`,
  `as_shown() {
  local tried ended
  printf %s "$1" > shown
  for ((tried = 1; ; tried++)); do
    if eval "$4" > said 2>&1; then ended=works; else ended=fails; fi
    if [ $ended = $2 ] && same; then return; fi
    if [ $tried = $3 ]; then break; fi
    sleep 0.5
  done
  echo "it $ended, and says:" >&2
  cat said >&2
  echo 'the page shows:' >&2
  cat shown >&2
  differs=1
  [ $ended = $2 ]
}`,
];

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** The command as it runs here. */
const here = (command: string): string =>
  runOtherwise.reduce((text, { from, to }) => text.replaceAll(from, to), command);

/** Runs the command, and compares what it says with what the page shows. */
export function linesOf({ command, output }: Command): string {
  const own = here(command);
  return [`echo ${quoted(`$ ${own}`)} >&2`, attempt(own, output)].join('\n');
}

/** A page may show that a command fails. What a command reads comes a moment after what the one before it did. */
function attempt(command: string, output: string): string {
  const ending = /^(?:Error from server |The \w+ "[\w-]+" is invalid)/.test(output) ? 'fails' : 'works';
  const tries = /^kubectl (?:.* )?(?:get|auth) /.test(command) ? 40 : 1;
  if (output !== '') return `as_shown ${quoted(output)} ${ending} ${tries} ${quoted(command)}`;
  if (!command.startsWith('kubectl get secret ')) return command;
  return `for try in $(seq 40); do if ${command}; then break; elif [ $try = 40 ]; then exit 1; else sleep 0.5; fi; done`;
}
