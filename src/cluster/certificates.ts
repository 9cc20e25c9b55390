import type { MemberTemplate } from "#api/revision.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** What members get of what `spec.tls` asks for: what has been issued, and is good. */
export function memberTls(_snapshot: ClusterSnapshot): MemberTemplate["tls"] {
  return undefined;
}
