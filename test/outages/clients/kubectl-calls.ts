const map = (value: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'calls' }, data: { a: value } });
const pod = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'calls' },
  spec: { serviceAccountName: 'calls', containers: [{ name: 'c', image: 'i' }] },
});

/** Words of a command, and its standard input; each builds on those before it, and the last ones clear away. */
export const kubectlCalls: readonly (readonly [command: string, input?: string])[] = [
  ['version'],
  ['api-resources --no-headers'],
  ['explain deployment.spec'],
  ['create configmap calls --from-literal=a=1'],
  ['create configmap calls --from-literal=a=1'],
  ['get configmaps --field-selector=metadata.name=calls -o yaml --chunk-size=1'],
  ['describe configmap calls'],
  ['label configmap calls x=y'],
  ['patch configmap calls --type=json -p [{"op":"remove","path":"/data/none"}]'],
  ['apply -f -', map('2')],
  ['diff -f -', map('3')],
  ['apply --server-side -f -', map('3')],
  ['apply --server-side --force-conflicts -f -', map('3')],
  ['replace --force -f -', map('4')],
  ['create secret generic calls --from-literal=a=1'],
  ['create serviceaccount calls'],
  ['create token calls'],
  ['create role calls --verb=get --resource=pods'],
  ['create rolebinding calls --role=calls --serviceaccount=default:calls'],
  ['create deployment calls --image=x --replicas=0'],
  ['scale deployment calls --replicas=1'],
  ['rollout restart deployment/calls'],
  ['create -f -', pod],
  ['logs calls'],
  ['debug calls --image=x --container=d'],
  ['get nodes'],
  ['get --raw /readyz'],
  ['get --raw /nothing'],
  ['auth whoami'],
  ['auth can-i --list'],
  ['exec calls -- true'],
  ['delete pod calls --force --grace-period=0'],
  ['delete deployment,secret,serviceaccount,role,rolebinding,configmap calls'],
  ['delete configmap calls'],
];

/** The calls that docs/reference/clients.md names: they answer something else through the gateway. */
export const differentCalls = ['auth whoami', 'auth can-i --list'];

/** Texts that vary from one run to the next. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>'],
  [/\d{4}-\d\d-\d\d[T ][\d:.+Z]+/g, '<time>'],
  [/(resourceVersion"?: )"?\d+"?/g, '$1<version>'],
  [/eyJ[\w.-]+/g, '<token>'],
  [/\b\d+m?s\b|\b\d+m\b/g, '<age>'],
  [/[EIW]\d{4} [\d:.]+ +\d+/g, '<log>'],
  [/\/(?:LIVE|MERGED)-\d+/g, '<file>'],
];

export const withoutWhatVaries = (text: string): string =>
  varying.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), text);
