/** Whether a text is base64 of one that begins like this. Lines may be folded. */
export function isBase64Of(text: string, beginning: RegExp): boolean {
  // White space goes first: an expression that allows it in two places takes minutes on a text of nothing else.
  const compact = text.replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) return false;
  return beginning.test(Buffer.from(compact, 'base64').toString('latin1'));
}
