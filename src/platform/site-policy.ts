import { systemNamespace, systemObjects } from '../api/names.ts';
import { configMaps } from '../api/resources.ts';
import { noSitePolicy, parseSitePolicy, type SitePolicy } from '../credentials/site-policy.ts';
import type { Store, StoredRecord } from '../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../kube/object.ts';
import type { InformerSource } from './informers.ts';

/** The ConfigMap of the site, read. */
export interface SitePolicyRecord extends StoredRecord {
  readonly policy: SitePolicy;
}

/** Watches the one ConfigMap, in which there may be nothing. */
export const sitePolicySource = (store: Store<SitePolicyRecord>): InformerSource<SitePolicyRecord> => ({
  resource: configMaps,
  namespace: systemNamespace,
  fieldSelector: `metadata.name=${systemObjects.sitePolicy}`,
  store,
  toRecord: toSitePolicyRecord,
});

/** The site policy as far as it is known now. */
export const sitePolicyIn = (store: Store<SitePolicyRecord>): SitePolicy =>
  store.get(`${systemNamespace}/${systemObjects.sitePolicy}`)?.policy ?? noSitePolicy;

function toSitePolicyRecord(object: KubeObject): SitePolicyRecord {
  const { uid, resourceVersion } = object.metadata;
  return { key: keyOf(object.metadata), uid, resourceVersion, policy: parseSitePolicy(object) };
}
