import { credentialKinds, targetKinds } from './cluster.ts';
import type { CertificateFacts, GatewayTokenFacts } from './kubeconfig-facts.ts';
import type { KeyFacts, Summary, TokenFacts } from './summary.ts';
import { projectNamespace } from './virtual-cluster.ts';

/** The summary as people read it; `operatorLog` is left out when nothing goes on running that could be tried. */
export function renderSummary(summary: Summary, operatorLog?: string): string {
  const toTry =
    operatorLog === undefined
      ? [withoutOnce]
      : [...environment(summary, operatorLog), '', ...trials(summary)];
  return [
    '',
    `$ kubectl get ${credentialKinds} -o wide`,
    summary.listing,
    '',
    ...aboutKey(summary.key),
    '',
    ...aboutToken(summary.token),
    '',
    `$ kubectl get ${targetKinds} -A`,
    summary.kubeConfigs.listing,
    '',
    ...aboutCertificate(summary.kubeConfigs.certificate),
    '',
    ...aboutGatewayToken(summary.kubeConfigs.token),
    '',
    ...toTry,
    '',
  ].join('\n');
}

const withoutOnce =
  'All of this ends now. npm run demo, without --once, keeps it running and says what to try.';

const aboutKey = ({ name, keySource, keyID }: KeyFacts): string[] => [
  `Access key "${name}" (${keySource}): status.credentialHash is the SHA-256 of its spec.key.`,
  `  key ID ${keyID}: the first 16 digits of that hash. The key itself is not printed here.`,
];

const aboutToken = ({ name, header, claims, publishedKeys }: TokenFacts): string[] => [
  `Token "${name}": it verifies against the published key set (ConfigMap latchkey-oidc-discovery).`,
  `  published  ${publishedKeys.join(', ')}`,
  `  header     ${JSON.stringify(header)}`,
  ...aboutClaims(claims),
];

const aboutCertificate = ({ name, file, user, notAfter, namespaces }: CertificateFacts): string[] => [
  `Kubeconfig "${name}" (client certificate): it goes to the virtual cluster directly, here a second control plane.`,
  `  user       ${user}`,
  `  ends       ${notAfter}`,
  `$ kubectl --kubeconfig=${file} get ns`,
  namespaces,
];

const aboutGatewayToken = ({ name, server, claims }: GatewayTokenFacts): string[] => [
  `Kubeconfig "${name}" (token): it verifies, too. Its server is the gateway, which this version does not have yet,`,
  '  so nothing answers there.',
  `  server     ${server}`,
  ...aboutClaims(claims),
];

const aboutClaims = (claims: object): string[] => [
  '  claims',
  JSON.stringify(claims, undefined, 2).replaceAll(/^/gm, '    '),
];

const environment = (
  { kubeconfig, adminKubeconfig, kubectl, kubeConfigs }: Summary,
  operatorLog: string,
): string[] => [
  'To try things, in another terminal, as alice:',
  `  export KUBECONFIG=${kubeconfig}`,
  `  export KUBECACHEDIR=${kubectl.cache}`,
  `  export PATH=${kubectl.folder}:$PATH`,
  `  export ADMIN=${adminKubeconfig}`,
  `  export SHOP=${kubeConfigs.certificate.file}`,
  '',
  '  as cluster administrator  kubectl --kubeconfig=$ADMIN …',
  `  log of the operator       ${operatorLog}`,
];

function trials({ parent, token, kubeConfigs }: Summary): string[] {
  const { name } = kubeConfigs.certificate;
  const brief = `{"apiVersion":"management.platform.sh/v1","kind":"OwnedAccessKey","metadata":{"name":"brief"},"spec":{"ttl":20}}`;
  return [
    `  kubectl annotate dcet ${token.name} management.platform.sh/rotate="$(date)" --overwrite`,
    '      a token with the next serial; the one before is refused from then on',
    `  kubectl patch oak ${parent} --type=merge -p '{"spec":{"disabled":true}}' && kubectl get oak,dcet -o wide`,
    '      the key has the reason Disabled, what names it has AccessKeyNotLive; with false all of them work again',
    `  kubectl patch oak ${parent} --type=merge -p '{"spec":{"user":"bob"}}'`,
    '      refused with the reason: a key never changes its identity',
    `  echo '${brief}' | kubectl create -f -`,
    '      a key of your own for 20 seconds: ExpiringSoon after 16, Expired after 20',
    `  kubectl delete oak ${parent} && kubectl get oak,dcet -o wide`,
    '      what named it has lost its credential for good: AccessKeyGone',
    `  kubectl delete vcik ${name} -n ${projectNamespace} && kubectl --kubeconfig=$SHOP get ns`,
    '      the virtual cluster knows the certificate still, and forbids everything: its role binding is gone',
    '  kubectl get events -A --sort-by=.metadata.creationTimestamp',
    '      one event for each of these changes',
  ];
}
