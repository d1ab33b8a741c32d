/** Whether a text is base64 of one that begins like this. Lines may be folded. */
export function isBase64Of(text: string, beginning: RegExp): boolean {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) return false;
  return beginning.test(Buffer.from(text.replace(/\s+/g, ''), 'base64').toString('latin1'));
}
