/** A way in which a secret can stand in a text. */
export interface Needle {
  readonly form: string;
  readonly text: string;
}

/** Every text by which the secret would be recognised: as it is, escaped, and encoded, alone or within something longer. */
export function needlesOf(secret: string): readonly Needle[] {
  const needles = [
    { form: 'plain', text: secret },
    { form: 'JSON', text: JSON.stringify(secret).slice(1, -1) },
    { form: 'JSON within JSON', text: JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1) },
    { form: 'URL', text: encodeURIComponent(secret) },
    { form: 'hexadecimal', text: Buffer.from(secret).toString('hex') },
    ...[0, 1, 2].flatMap((before) => base64Within(secret, before)),
  ];
  return needles.filter(({ text }, i) => needles.findIndex((other) => other.text === text) === i);
}

/**
 * The characters that base64 makes of the secret wherever it begins `before` bytes after a multiple of three: those at
 * either end that depend on other bytes too are left out.
 */
function base64Within(secret: string, before: number): readonly Needle[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = Math.floor(bytes.length / 3) * 4;
  const encoded = (encoding: 'base64' | 'base64url') =>
    bytes.toString(encoding).slice(before === 0 ? 0 : 4, whole);
  return [
    { form: `base64 at ${before}`, text: encoded('base64') },
    { form: `base64url at ${before}`, text: encoded('base64url') },
  ];
}
