let second = Number.NaN;
let start = '';

/** As `formatMicroTime` of the API, at a tenth of the cost: lines come by the thousand in one second. */
export function microTime(instant: number): string {
  const current = Math.floor(instant / 1000);
  if (current !== second) {
    second = current;
    start = new Date(current * 1000).toISOString().slice(0, 20);
  }
  const rest = Math.floor(instant - current * 1000);
  return `${start}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}000Z`;
}
