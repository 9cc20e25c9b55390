import { dueOf } from "#cluster/certificates/due.ts";
import { leavesOf, SIDES, secretNameOf, sideOf } from "#cluster/certificates/purposes.ts";
import { authorityOf, isIssuedHere, isOurs, seen } from "#cluster/certificates/usable.ts";
import { foreignSecretText, WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * With the provider Operator members, the operator and applications have certificates, made anew before their time is over. etcd reads them at
 * each handshake: nobody restarts.
 */
export const leaf: ClusterRule = {
  name: "leaf",
  decide(snapshot) {
    const { cluster } = snapshot;
    const purposes = SIDES.flatMap((side) => leavesOf(cluster, side)).filter((each) => isIssuedHere(snapshot, each));
    for (const purpose of purposes) {
      const due = dueOf(snapshot, purpose);
      const authority = authorityOf(snapshot, sideOf(purpose));
      if (due === undefined || authority === undefined) continue;
      const facts = seen(snapshot, purpose);
      const name = secretNameOf(cluster, purpose);
      if (due.what === "trust" && facts !== undefined)
        return step("leaf", `Secret ${name}: ${due.because}`, { do: "spreadTrust", purpose, authority, facts });
      const because = `Secret ${name} gets ${WHAT_FOR[purpose]}: ${due.because}`;
      return step("leaf", because, { do: "issueLeaf", purpose, authority, facts });
    }
    const foreign = purposes.map((purpose) => seen(snapshot, purpose)).find((each) => each && !isOurs(snapshot, each));
    return foreign && remark("leaf", foreignSecretText(cluster.metadata.namespace, foreign.secretName));
  },
};
