import { asObject } from '../../../api/json.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import { ask, headersInPlace } from '../shared/ask.ts';
import { type Endpoint, type EndpointRequest, type EndpointServices, holdFor } from '../shared/endpoint.ts';
import { answerFailure } from '../shared/reply.ts';
import { mediaTypeOf, objectLimit, parseBody, readBody, type YAMLSource } from '../shared/request-body.ts';

/** Answers as the API server would where the namespace exists. Nothing is made, and nothing of the body goes on. */
export const spaceNamespace =
  ({ yaml, held }: Pick<EndpointServices, 'yaml' | 'held'>): Endpoint =>
  async (request) => {
    const { response, refuse, place, sender } = request;
    const namespace = place.namespace ?? '';
    const { user } = sender.verdict.identity;
    const holding = holdFor(request, held);
    const body = await readBody(request, objectLimit, (bytes) => holding.take(bytes));
    if (response.destroyed) return;
    if (!Buffer.isBuffer(body)) return refuse(body);
    try {
      const type = mediaTypeOf(request.request.headers['content-type']);
      const isIt = await isNamed(body, namespace, { type, yaml, user, turn: request.turn });
      refuse(
        isIt ? await answerAbout(request, namespace) : errorAnswer('ERR_SPACE_NAMESPACE', { namespace }),
      );
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

/** Who may not see it is told what the operator saw. */
async function answerAbout(request: EndpointRequest, namespace: string): Promise<ErrorAnswer> {
  const headers = headersInPlace(request);
  const answer = await ask(request, { method: 'GET', path: `/api/v1/namespaces/${namespace}`, headers });
  const isHidden = answer.status !== 200 && request.place.isNamespaceMissing === true;
  if (answer.status === 404 || isHidden) return errorAnswer('ERR_SPACE_MISSING', { namespace });
  if (answer.status !== 200 && answer.status !== 403) return unavailable;
  const details = { name: namespace, kind: 'namespaces' };
  const values = { resource: 'namespaces', name: namespace };
  return errorAnswer('ERR_OBJECT_EXISTS', values, { details, reason: 'AlreadyExists' });
}

const unavailable = errorAnswer('ERR_UPSTREAM_UNAVAILABLE', {}, { headers: ['retry-after', '1'] });

async function isNamed(
  body: Buffer,
  name: string,
  { type, ...source }: YAMLSource & { readonly type: string },
): Promise<boolean> {
  if (type.endsWith('protobuf')) return body.includes(fieldOf(name));
  const parsed = await parseBody(body, type, source);
  const object = asObject('value' in parsed ? parsed.value : undefined);
  return asObject(object['metadata'])['name'] === name;
}

/** The first field of the metadata is the name. */
const fieldOf = (name: string): Buffer =>
  Buffer.from(`\n${String.fromCharCode(name.length)}${name}`, 'latin1');
