/** What counts as one source: an IPv4 address, or the /64 that one IPv6 host has for itself. */
export function sourceOf(address: string): string {
  const four = /^::ffff:(?<four>[\d.]+)$/i.exec(address)?.groups?.['four'];
  if (four !== undefined || !address.includes(':')) return four ?? address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
