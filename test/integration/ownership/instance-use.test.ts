import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { describeRows, type Row } from './rows.ts';
import { by, changeOf, creationOf, flavours, type Spec } from './shorthand.ts';

const making = creationOf(virtualClusterInstanceKubeConfigs);
const changing = changeOf(virtualClusterInstanceKubeConfigs);

const noUse = [
  403,
  'spec.virtualClusterInstance: a kubeconfig without spec.accessKey is for those with the verb use on the virtualclusterinstance of that name, where it is absent of metadata.name; correct the name, ask for that verb, or set spec.accessKey to a key whose user has it',
] as const;
const noAdmin = [
  403,
  'spec.clientCert: a client certificate without spec.accessKey is for those with the verb use-as-admin on the virtualclusterinstance; ask for that verb, or leave spec.clientCert out',
] as const;

const usable = { virtualClusterInstance: 'usable' } as const;
const certificate = { ...usable, clientCert: true } as const;
const half = { virtualClusterInstance: 'half' } as const;
const other = { virtualClusterInstance: 'other' } as const;

const named = (name: string, row: Row): Row => ({ ...row, content: { ...row.content, metadata: { name } } });

describeRows('a kubeconfig', [
  making('mallory', 'has none without use', usable, noUse),
  by('generateName', making('mallory', 'has none without use', usable, noUse)),
  making('tina', 'has none by being in a team', usable, noUse),
  making('alice', 'has none for an instance that she may not use', other, noUse),
  making('alice', 'has none for the instance of the same name that she may not use', {}, noUse),
  by('generateName', making('alice', 'has none for an instance of a generated name', {}, noUse)),
  making('alice', 'has none for an instance with an empty name', { virtualClusterInstance: '' }, [
    422,
    /must be the name/,
  ]),
  named('usable', making('alice', 'has none for another instance by the name of hers', other, noUse)),
  making('alice', 'has no certificate without use-as-admin', certificate, noAdmin),
  by('generateName', making('alice', 'has no certificate', certificate, noAdmin)),
  making('holder', 'has no certificate over a key of hers', certificate, noAdmin),
  making('carol', 'has none with use-as-admin alone', half, noUse),
  making('carol', 'has no certificate with use-as-admin alone', { ...half, clientCert: true }, noUse),
  making('root', 'has none although they run the platform', usable, noUse),
  by('apply', making('root', 'has none', usable, noUse)),
  by('apply', making('root', 'has no certificate', certificate, noUse)),
  making('mallory', 'has none by an empty name of an access key', { ...usable, accessKey: '' }, [
    422,
    /spec\.accessKey/,
  ]),
  making('alice', 'has one for the instance that she may use', usable, 'allowed'),
  named('usable', making('alice', 'has one for the instance of the same name', {}, 'allowed')),
  by('generateName', making('alice', 'has one under a generated name', usable, 'allowed')),
  making('alice', 'has one without certificate', { ...usable, clientCert: false }, 'allowed'),
  making('holder', 'has one over a key of hers', usable, 'allowed'),
  making('carol', 'has one with a certificate', certificate, 'allowed'),
  making(
    'mallory',
    'has one below an access key, which the operator judges',
    { ...usable, accessKey: 'ci' },
    'allowed',
  ),
  making(
    'mallory',
    'has one with a certificate below an access key, too',
    { ...certificate, accessKey: 'ci' },
    'allowed',
  ),
  by(
    'apply',
    making('argocd', 'has one below an access key', { ...certificate, accessKey: 'ci' }, 'allowed'),
  ),
  making('master', 'has one with a certificate', certificate, 'allowed'),
]);

/** Made by somebody who may do everything, and who is `demoted` now. */
const made = (spec: Spec = usable) => ({ by: 'master', spec: { certificateTTL: 600, ...spec } }) as const;

describeRows('a kubeconfig whose creator may not use the instance any more', [
  ...flavours.map((flavour) =>
    changing('demoted', flavour, {
      does: `may not send its users elsewhere by ${flavour}`,
      before: made(),
      content: { spec: { server: 'https://mine.example.com' } },
      answer: noUse,
    }),
  ),
  changing('demoted', 'merge patch', {
    does: 'may not prolong it',
    before: made(),
    content: { spec: { certificateTTL: 86_400 } },
    answer: noUse,
  }),
  changing('demoted', 'PUT', {
    does: 'may not prolong one with a certificate',
    before: made(certificate),
    content: { spec: { certificateTTL: 86_400 } },
    answer: noUse,
  }),
  changing('demoted', 'JSON patch', {
    does: 'does not make it one for the instance of the same name by dropping spec',
    before: made(),
    patch: [{ op: 'remove', path: '/spec' }],
    answer: [422, /spec\.virtualClusterInstance cannot change/],
  }),
  changing('demoted', 'PUT', {
    does: 'prolongs one below an access key, which the operator judges',
    before: made({ ...usable, accessKey: 'ci' }),
    content: { spec: { certificateTTL: 86_400 } },
    answer: 'allowed',
  }),
  ...flavours.map((flavour) =>
    changing('demoted', flavour, {
      does: `still labels it by ${flavour}`,
      before: made(),
      content: { metadata: { labels: { 'latchkey-admission-test': 'true', old: 'true' } } },
      answer: 'allowed',
    }),
  ),
  changing('alice', 'PUT', {
    does: 'prolongs one for the instance that she may use',
    before: { by: 'alice', spec: usable },
    content: { spec: { certificateTTL: 86_400 } },
    answer: 'allowed',
  }),
  changing('carol', 'PUT', {
    does: 'prolongs one with a certificate',
    before: { by: 'carol', spec: certificate },
    content: { spec: { certificateTTL: 86_400 } },
    answer: 'allowed',
  }),
]);
