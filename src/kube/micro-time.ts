/** The form of Kubernetes' MicroTime: always six digits after the point. */
export function microTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, -1)}000Z`;
}
