import type { Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { isInUse, leftTrusting, membersWithoutCa, mergeBundles, trustInUse } from "#cluster-tls/check/trusted.ts";
import { AUTHORITY_OF, SHOWN_ON, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isOurs, seen, untrustedSigner } from "#cluster-tls/read/usable.ts";
import {
  brokenAuthorityText,
  foreignSecretText,
  lostPairText,
  untrustedSignerText,
  WHAT_FOR,
} from "#cluster-tls/read/words.ts";
import type { Pod } from "#kube/kinds.ts";
import { notice, step } from "#runtime/decide.ts";

/**
 * Creates a CA of the cluster's own for each side with provider Operator. A lost CA is replaced, and the old one stays
 * trusted beside it. A CA that a user has broken or replaced is reported: the user may have its key.
 */
export const issueCa: ClusterRule = {
  name: "issue-ca",
  decide(snapshot) {
    // Sides of other providers have no CA here.
    const decisions = SIDES.flatMap((side) => decideOn(snapshot, side) ?? []);
    return decisions.find(({ next }) => next === "step") ?? decisions[0];
  },
};

/** Why the CA is not created yet, and what a user can do about a pod that cannot end. */
function waitsForText(left: ReadonlyMap<string, Pod>): string {
  const pods = [...left.values()].map(({ metadata }) => `pod ${metadata.name}`).join(", ");
  const why = `and is not created yet, since pods without EtcdPeers would not trust it: ${[...left.keys()].join(", ")}`;
  return `${why}; if their node is gone for good, delete by force: ${pods}`;
}

function decideOn(snapshot: ClusterSnapshot, side: Side) {
  const { cluster, certificates } = snapshot;
  const { namespace } = cluster.metadata;
  const purpose = AUTHORITY_OF[side];
  if (certificates?.[purpose]?.is === "absent") {
    const name = secretNameOf(cluster, purpose);
    // Their EtcdPeers are recreated (recreate-peer); through those they will trust the CA.
    const left = leftTrusting(snapshot, side);
    if (left.size > 0) return notice(`Secret ${namespace}/${name} is missing, ${waitsForText(left)}`);
    // CAs of another source are left out: members trust both until no certificate of that source is in use.
    const isLost = isInUse(snapshot, SHOWN_ON[side]);
    const trust = isLost ? mergeBundles(...trustInUse(snapshot, side)) : "";
    return step(`Secret ${name} gets ${WHAT_FOR[purpose]}`, {
      do: "issueAuthority",
      side,
      trust,
    } as const);
  }
  const found = seen(snapshot, purpose);
  if (found === undefined) return undefined;
  const { secretName, trouble } = found;
  if (!isOurs(snapshot, found)) return notice(foreignSecretText(namespace, secretName));
  const lost = missingSecretOfMembers(snapshot, side);
  if (trouble !== undefined) return notice(brokenAuthorityText(namespace, secretName, trouble, lost));
  const forgotten = untrustedSigner(snapshot, side, found);
  if (forgotten !== undefined) return notice(untrustedSignerText(namespace, secretName, side, forgotten.secretName));
  const rejecting = lost === undefined ? [] : membersWithoutCa(snapshot, side, [found.fingerprint], found.trust);
  if (rejecting.length === 0) return undefined;
  const subject = `Secret ${namespace}/${lost}, ${WHAT_FOR[SHOWN_ON[side]]},`;
  return notice(lostPairText(subject, secretName, rejecting));
}

/** The Secret of members, when it is missing. They keep their files, but cannot learn of a new CA from it. */
function missingSecretOfMembers(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const purpose = SHOWN_ON[side];
  const isLost = snapshot.certificates?.[purpose]?.is === "absent" && isInUse(snapshot, purpose);
  return isLost ? secretNameOf(snapshot.cluster, purpose) : undefined;
}
