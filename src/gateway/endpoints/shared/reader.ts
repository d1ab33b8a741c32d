import { serviceAccounts, systemNamespace } from '../../../api/names.ts';
import { impersonationHeaders } from '../../../kube/client/impersonation.ts';

/** Headers, name and value in turn, of a request that goes out as the account that reads all credentials and targets. */
export const reader = impersonationHeaders({
  serviceAccount: { namespace: systemNamespace, name: serviceAccounts.reader },
});
