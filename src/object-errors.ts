/** The part of the error catalogue that is about bodies and the objects in them. */
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
  ERR_OBJECT_MISMATCH: {
    message: 'the object in the body does not fit the request: {problem}',
    fix: 'Write what the path says, or leave the field out.',
    httpStatus: 400,
  },
} as const;
