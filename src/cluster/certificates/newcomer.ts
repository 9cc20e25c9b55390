import { peerHost } from "#api/names.ts";
import { namesLacking } from "#certificates/names.ts";
import { lookedAt } from "#cluster/certificates/former.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { SIDES } from "#cluster/certificates/purposes.ts";
import { withoutBelief } from "#cluster/certificates/trusted.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { templateFor } from "#cluster/versions.ts";

/**
 * Why a member of this name would find nobody who takes it for itself, if that is so: what it gets to show is of no use, is not good for it, or is
 * not believed by all members. It gets what most of them have, which need not be what is asked for.
 */
export function whyNotFor(given: ClusterSnapshot, member: string): string | undefined {
  const snapshot = keptTls(given);
  const { namespace, name } = snapshot.cluster.metadata;
  const host = peerHost(namespace, name, member);
  const { tls } = templateFor(given, member);
  for (const side of SIDES) {
    const secretName = tls?.[side]?.secretName;
    const found = secretName === undefined ? undefined : lookedAt(snapshot, side, secretName);
    const secret = `Secret ${namespace}/${secretName}`;
    if (found?.is === "absent") return `${secret} is not there`;
    if (found?.is !== "present") continue;
    const { trouble, names } = found.value;
    if (trouble !== undefined) return `${secret}: ${trouble}`;
    if (namesLacking(names, [host]).length > 0) return `${secret}: its tls.crt is not good for ${host}`;
    const doubting = withoutBelief(snapshot, side, found.value);
    if (doubting.length > 0) return `${doubting.join(", ")} would not believe what ${secret} holds`;
  }
  return undefined;
}
