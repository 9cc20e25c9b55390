import { peerHost } from "#api/names.ts";
import { namesLacking } from "#certificates/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { templateFor } from "#cluster/update/versions.ts";
import { membersRejecting } from "#cluster-tls/check/trusted.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { effectiveTls } from "./effective.ts";
import { observedSecret } from "./previous.ts";

/**
 * Why a new member of this name could not join: its certificate is missing or invalid, lacks the host name, or is not
 * trusted. A new member gets the certificate that most members have, which need not be the requested one.
 */
export function whyCannotJoin(given: ClusterSnapshot, member: string): string | undefined {
  const snapshot = effectiveTls(given);
  const { namespace, name } = snapshot.cluster.metadata;
  const host = peerHost(namespace, name, member);
  const { tls } = templateFor(given, member);
  for (const side of SIDES) {
    const secretName = tls?.[side]?.secretName;
    const found = secretName === undefined ? undefined : observedSecret(snapshot, side, secretName);
    const secret = `Secret ${namespace}/${secretName}`;
    if (found?.is === "absent") return `${secret} is missing`;
    if (found?.is !== "present") continue;
    const { trouble, names } = found.value;
    if (trouble !== undefined) return `${secret}: ${trouble}`;
    if (namesLacking(names, [host]).length > 0) return `${secret}: its tls.crt is not valid for ${host}`;
    const rejecting = membersRejecting(snapshot, side, found.value);
    if (rejecting.length > 0)
      return `${rejecting.join(", ")} would not trust the CA that signed the certificate in ${secret}`;
  }
  return undefined;
}
