/** RFC 3339 with seconds, as Kubernetes writes `metav1.Time`. */
export function rfc3339(wallMs: number): string {
  return new Date(Math.floor(wallMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** RFC 3339 with microseconds, as Kubernetes writes `metav1.MicroTime` (leases, events). */
export function rfc3339Micro(wallMs: number): string {
  return new Date(wallMs).toISOString().replace("Z", "000Z");
}
