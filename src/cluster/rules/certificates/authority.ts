import type { Side } from "#api/tls.ts";
import { AUTHORITY_OF, SHOWN_ON, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { isInUse, leftTrusting, trustInUse, united, withoutTrust } from "#cluster/certificates/trusted.ts";
import { forgottenBy, isOurs, seen } from "#cluster/certificates/usable.ts";
import {
  brokenAuthorityText,
  foreignSecretText,
  forgetfulText,
  lostPairText,
  WHAT_FOR,
} from "#cluster/certificates/words.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import type { Pod } from "#kube/kinds.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * With the provider Operator each side has an authority of the cluster's own. One that is lost is followed by another one, beside which the one
 * before stays trusted; one that somebody has broken, or put in the place of the one that is trusted, is left to people, who may have its key.
 */
export const authority: ClusterRule = {
  name: "authority",
  decide(snapshot) {
    // Of a side whose certificates come from somewhere else nobody looks for an authority.
    const said = SIDES.flatMap((side) => opinionOn(snapshot, side) ?? []);
    return said.find(({ next }) => next === "step") ?? said[0];
  },
};

/** Why it is not made yet, and what a person does about a pod that cannot end. */
function waitsForText(left: ReadonlyMap<string, Pod>): string {
  const pods = [...left.values()].map(({ metadata }) => `pod ${metadata.name}`).join(", ");
  const why = `and not made yet: ${[...left.keys()].join(", ")}, whose EtcdPeers are gone, would not trust it`;
  return `${why}; what is on a node that is gone for good ends when it is deleted by force: ${pods}`;
}

function opinionOn(snapshot: ClusterSnapshot, side: Side) {
  const { cluster, certificates } = snapshot;
  const { namespace } = cluster.metadata;
  const purpose = AUTHORITY_OF[side];
  if (certificates?.[purpose]?.is === "absent") {
    const name = secretNameOf(cluster, purpose);
    // They get their EtcdPeers back (restore-peer), by which they come to trust it.
    const left = leftTrusting(snapshot, side);
    if (left.size > 0) return remark("authority", `Secret ${namespace}/${name} is not there, ${waitsForText(left)}`);
    // Whom members trust by what comes from somewhere else is no part of it: members trust both until nobody shows that any more.
    const isLost = isInUse(snapshot, SHOWN_ON[side]);
    const trust = isLost ? united(...trustInUse(snapshot, side)) : "";
    return step("authority", `Secret ${name} gets ${WHAT_FOR[purpose]}`, {
      do: "issueAuthority",
      side,
      trust,
    } as const);
  }
  const found = seen(snapshot, purpose);
  if (found === undefined) return undefined;
  const { secretName, trouble } = found;
  if (!isOurs(snapshot, found)) return remark("authority", foreignSecretText(namespace, secretName));
  const lost = lostPair(snapshot, side);
  if (trouble !== undefined) return remark("authority", brokenAuthorityText(namespace, secretName, trouble, lost));
  const forgotten = forgottenBy(snapshot, side, found);
  if (forgotten !== undefined)
    return remark("authority", forgetfulText(namespace, secretName, side, forgotten.secretName));
  const doubting = lost === undefined ? [] : withoutTrust(snapshot, side, [found.fingerprint], found.trust);
  if (doubting.length === 0) return undefined;
  const subject = `Secret ${namespace}/${lost}, ${WHAT_FOR[SHOWN_ON[side]]},`;
  return remark("authority", lostPairText(subject, secretName, doubting));
}

/** The Secret of what members show, when it is not there: what it holds they go on with, and whom to trust they do not learn. */
function lostPair(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const purpose = SHOWN_ON[side];
  const isLost = snapshot.certificates?.[purpose]?.is === "absent" && isInUse(snapshot, purpose);
  return isLost ? secretNameOf(snapshot.cluster, purpose) : undefined;
}
