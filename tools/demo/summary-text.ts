import { reconciledKinds } from './cluster.ts';
import type { KeyFacts, Summary, TokenFacts } from './summary.ts';

/** The summary as people read it. */
export function renderSummary(summary: Summary, operatorLog: string): string {
  return [
    '',
    `$ kubectl get ${reconciledKinds} -o wide`,
    summary.listing,
    '',
    ...aboutKey(summary.key),
    '',
    ...aboutToken(summary.token),
    '',
    ...environment(summary, operatorLog),
    '',
    ...trials(summary),
    '',
  ].join('\n');
}

const aboutKey = ({ name, keySource, keyID }: KeyFacts): string[] => [
  `Access key "${name}" (${keySource}): status.credentialHash is the SHA-256 of its spec.key.`,
  `  key ID ${keyID}: the first 16 digits of that hash. The key itself is not printed here.`,
];

const aboutToken = ({ name, header, claims, publishedKeys }: TokenFacts): string[] => [
  `Token "${name}": it verifies against the published key set (ConfigMap latchkey-oidc-discovery).`,
  `  published  ${publishedKeys.join(', ')}`,
  `  header     ${JSON.stringify(header)}`,
  '  claims',
  JSON.stringify(claims, undefined, 2).replaceAll(/^/gm, '    '),
];

const environment = ({ kubeconfig, adminKubeconfig, kubectl }: Summary, operatorLog: string): string[] => [
  'To try things, in another terminal, as alice:',
  `  export KUBECONFIG=${kubeconfig}`,
  `  export KUBECACHEDIR=${kubectl.cache}`,
  `  export PATH=${kubectl.folder}:$PATH`,
  `  export ADMIN=${adminKubeconfig}`,
  '',
  '  as cluster administrator  kubectl --kubeconfig=$ADMIN …',
  `  log of the operator       ${operatorLog}`,
];

function trials({ parent, token }: Summary): string[] {
  const brief = `{"apiVersion":"management.platform.sh/v1","kind":"OwnedAccessKey","metadata":{"name":"brief"},"spec":{"ttl":20}}`;
  return [
    `  kubectl annotate dcet ${token.name} management.platform.sh/rotate="$(date)" --overwrite`,
    '      a token with the next serial; the one before is refused from then on',
    `  kubectl patch oak ${parent} --type=merge -p '{"spec":{"disabled":true}}' && kubectl get oak,dcet -o wide`,
    '      the key has the reason Disabled, what names it has AccessKeyNotLive; with false all of them work again',
    `  kubectl patch oak ${parent} --type=merge -p '{"spec":{"user":"bob"}}'`,
    '      refused with the reason: a key never changes whom it speaks for',
    `  echo '${brief}' | kubectl create -f -`,
    '      a key of your own for 20 seconds: ExpiringSoon after 16, Expired after 20',
    `  kubectl delete oak ${parent} && kubectl get oak,dcet -o wide`,
    '      what named it has lost its credential for good: AccessKeyGone',
    '  kubectl get events --sort-by=.metadata.creationTimestamp',
    '      one event for each of these changes',
  ];
}
