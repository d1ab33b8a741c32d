import { credentialKinds, targetKinds } from './cluster.ts';
import { type GatewayFacts, noCurl, platformVersion } from './gateway-facts.ts';
import type { KubeConfigFacts } from './kubeconfig-facts.ts';
import type { PostedFacts } from './posted-facts.ts';
import type { KeyFacts, Summary, TokenFacts } from './summary.ts';
import { projectNamespace } from './virtual-cluster.ts';

/** The summary as people read it, for those who asked for details. */
export function renderSummary(summary: Summary): string {
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
    ...aboutGateway(summary.gateway),
    '',
    ...aboutGatewayToken(summary.kubeConfigs.token),
    '',
    ...aboutPosted(summary),
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
  ...aboutClaims(claims),
];

const aboutCertificate = ({
  name,
  file,
  user,
  notAfter,
  namespaces,
}: KubeConfigFacts['certificate']): string[] => [
  `Kubeconfig "${name}" (client certificate): it goes to the virtual cluster directly, here a second control plane.`,
  `  user       ${user}`,
  `  ends       ${notAfter}`,
  `$ kubectl --kubeconfig=${file} get ns`,
  namespaces,
];

const aboutGateway = ({
  baseURL,
  caFile,
  key,
  file,
  version,
  whoAmI,
  namespaces,
}: GatewayFacts): string[] => [
  `Through the gateway at ${baseURL}, into the platform, with the access key "${key}" as $KEY:`,
  `$ curl --cacert ${caFile} -H "Authorization: Bearer $KEY" ${platformVersion(baseURL)}`,
  version,
  `$ kubectl --kubeconfig=${file} auth whoami`,
  whoAmI,
  `$ kubectl --kubeconfig=${file} get ns`,
  namespaces,
];

const aboutGatewayToken = ({
  name,
  server,
  claims,
  file,
  namespaces,
}: KubeConfigFacts['token']): string[] => [
  `Through the gateway into the virtual cluster, with the kubeconfig "${name}" (token); the token verifies, too:`,
  `  server     ${server}`,
  ...aboutClaims(claims),
  `$ kubectl --kubeconfig=${file} get ns`,
  namespaces,
];

function aboutPosted({ posted, gateway, trusting }: Summary): string[] {
  const first = 'Made by POST through the gateway, each credential in one answer and in no other:';
  if (posted === undefined) return [first, noCurl];
  const { key, token, kubeConfig } = posted;
  const request = `curl --cacert ${gateway.caFile} -H "Authorization: Bearer $KEY" -H "Content-Type: application/yaml"`;
  const made = ({ body, url, made: what }: PostedFacts['key']) => [
    `$ ${request} -d '${body}' ${url}`,
    `  made: ${what}`,
  ];
  const staging = `--server=${trusting.server} --certificate-authority=${trusting.caFile}`;
  return [
    first,
    ...made(key),
    `$ kubectl --kubeconfig=${key.file} auth whoami`,
    key.output,
    ...made(token),
    'The second API server takes the token by itself, as the cluster staging:',
    `$ kubectl --kubeconfig=/dev/null ${staging} --token="$TOKEN" auth whoami`,
    token.output,
    ...made(kubeConfig),
    `$ kubectl --kubeconfig=${kubeConfig.file} get ns`,
    kubeConfig.output,
  ];
}

const aboutClaims = (claims: object): string[] => [
  '  claims',
  JSON.stringify(claims, undefined, 2).replaceAll(/^/gm, '    '),
];

/** More to try, where things go on running. */
export function renderMoreTrials({ parent, token, kubeConfigs, gateway }: Summary): string {
  const { name } = kubeConfigs.certificate;
  const brief = `{"apiVersion":"management.platform.sh/v1","kind":"OwnedAccessKey","metadata":{"name":"brief"},"spec":{"ttl":20}}`;
  return [
    '',
    'More to try, in the same terminal:',
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
    `  kubectl patch oak ${gateway.key} --type=merge -p '{"spec":{"disabled":true}}' && kubectl --kubeconfig=$PLATFORM get ns`,
    '      the gateway refuses the key at once and says that it is disabled; an open watch with it ends',
    '  kubectl get events -A --sort-by=.metadata.creationTimestamp',
    '      one event for each of these changes',
    '  tail -f $OPERATOR_LOG $GATEWAY_LOG',
    '      what operator and gateway have to say',
  ].join('\n');
}
