/** The part of the error catalogue that is about bodies, objects and operations on credentials of one's own. */
export const objectErrors = {
  ERR_BODY_UNREADABLE: {
    message: 'the body cannot be read: {problem}',
    fix: 'Send one object as application/json or application/yaml, with each key once.',
    httpStatus: 400,
  },
  ERR_BODY_TOO_LARGE: {
    message: 'the body is larger than {bytes} bytes',
    fix: 'Shorten labels, annotations and lists.',
    httpStatus: 413,
  },
  ERR_BODY_TYPE: {
    message: 'the media type of the body is not served here',
    fix: 'Send application/json or application/yaml, without Content-Encoding. Patches: JSON patch, merge patch or apply.',
    httpStatus: 415,
  },
  ERR_NAMESPACE: {
    message: 'nothing of a user can stand in the namespace {namespace}, where Latchkey keeps its own',
    fix: 'Use the namespace of a project.',
    httpStatus: 403,
  },
  ERR_OBJECT_MISMATCH: {
    message: 'the object in the body does not fit the request: {problem}',
    fix: 'Write what the path says, or leave the field out.',
    httpStatus: 400,
  },
  ERR_OBJECT_NOT_FOUND: {
    message: '{resource}.management.platform.sh "{name}" not found',
    fix: 'Check the name. You find your own objects only; a name that somebody else has stays taken.',
    httpStatus: 404,
  },
  ERR_OBJECT_NAME: {
    message: 'no object and no namespace can have the name that the path holds',
    fix: 'Write the name as it is, encoded once. Names have lower-case letters, digits, "-" and "." only.',
    httpStatus: 400,
  },
  ERR_OBJECT_CONFLICT: {
    message: 'the object was changed, or made again, while the request was under way',
    fix: 'Read it again and repeat the change.',
    httpStatus: 409,
  },
  ERR_OPERATION_UNKNOWN: {
    message: 'the server does not allow this method on this path of {resource}',
    fix: 'Send GET for a list or a watch, POST to the path without a name, and PUT, PATCH or DELETE to that with one.',
    httpStatus: 405,
  },
  ERR_NOT_ACCEPTABLE: {
    message: 'none of the media types in Accept is served here',
    fix: 'Accept application/json or application/yaml. With JSON also Table and PartialObjectMetadata of meta.k8s.io/v1.',
    httpStatus: 406,
  },
  ERR_QUERY: {
    message: 'the query cannot be served: {problem}',
    fix: 'Correct the parameter, or leave it out.',
    httpStatus: 400,
  },
  ERR_QUERY_INVALID: {
    message: 'the query is invalid: {problem}',
    fix: 'Correct the parameter, or leave it out.',
    httpStatus: 422,
    field: 'query',
  },
  ERR_CONTINUE_EXPIRED: {
    message: 'the continue token is too old, or of another credential',
    fix: 'List again from the beginning.',
    httpStatus: 410,
  },
  ERR_VERSION_EXPIRED: {
    message: 'what came after this resourceVersion is not known any more',
    fix: 'List again, and watch from the resourceVersion of that list.',
    httpStatus: 410,
  },
  ERR_VERSION_NOT_KEPT: {
    message: 'the list is a newer one than that of this resourceVersion, which is not kept',
    fix: 'List again without resourceVersion. To get a newer list, send resourceVersionMatch=NotOlderThan.',
    httpStatus: 410,
  },
  ERR_VERSION_TOO_LARGE: {
    message: 'Too large resource version: {asked}, current: {present}',
    fix: 'Try again, or list without resourceVersion. This replica of the gateway has not seen the version yet.',
    httpStatus: 504,
  },
  ERR_KEY_MALFORMED: {
    message: 'spec.key is neither a plain key nor the SHA-256 of one',
    fix: 'Leave it out, and one is made. Or write 20 to 512 of the characters A-Z a-z 0-9 . _ ~ + / = -, or sha256: and 64 hex digits. A key that begins with lk_ must be whole.',
    httpStatus: 422,
    field: 'spec.key',
  },
  ERR_PATCH: {
    message: 'the patch cannot be applied: {problem}',
    fix: 'Read the object again and compare. Values that are credentials read as their hash, or are left out.',
    httpStatus: 422,
    field: 'patch',
  },
  ERR_PARENT: {
    message:
      'an access key with an end, a scope or a parent makes children of its own only, and spec.accessKey names another key',
    fix: 'Leave spec.accessKey out. For a credential that outlives this key, log in again, or ask an administrator of the platform.',
    httpStatus: 403,
  },
  ERR_CREDENTIAL_LIMITS: {
    message:
      'the access key "{credential}" has an end, a scope or a parent, so it changes only what it made: {problem}',
    fix: 'Log in again, or ask an administrator of the platform. Every credential may be deleted.',
    httpStatus: 403,
  },
  ERR_SECRET_REFERENCE: {
    message:
      'a credential with a scope, or below one with a scope, makes no Secret, and spec.secretRef names one',
    fix: 'Leave spec.secretRef as it is, or out: the answer to a create holds the credential. Or use an access key without a scope.',
    httpStatus: 403,
  },
  ERR_POLICY_LIFE: {
    message: 'the site policy refuses this life: {problem}',
    fix: 'Set the field so, or ask who runs the platform for another limit.',
    httpStatus: 403,
  },
  ERR_POLICY_SCOPE_MISSING: {
    message: 'the site policy asks for a scope: {problem}',
    fix: 'Set `spec.scope`; `{}` allows nothing.',
    httpStatus: 403,
  },
  ERR_QUOTA: {
    message: 'User "{user}" has {count} {resource} already, which is the limit',
    fix: 'Delete what you no longer need, or ask who runs the platform for a higher limit.',
    httpStatus: 429,
  },
} as const;
