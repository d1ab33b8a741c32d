/**
 * The value of a header `Warning` as the API server sends one, which kubectl prints. No header carries a character that is not
 * printable, and a client may limit how long all of them are.
 */
export function warningOf(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]/g, ' ').slice(0, maxLength);
  return `299 - "${printable.replace(/["\\]/g, '\\$&')}"`;
}

const maxLength = 1_024;
